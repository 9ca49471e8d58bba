#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/ids.hpp"
#include "core/int128.hpp"
#include "core/time.hpp"

namespace ridgeline::link {

using TransferId = core::Id<struct TransferIdTag>;
using WireId = core::Id<struct WireIdTag>;

/// How transfers share a wire.
enum class Sharing : std::uint8_t {
  /// All at once, each at a rate that cannot grow without taking from one that is not faster
  /// (max-min fairness, found by progressive filling: Bertsekas and Gallager, Data Networks, 6.5).
  kMaxMin,
  /// One after the other, in the order of their starts; one that waits keeps its place on each of
  /// its wires.
  kFifo,
};

/// The wires that a transfer passes, each once.
using Route = std::vector<WireId>;

/// What a wire has done until the instant asked for.
struct WireTotals {
  std::int64_t capacity = 0;  ///< At the start, bytes per second.
  double bytes = 0.0;         ///< Moved over it.
};

/// Transfers over shared wires, as fluids: between two changes each moves at a constant whole
/// number of bytes per second. What is left of a transfer is counted in bytes times picoseconds per
/// second, so that every end is exact: the first picosecond at which nothing is left. Always
/// checked: what a wire has moved is the sum of its transfers, and no more than its capacity
/// allows.
class KvLink {
 public:
  /// The wires in bytes per second, each at least kLeastCapacity.
  KvLink(Sharing sharing, const std::vector<std::int64_t>& capacities);

  /// Below it many transfers would get less than a byte per second each.
  static constexpr std::int64_t kLeastCapacity = 1'000'000;

  /// `bytes` over `route` from `at` on, which is not before any call's instant. At least one byte
  /// and one wire.
  TransferId start(std::int64_t bytes, const Route& route, core::SimTime at);
  /// The transfer stops where it is; nothing happens where it has ended.
  void stop(TransferId id, core::SimTime at);
  /// A wire has another capacity from `at` on: kLeastCapacity or more, or 0, where what passes it
  /// stands still until it has one again.
  void set_capacity(WireId wire, std::int64_t capacity, core::SimTime at);

  /// When the next transfer ends if none is started before; never() without transfers.
  [[nodiscard]] core::SimTime next_end() const;
  /// The transfers that end at next_end(), in the order of their starts: they are over.
  std::vector<TransferId> end_next();

  /// How long `bytes` take over `route` alone, at the capacities of the start.
  [[nodiscard]] core::Duration alone(std::int64_t bytes, const Route& route) const;
  [[nodiscard]] std::int64_t num_active() const { return static_cast<std::int64_t>(flows_.size()); }
  /// Bytes per second of a transfer on its way.
  [[nodiscard]] std::int64_t rate(TransferId id) const { return flows_.at(id).rate; }
  [[nodiscard]] WireTotals totals(WireId wire) const;

 private:
  struct Wire {
    std::int64_t nominal = 0;  ///< Its capacity at the start.
    std::int64_t capacity = 0;
    core::Int128 moved = 0;       ///< Byte picoseconds per second.
    core::Int128 could_move = 0;  ///< `moved` at its capacity all the time.
    core::Int128 over = 0;        ///< Part of `moved` for transfers that are over.
    std::int64_t room = 0;        ///< Capacity not given away yet; while rates are found.
    std::int64_t num_flows = 0;   ///< Without a rate yet.
    bool is_taken = false;        ///< In a line: by an earlier transfer.
  };
  struct Flow {
    Route route;
    core::Int128 whole = 0;  ///< Byte picoseconds per second.
    core::Int128 left = 0;   ///< Part of `whole` still to move.
    std::int64_t rate = 0;
    bool has_rate = false;
  };

  void move_to(core::SimTime at);
  void settle(const Flow& flow);
  void check_bytes() const;
  void find_rates();
  void fill_progressively();
  void serve_in_line();
  void give(Flow& flow, std::int64_t rate);

  Sharing sharing_;
  core::SimTime now_;
  core::IndexVector<Wire, WireId> wires_;
  std::map<TransferId, Flow> flows_;  ///< In the order of their starts.
  TransferId::Rep num_started_ = 0;
};

}  // namespace ridgeline::link
