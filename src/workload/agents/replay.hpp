#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "core/time.hpp"
#include "workload/agents/conversations.hpp"
#include "workload/agents/play.hpp"
#include "workload/agents/start_point.hpp"

namespace ridgeline::workload::agents {

/// How agent traces are replayed, as scenario `agentx` of agentx-harness does.
struct ReplayOptions {
  std::int64_t concurrency = 1;  ///< Lanes: trees of conversations that are alive at once.
  core::Duration duration =
      core::Duration::seconds(3600);                   ///< How long requests are sent and counted.
  core::Duration grace = core::Duration::seconds(30);  ///< After it, for requests in flight.
  double start_min_ratio = 0.25;                       ///< Where in its trace a lane begins.
  double start_max_ratio = 0.75;
  std::optional<std::int64_t> warmup_requests_per_lane = 10;
  std::optional<core::Duration> tree_idle_cap = core::Duration::seconds(300);
  std::optional<core::Duration> system_idle_cap = core::Duration::seconds(10);
  std::int64_t seed = 42;
  bool burst = false;  ///< Lanes begin together instead of in their recorded distances.
  std::optional<double> failed_share = 0.10;  ///< More failed requests than that end the run.
};

enum class Phase : std::uint8_t { kWarmUp, kProfiling };

/// How a request ended.
enum class Outcome : std::uint8_t { kAnswered, kFailed, kContextOverflow };

/// A request of a replay.
struct Sent {
  core::SimTime time;
  Phase phase = Phase::kWarmUp;
  std::uint32_t play = 0;     ///< Number of the play of a trace.
  std::uint32_t session = 0;  ///< Number of the play of a conversation.
  std::int32_t lane = 0;
  std::int32_t tree = 0;
  TurnRef turn;
  std::int64_t max_tokens = 0;
};

struct PhaseTimes {
  core::SimTime start;
  core::SimTime sending_complete;
  core::SimTime complete;
};

struct ReplayCounts {
  std::int64_t records = 0;  ///< Requests of the profiling that have ended.
  std::int64_t failures = 0;
  core::Duration system_idle_skipped;  ///< Idle time that the caps took out.
  core::Duration tree_idle_skipped;
};

/// Decides when the turns of agent traces are sent. The next request depends on the answers to the
/// ones before it: each is reported. Time runs from the start of the warm-up.
class Replay {
 public:
  /// `trees` is not empty and outlives the replay.
  Replay(const std::vector<SessionTree>& trees, const ReplayOptions& options);

  /// When the next request is sent, if no answer comes before; nothing when all wait for answers,
  /// or at the end.
  [[nodiscard]] std::optional<core::SimTime> next_time();
  /// Sends it. Requires next_time(). Requests are numbered from 0 in that order.
  [[nodiscard]] Sent pop();
  /// The request of that number has ended. Called in order of time.
  void on_end(std::uint32_t number, core::SimTime time, Outcome outcome);

  [[nodiscard]] const std::vector<StartPoint>& start_points() const { return points_; }
  [[nodiscard]] const PhaseTimes& warm_up() const { return warm_up_; }
  [[nodiscard]] const PhaseTimes& profiling() const { return profiling_; }
  [[nodiscard]] bool is_profiling() const { return phase_ == Phase::kProfiling; }
  /// When requests in flight are cancelled.
  [[nodiscard]] core::SimTime cancels_at() const { return cutoff_ + options_.grace; }
  /// When failures ended the run, if they did.
  [[nodiscard]] std::optional<core::SimTime> aborted() const { return aborted_; }
  [[nodiscard]] const ReplayCounts& counts() const { return counts_; }

 private:
  struct InFlight {
    std::uint32_t play = 0;
    TurnRef turn;
  };
  /// The next thing that happens without an answer.
  struct Event {
    core::SimTime time;
    std::uint32_t play = 0;
    std::size_t timer = 0;
    bool is_alarm = false;
  };

  [[nodiscard]] bool may_start(core::SimTime now) const;

  [[nodiscard]] std::int32_t next_tree();
  std::uint32_t add_play(std::int32_t tree, std::int32_t lane, double origin);
  void open_streams(Play& play, const StartPoint& point);
  void start_warm_up();
  void start_pressure(core::SimTime now);
  void end_warm_up(core::SimTime now);
  void start_profiling(core::SimTime now);
  void resume(std::uint32_t id, const std::vector<StreamState>& states, core::Duration zero);

  void submit(std::uint32_t id, TurnRef turn, core::SimTime now);
  void send(std::uint32_t id, TurnRef turn, core::SimTime now);
  [[nodiscard]] bool takes_quota(std::int32_t lane, core::SimTime now);
  void spawn_overlapping(std::uint32_t id, TurnRef turn, core::SimTime now);
  void spawn(std::uint32_t id,
             const std::vector<std::int32_t>& branches,
             std::optional<core::Duration> origin,
             core::SimTime now);
  void go_on(std::uint32_t id, TurnRef turn, bool is_overflow, core::SimTime now);
  void end_child(std::uint32_t id, std::int32_t conversation, core::SimTime now);
  void release_blocked(std::uint32_t id, core::SimTime now);
  void recycle_drained(core::SimTime now);
  void start_root(std::int32_t lane, core::SimTime now);
  void count_failure(TurnRef turn, Outcome outcome, core::SimTime now);

  [[nodiscard]] std::optional<core::SimTime> next_send() const;
  [[nodiscard]] std::optional<Event> next_event() const;
  void run(const Event& event);
  void cap_system_idle(core::SimTime now, bool is_return);

  const std::vector<SessionTree>* trees_;
  ReplayOptions options_;
  std::vector<StartPoint> points_;
  std::size_t next_tree_ = 0;
  std::uint32_t next_play_ = 0;
  std::uint32_t next_session_ = 0;
  std::map<std::uint32_t, Play> plays_;
  std::vector<std::optional<std::uint32_t>> lanes_;  ///< The play of each lane.
  std::vector<std::uint32_t> drained_;
  std::deque<Sent> ready_;  ///< Requests whose time has come.
  std::vector<InFlight> sent_;
  std::int64_t in_flight_ = 0;

  /// The second part of the warm-up, in which lanes go on without think time.
  struct Pressure {
    bool is_on = false;
    bool is_sent = false;            ///< Its requests are all sent; what becomes ready is kept.
    std::vector<std::int64_t> used;  ///< Requests by lane.
  };

  Phase phase_ = Phase::kWarmUp;
  bool has_barriers_ = false;
  std::int64_t primers_left_ = 0;
  Pressure pressure_;
  PhaseTimes warm_up_;
  PhaseTimes profiling_;
  core::SimTime cutoff_ = core::SimTime::never();
  std::optional<core::SimTime> idle_since_;
  std::optional<core::SimTime> aborted_;
  ReplayCounts counts_;
};

}  // namespace ridgeline::workload::agents
