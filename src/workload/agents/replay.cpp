// As agentx-harness 1.0.12 does (aiperf/timing: strategies/agentic_replay.py,
// branch_orchestrator.py, replay_dependencies.py, session_tree.py; Apache-2.0).
#include "workload/agents/replay.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/agents/conversations.hpp"
#include "workload/agents/play.hpp"
#include "workload/agents/recorded_time.hpp"
#include "workload/agents/start_point.hpp"

namespace ridgeline::workload::agents {
namespace {

/// How often a warm-up that is all sent looks whether all has ended.
constexpr core::Duration kDrainLook = core::Duration::milliseconds(100);
constexpr std::int64_t kLeastRecords = 10;  ///< Before their share of failures counts.

}  // namespace

Replay::Replay(const std::vector<SessionTree>& trees, const ReplayOptions& options)
    : trees_(&trees), options_(options), lanes_(static_cast<std::size_t>(options.concurrency)) {
  pressure_.used.resize(lanes_.size());
  start_warm_up();
}

std::optional<core::SimTime> Replay::next_time() {
  return ready_.empty() ? next_send() : std::optional(ready_.front().time);
}

Sent Replay::pop() {
  while (ready_.empty()) {
    const auto event = next_event();
    RIDGELINE_CHECK(event.has_value(), "pop while every conversation waits, or after the end");
    run(*event);
  }
  const Sent sent = ready_.front();
  ready_.pop_front();
  return sent;
}

std::int32_t Replay::next_tree() {
  return static_cast<std::int32_t>(next_tree_++ % trees_->size());
}

std::uint32_t Replay::add_play(std::int32_t tree, std::int32_t lane, double origin) {
  const std::uint32_t id = next_play_++;
  lanes_[static_cast<std::size_t>(lane)] = id;
  plays_.emplace(id, Play((*trees_)[static_cast<std::size_t>(tree)], tree, lane, origin));
  return id;
}

void Replay::start_warm_up() {
  core::Duration most_lead;
  std::vector<std::pair<std::uint32_t, TurnTimer>> primers;
  std::vector<core::Duration> leads;
  for (std::int32_t lane = 0; lane < static_cast<std::int32_t>(lanes_.size()); ++lane) {
    const std::int32_t tree = next_tree();
    points_.push_back(start_point((*trees_)[static_cast<std::size_t>(tree)],
                                  options_.seed,
                                  lane,
                                  options_.start_min_ratio,
                                  options_.start_max_ratio));
    StartPoint& point = points_.back();
    point.tree = tree;
    const std::uint32_t id = add_play(tree, lane, point.milliseconds);
    Play& play = plays_.at(id);
    play.open(point, next_session_);
    for (const StreamState& state : point.streams) {
      if (state.next_turn == 0) {
        continue;
      }
      const TurnRef turn{.conversation = state.conversation, .turn = state.next_turn - 1};
      const double before = point.milliseconds - milliseconds(play.turn(turn).start);
      core::Duration lead = core::Duration::saturating(core::Seconds(before / 1000.0));
      lead = std::min(lead, options_.system_idle_cap.value_or(core::Duration::max()));
      most_lead = std::max(most_lead, lead);
      leads.push_back(lead);
      primers.push_back({id, {.due = {}, .kind = TimerKind::kPrimer, .turn = turn}});
    }
  }
  for (std::size_t i = 0; i < primers.size(); ++i) {
    TurnTimer& timer = primers[i].second;
    timer.due = core::SimTime::at(options_.burst ? core::Duration() : most_lead - leads[i]);
    warm_up_.sending_complete = std::max(warm_up_.sending_complete, timer.due);
    plays_.at(primers[i].first).timers.push_back(timer);
  }
  primers_left_ = static_cast<std::int64_t>(primers.size());
  if (primers.empty()) {
    start_pressure({});
  }
}

/// The second part of the warm-up: lanes go on without think time until each has sent its quota.
void Replay::start_pressure(core::SimTime now) {
  if (!options_.warmup_requests_per_lane) {
    end_warm_up(now);
    return;
  }
  pressure_.is_on = true;
  has_barriers_ = true;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    const std::uint32_t id = *lanes_[lane];
    for (const StreamState& state : points_[lane].streams) {
      const TurnRef turn{.conversation = state.conversation, .turn = state.next_turn};
      if (state.waits) {
        plays_.at(id).blocked = state.next_turn;
        plays_.at(id).is_due = true;
      } else {
        submit(id, turn, now);
      }
    }
  }
}

void Replay::end_warm_up(core::SimTime now) {
  warm_up_.complete = now;
  if (pressure_.is_on) {
    const std::int64_t looks = (now - warm_up_.sending_complete).count() / kDrainLook.count() + 1;
    warm_up_.complete = warm_up_.sending_complete + kDrainLook * looks;
  }
  start_profiling(warm_up_.complete);
}

void Replay::start_profiling(core::SimTime now) {
  phase_ = Phase::kProfiling;
  profiling_.start = now;
  cutoff_ = core::SimTime::saturating_sum(now, options_.duration);
  profiling_.sending_complete = cutoff_;
  profiling_.complete = cutoff_;
  has_barriers_ = true;
  pressure_.is_sent = false;
  std::vector<std::vector<StreamState>> states(lanes_.size());
  core::Duration zero = core::Duration::max();
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    if (!lanes_[lane]) {
      const std::int32_t tree = next_tree();
      Play& play = plays_.at(add_play(tree, static_cast<std::int32_t>(lane), 0.0));
      play.open(
          {.tree = tree, .streams = {{}}, .done = std::vector<std::int32_t>(play.streams.size())},
          next_session_);
      states[lane] = {{}};
    } else if (pressure_.is_on) {
      states[lane] = plays_.at(*lanes_[lane]).states();
    } else {
      states[lane] = points_[lane].streams;
    }
    for (const StreamState& state : states[lane]) {
      zero = state.waits ? zero : std::min(zero, state.offset);
    }
  }
  pressure_.is_on = false;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    if (options_.burst) {
      zero = core::Duration::max();
      for (const StreamState& state : states[lane]) {
        zero = state.waits ? zero : std::min(zero, state.offset);
      }
    }
    resume(*lanes_[lane], states[lane], zero);
  }
  cap_system_idle(now, true);
}

/// Sets the streams of a play going at the start of the profiling.
void Replay::resume(std::uint32_t id, const std::vector<StreamState>& states, core::Duration zero) {
  const core::SimTime now = profiling_.start;
  {
    Play& play = plays_.at(id);
    play.timers.clear();
    play.held.clear();
    play.blocked.reset();
  }
  std::vector<TurnRef> at_once;
  for (const StreamState& state : states) {
    Play& play = plays_.at(id);
    const TurnRef turn{.conversation = state.conversation, .turn = state.next_turn};
    const core::Duration wait = std::max(state.offset - zero, core::Duration());
    if (state.waits) {
      play.blocked = state.next_turn;
      play.is_due = wait == core::Duration();
    }
    if (wait > core::Duration()) {
      play.timers.push_back({.due = now + wait,
                             .kind = state.waits ? TimerKind::kJoin : TimerKind::kTurn,
                             .turn = turn});
    } else if (!state.waits) {
      at_once.push_back(turn);
    }
  }
  for (const TurnRef turn : at_once) {
    submit(id, turn, now);
  }
  Play& play = plays_.at(id);
  if (play.in_flight == 0 && options_.tree_idle_cap) {
    play.idle_alarm = core::SimTime::saturating_sum(now, *options_.tree_idle_cap);
  }
}

bool Replay::may_start(core::SimTime now) const {
  return !aborted_ &&
         (phase_ == Phase::kProfiling ? now < cutoff_ : pressure_.is_on && !pressure_.is_sent);
}

/// A turn whose time has come: sends it, or keeps it until its predecessors have ended.
void Replay::submit(std::uint32_t id, TurnRef turn, core::SimTime now) {
  Play& play = plays_.at(id);
  if ((has_barriers_ && !play.is_ready(turn)) || pressure_.is_sent) {
    play.held.push_back(turn);
    if (play.in_flight == 0 && play.cap_expired) {
      play.idle_alarm = now;
    }
    return;
  }
  send(id, turn, now);
}

/// Whether a lane may send one more request of the warm-up.
bool Replay::takes_quota(std::int32_t lane, core::SimTime now) {
  const std::int64_t quota = *options_.warmup_requests_per_lane;
  std::int64_t& used = pressure_.used[static_cast<std::size_t>(lane)];
  if (used >= quota) {
    return false;
  }
  ++used;
  if (std::ranges::all_of(pressure_.used, [&](std::int64_t one) { return one >= quota; })) {
    pressure_.is_sent = true;
    warm_up_.sending_complete = now;
  }
  return true;
}

void Replay::send(std::uint32_t id, TurnRef turn, core::SimTime now) {
  Play& play = plays_.at(id);
  if (aborted_ || (phase_ == Phase::kProfiling && now >= cutoff_) ||
      (pressure_.is_on && !takes_quota(play.lane, now))) {
    return;
  }
  ++play.in_flight;
  ++in_flight_;
  play.idle_alarm.reset();
  play.cap_expired = false;
  sent_.push_back({.play = id, .turn = turn});
  const bool is_warm_up = phase_ == Phase::kWarmUp;
  ready_.push_back({.time = now,
                    .phase = phase_,
                    .play = id,
                    .session = play.stream(turn).session,
                    .lane = play.lane,
                    .tree = play.number,
                    .turn = turn,
                    .max_tokens = is_warm_up ? 1 : play.turn(turn).max_tokens});
  if (!is_warm_up || pressure_.is_on) {
    spawn_overlapping(id, turn, now);
  }
}

/// Starts branches that began before the recorded end of the request that starts them.
void Replay::spawn_overlapping(std::uint32_t id, TurnRef turn, core::SimTime now) {
  Play& play = plays_.at(id);
  const Turn& spawning = play.turn(turn);
  if (spawning.spawns.empty() || !spawning.api_time) {
    return;
  }
  const double end = milliseconds(spawning.start) + milliseconds(*spawning.api_time);
  std::vector<std::int32_t> overlapping;
  for (const std::int32_t branch : spawning.spawns) {
    const Branch& one = play.branch(branch);
    if (milliseconds(one.start) < end && *spawning.api_time > core::Duration()) {
      overlapping.push_back(branch);
      play.spawned[static_cast<std::size_t>(branch)] = true;
    }
  }
  spawn(id, overlapping, spawning.start, now);
}

/// Starts the conversations of branches, each as long after `now` as it was recorded after the
/// start of its branch, or after `origin`.
void Replay::spawn(std::uint32_t id,
                   const std::vector<std::int32_t>& branches,
                   std::optional<core::Duration> origin,
                   core::SimTime now) {
  std::vector<TurnRef> at_once;
  Play& play = plays_.at(id);
  const auto& conversations = play.tree().conversations;
  for (const std::int32_t number : branches) {
    const Branch& branch = play.branch(number);
    for (const std::int32_t child : branch.children) {
      const auto& turns = conversations[static_cast<std::size_t>(child)].turns;
      if (turns.empty()) {
        continue;
      }
      const TurnRef first{.conversation = child, .turn = 0};
      play.open_child(child, number, next_session_);
      const core::Duration wait = turns.front().start - origin.value_or(branch.start);
      if (wait > core::Duration() && !pressure_.is_on) {
        play.timers.push_back({.due = now + wait, .kind = TimerKind::kTurn, .turn = first});
      } else {
        at_once.push_back(first);
      }
    }
  }
  for (const TurnRef turn : at_once) {
    submit(id, turn, now);
  }
}

void Replay::on_end(std::uint32_t number, core::SimTime time, Outcome outcome) {
  for (auto event = next_event(); event && event->time < time && !aborted_; event = next_event()) {
    run(*event);
  }
  const auto [id, turn] = sent_[number];
  --in_flight_;
  if (phase_ == Phase::kProfiling && time > profiling_.complete) {
    profiling_.complete = time;
  }
  const auto found = plays_.find(id);
  if (aborted_ || found == plays_.end()) {
    return;
  }
  count_failure(turn, outcome, time);
  --found->second.in_flight;
  if (phase_ == Phase::kWarmUp && !pressure_.is_on) {
    if (--primers_left_ == 0 && !aborted_) {
      start_pressure(time);
    }
    return;
  }
  go_on(id, turn, outcome == Outcome::kContextOverflow, time);
  recycle_drained(time);
  cap_system_idle(time, true);
  // What waited for this turn comes last: it is sent by a task of its own.
  if (const auto play = plays_.find(id); play != plays_.end() && !pressure_.is_sent) {
    const std::vector<TurnRef> held = std::exchange(play->second.held, {});
    for (const TurnRef one : held) {
      submit(id, one, time);
    }
  }
  if (pressure_.is_sent && in_flight_ == 0) {
    end_warm_up(time);
  }
}

/// A failure of a main agent in the warm-up, or too many in the profiling, end the run.
void Replay::count_failure(TurnRef turn, Outcome outcome, core::SimTime now) {
  const bool has_failed = outcome != Outcome::kAnswered;
  if (phase_ == Phase::kWarmUp) {
    if (has_failed && turn.conversation == 0) {
      aborted_ = now;
    }
    return;
  }
  ++counts_.records;
  counts_.failures += outcome == Outcome::kFailed ? 1 : 0;
  if (options_.failed_share && counts_.records >= std::max(options_.concurrency, kLeastRecords) &&
      static_cast<double>(counts_.failures) >
          *options_.failed_share * static_cast<double>(counts_.records)) {
    aborted_ = now;
  }
}

/// What follows the end of a turn.
void Replay::go_on(std::uint32_t id, TurnRef turn, bool is_overflow, core::SimTime now) {
  Play& play = plays_.at(id);
  const bool ends_early = is_overflow && !play.is_final(turn);
  const bool is_child = turn.conversation != 0;
  Play::Stream& stream = play.stream(turn);
  stream.done = std::max(stream.done, turn.turn + 1);
  stream.next = turn.turn + 1;
  if (play.in_flight == 0 && phase_ == Phase::kProfiling && options_.tree_idle_cap) {
    play.cap_expired = false;
    if (!play.idle_alarm) {
      play.idle_alarm = core::SimTime::saturating_sum(now, *options_.tree_idle_cap);
    }
  }
  const bool may_go_on = phase_ == Phase::kWarmUp || now < cutoff_;
  if (play.is_final(turn) || ends_early || (is_child && !may_go_on)) {
    stream.next = -1;
    if (is_child) {
      end_child(id, turn.conversation, now);
      return;
    }
  }
  const TurnRef next{.conversation = turn.conversation, .turn = turn.turn + 1};
  if (!is_child && !ends_early) {
    std::vector<std::int32_t> branches;
    for (const std::int32_t branch : play.turn(turn).spawns) {
      if (!play.spawned[static_cast<std::size_t>(branch)]) {
        branches.push_back(branch);
      }
    }
    spawn(id, branches, std::nullopt, now);
  }
  if (stream.next < 0) {
    play.main_pending = false;
    if (play.children_alive == 0) {
      drained_.push_back(id);
    }
    return;
  }
  const core::Duration delay =
      pressure_.is_on ? core::Duration() : play.turn(next).delay.value_or(core::Duration());
  const bool waits = !is_child && !play.has_joined(next.turn);
  if (waits) {
    play.blocked = next.turn;
    play.is_due = delay == core::Duration();
  }
  if (delay > core::Duration()) {
    play.timers.push_back({.due = core::SimTime::saturating_sum(now, delay),
                           .kind = waits ? TimerKind::kJoin : TimerKind::kTurn,
                           .turn = next});
  } else if (!waits) {
    submit(id, next, now);
  }
}

void Replay::end_child(std::uint32_t id, std::int32_t conversation, core::SimTime now) {
  Play& play = plays_.at(id);
  const std::int32_t branch =
      play.tree().conversations[static_cast<std::size_t>(conversation)].branch;
  --play.open_children[static_cast<std::size_t>(branch)];
  --play.children_alive;
  release_blocked(id, now);
  if (!plays_.at(id).main_pending && plays_.at(id).children_alive == 0) {
    drained_.push_back(id);
  }
}

/// Sends a main turn that waited for children, when they have ended and its own time has come.
void Replay::release_blocked(std::uint32_t id, core::SimTime now) {
  Play& play = plays_.at(id);
  if (!play.blocked || !play.is_due || !play.has_joined(*play.blocked)) {
    return;
  }
  const TurnRef turn{.conversation = 0, .turn = *play.blocked};
  play.blocked.reset();
  submit(id, turn, now);
}

/// Gives the lanes of plays that have ended the next traces.
void Replay::recycle_drained(core::SimTime now) {
  for (const std::uint32_t id : std::exchange(drained_, {})) {
    const std::int32_t lane = plays_.at(id).lane;
    plays_.erase(id);
    lanes_[static_cast<std::size_t>(lane)].reset();
    if (may_start(now)) {
      start_root(lane, now);
    }
  }
}

void Replay::start_root(std::int32_t lane, core::SimTime now) {
  const std::int32_t tree = next_tree();
  const SessionTree& of = (*trees_)[static_cast<std::size_t>(tree)];
  const double origin = milliseconds(of.conversations.front().turns.front().start);
  const std::uint32_t id = add_play(tree, lane, origin);
  Play& play = plays_.at(id);
  play.open({.tree = tree, .streams = {{}}, .done = std::vector<std::int32_t>(play.streams.size())},
            next_session_);
  submit(id, {}, now);
}

std::optional<core::SimTime> Replay::next_send() const {
  std::optional<core::SimTime> next;
  for (const auto& [id, play] : plays_) {
    const auto own = play.next_send(has_barriers_);
    if (own && (!next || *own < *next)) {
      next = own;
    }
  }
  if (next && idle_since_ && in_flight_ == 0 && options_.system_idle_cap &&
      phase_ == Phase::kProfiling) {
    next = std::min(*next, core::SimTime::saturating_sum(*idle_since_, *options_.system_idle_cap));
  }
  return next && !aborted_ && *next < cutoff_ ? next : std::nullopt;
}

std::optional<Replay::Event> Replay::next_event() const {
  std::optional<Event> next;
  for (const auto& [id, play] : plays_) {
    for (std::size_t i = 0; i < play.timers.size(); ++i) {
      if (!next || play.timers[i].due < next->time) {
        next = {.time = play.timers[i].due, .play = id, .timer = i};
      }
    }
  }
  for (const auto& [id, play] : plays_) {
    if (play.idle_alarm && play.in_flight == 0 && !play.timers.empty() &&
        (!next || *play.idle_alarm < next->time)) {
      next = {.time = *play.idle_alarm, .play = id, .is_alarm = true};
    }
  }
  return next;
}

void Replay::run(const Event& event) {
  Play& play = plays_.at(event.play);
  if (event.is_alarm) {
    play.idle_alarm.reset();
    play.cap_expired = true;
    counts_.tree_idle_skipped += play.shift(event.time, *play.earliest_timer() - event.time);
    return;
  }
  const TurnTimer timer = play.timers[event.timer];
  play.timers.erase(play.timers.begin() + static_cast<std::ptrdiff_t>(event.timer));
  if (timer.kind == TimerKind::kPrimer) {
    send(event.play, timer.turn, event.time);
  } else if (timer.kind == TimerKind::kTurn) {
    submit(event.play, timer.turn, event.time);
  } else {
    play.is_due = true;
    release_blocked(event.play, event.time);
  }
  cap_system_idle(event.time, false);
}

/// While nothing is in flight on any lane, the next timer is no further away than the cap.
void Replay::cap_system_idle(core::SimTime now, bool is_return) {
  if (!options_.system_idle_cap || phase_ != Phase::kProfiling) {
    return;
  }
  if (in_flight_ > 0) {
    idle_since_.reset();
    return;
  }
  if (is_return || !idle_since_) {
    idle_since_ = now;
  }
  const core::Duration left =
      std::max(*options_.system_idle_cap - (now - *idle_since_), core::Duration());
  std::optional<core::SimTime> earliest;
  for (const auto& [id, play] : plays_) {
    const auto own = play.earliest_timer();
    earliest = own && earliest ? std::min(*own, *earliest) : (own ? own : earliest);
  }
  if (!earliest || *earliest - now <= left) {
    return;
  }
  const core::Duration by = *earliest - now - left;
  for (auto& [id, play] : plays_) {
    play.shift(now, by);
  }
  counts_.system_idle_skipped += by;
}

}  // namespace ridgeline::workload::agents
