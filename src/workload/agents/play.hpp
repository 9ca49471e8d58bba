#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/time.hpp"
#include "workload/agents/conversations.hpp"
#include "workload/agents/start_point.hpp"

namespace ridgeline::workload::agents {

enum class TimerKind : std::uint8_t {
  kPrimer,  ///< A request of the warm-up's first part.
  kTurn,
  kJoin,  ///< A main turn that waits for children as well.
};

/// A turn that is due at a time.
struct TurnTimer {
  core::SimTime due;
  TimerKind kind = TimerKind::kTurn;
  TurnRef turn;
};

/// One trace being played on a lane.
class Play {
 public:
  /// One conversation of it.
  struct Stream {
    std::int32_t next = -1;  ///< Its next turn; -1: it is not alive.
    std::int32_t done = 0;   ///< Turns that have ended.
    std::uint32_t session = 0;
  };

  /// `tree` outlives it; `origin` is the zero of its recorded clock, in milliseconds.
  Play(const SessionTree& tree, std::int32_t number, std::int32_t lane, double origin);

  [[nodiscard]] const SessionTree& tree() const { return *tree_; }
  [[nodiscard]] const Turn& turn(TurnRef ref) const {
    return tree_->conversations[static_cast<std::size_t>(ref.conversation)]
        .turns[static_cast<std::size_t>(ref.turn)];
  }
  [[nodiscard]] const Branch& branch(std::int32_t at) const {
    return tree_->conversations.front().branches[static_cast<std::size_t>(at)];
  }
  [[nodiscard]] Stream& stream(TurnRef ref) {
    return streams[static_cast<std::size_t>(ref.conversation)];
  }
  [[nodiscard]] bool is_final(TurnRef ref) const;
  /// Whether all that a main turn waits for has ended.
  [[nodiscard]] bool has_joined(std::int32_t turn) const;
  /// Whether all turns that were recorded to end before this one have ended.
  [[nodiscard]] bool is_ready(TurnRef ref) const;
  [[nodiscard]] bool has_drained() const { return !main_pending && children_alive == 0; }

  /// Makes alive what is alive at a start point. `sessions` numbers conversations.
  void open(const StartPoint& point, std::uint32_t& sessions);
  /// Makes a conversation of a branch alive, at its first turn.
  void open_child(std::int32_t child, std::int32_t branch, std::uint32_t& sessions);
  /// The streams that are alive, on its recorded clock.
  [[nodiscard]] std::vector<StreamState> states() const;

  /// When it sends its next request if nothing ends before.
  [[nodiscard]] std::optional<core::SimTime> next_send(bool has_barriers) const;
  /// Brings all timers forward; by how much, zero where there is nothing to move.
  core::Duration shift(core::SimTime now, core::Duration by);
  [[nodiscard]] std::optional<core::SimTime> earliest_timer() const;

  std::int32_t number = 0;  ///< Its trace's.
  std::int32_t lane = 0;
  bool main_pending = false;
  std::int32_t children_alive = 0;
  std::int32_t in_flight = 0;
  /// When nothing of it has been in flight for as long as the cap on that allows.
  std::optional<core::SimTime> idle_alarm;
  bool cap_expired = false;
  std::vector<Stream> streams;
  std::vector<std::int32_t> open_children;  ///< By branch: those that have not ended.
  std::vector<bool> spawned;                ///< Branches that began with their turn's request.
  std::optional<std::int32_t> blocked;      ///< A main turn that waits for children.
  bool is_due = false;                      ///< The blocked turn's own time has come.
  std::vector<TurnTimer> timers;
  std::vector<TurnRef> held;  ///< Turns whose time has come and whose predecessors have not ended.

 private:
  [[nodiscard]] bool would_send(const TurnTimer& timer, bool has_barriers) const;

  const SessionTree* tree_;
  double origin_;
};

}  // namespace ridgeline::workload::agents
