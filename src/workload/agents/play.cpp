#include "workload/agents/play.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/agents/conversations.hpp"
#include "workload/agents/recorded_time.hpp"
#include "workload/agents/start_point.hpp"

namespace ridgeline::workload::agents {

Play::Play(const SessionTree& tree, std::int32_t trace, std::int32_t on_lane, double origin)
    : number(trace),
      lane(on_lane),
      streams(tree.conversations.size()),
      open_children(tree.conversations.front().branches.size()),
      spawned(open_children.size()),
      tree_(&tree),
      origin_(origin) {}

bool Play::is_final(TurnRef ref) const {
  return ref.turn + 1 ==
         static_cast<std::int32_t>(
             tree_->conversations[static_cast<std::size_t>(ref.conversation)].turns.size());
}

bool Play::has_joined(std::int32_t main_turn) const {
  return std::ranges::all_of(
      turn({.conversation = 0, .turn = main_turn}).joins,
      [&](std::int32_t one) { return open_children[static_cast<std::size_t>(one)] == 0; });
}

bool Play::is_ready(TurnRef ref) const {
  return std::ranges::all_of(turn(ref).predecessors, [&](TurnRef before) {
    return streams[static_cast<std::size_t>(before.conversation)].done > before.turn;
  });
}

void Play::open(const StartPoint& point, std::uint32_t& sessions) {
  for (std::size_t c = 0; c < point.done.size(); ++c) {
    streams[c].done = point.done[c];
  }
  for (const StreamState& state : point.streams) {
    if (state.conversation == 0) {
      streams[0].next = state.next_turn;
      streams[0].session = sessions++;
      main_pending = true;
    } else {
      const auto c = static_cast<std::size_t>(state.conversation);
      open_child(state.conversation, tree_->conversations[c].branch, sessions);
      streams[c].next = state.next_turn;
    }
  }
}

void Play::open_child(std::int32_t child, std::int32_t branch_number, std::uint32_t& sessions) {
  Stream& opened = streams[static_cast<std::size_t>(child)];
  opened.next = 0;
  opened.session = sessions++;
  ++children_alive;
  ++open_children[static_cast<std::size_t>(branch_number)];
}

std::vector<StreamState> Play::states() const {
  std::vector<StreamState> alive;
  for (std::size_t c = 0; c < streams.size(); ++c) {
    if (streams[c].next < 0) {
      continue;
    }
    const TurnRef next{.conversation = static_cast<std::int32_t>(c), .turn = streams[c].next};
    const double offset = milliseconds(turn(next).start) - origin_;
    alive.push_back({.conversation = next.conversation,
                     .next_turn = next.turn,
                     .offset = core::Duration::saturating(core::Seconds(offset / 1000.0)),
                     .waits = c == 0 && !has_joined(next.turn)});
  }
  return alive;
}

/// Whether a timer sends a request when it fires, as things stand.
bool Play::would_send(const TurnTimer& timer, bool has_barriers) const {
  const bool is_free = timer.kind != TimerKind::kJoin || (blocked && has_joined(*blocked));
  return timer.kind == TimerKind::kPrimer || (is_free && (!has_barriers || is_ready(timer.turn)));
}

std::optional<core::SimTime> Play::next_send(bool has_barriers) const {
  // What the timers do on the way is gone through: the cap on idle time fires, moves them, and goes
  // on to the next one where the first sends nothing.
  std::vector<TurnTimer> sorted = timers;
  std::ranges::stable_sort(sorted, {}, &TurnTimer::due);
  core::Duration moved;
  std::optional<core::SimTime> alarm = in_flight == 0 ? idle_alarm : std::nullopt;
  bool has_expired = cap_expired;
  for (const TurnTimer& timer : sorted) {
    core::SimTime due = timer.due - moved;
    if (alarm.has_value() && due > *alarm) {
      moved += due - *alarm;
      due = *alarm;
      alarm.reset();
      has_expired = true;
    }
    if (would_send(timer, has_barriers)) {
      return due;
    }
    if (has_expired && timer.kind == TimerKind::kTurn) {
      alarm = due;
    }
  }
  return std::nullopt;
}

core::Duration Play::shift(core::SimTime now, core::Duration by) {
  if (by <= core::Duration()) {
    return {};
  }
  for (TurnTimer& timer : timers) {
    timer.due = std::max(now, timer.due - by);
  }
  return by;
}

std::optional<core::SimTime> Play::earliest_timer() const {
  const auto first = std::ranges::min_element(timers, {}, &TurnTimer::due);
  return first == timers.end() ? std::nullopt : std::optional(first->due);
}

}  // namespace ridgeline::workload::agents
