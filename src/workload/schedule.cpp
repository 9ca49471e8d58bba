#include "workload/schedule.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/limits.hpp"

namespace ridgeline::workload {
namespace {

/// A space of contents of its own.
constexpr std::uint64_t kNeverSent = 0x756E73656E74;

}  // namespace

Schedule::Schedule(std::unique_ptr<ItemStream> stream)
    : stream_(std::move(stream)),
      answers_matter_(stream_->waits_for_answers()),
      last_(stream_->sends_before().value_or(core::Duration::max())) {
  peek();
  held_back_.start(has_next_ ? core::SimTime::at(next_.arrival) : core::SimTime());
  const Stage& first = stream_->stages().front();
  limited_ = first.max_concurrency > 0;
  think_ = first.think;
  end_ = first.end;
  for (std::int64_t i = 0; i < first.max_concurrency; ++i) {
    slots_.push(core::SimTime());
  }
}

void Schedule::peek() {
  has_next_ = !ended_ && stream_->next(next_);
  ended_ = !has_next_;
}

std::optional<core::SimTime> Schedule::sum(core::SimTime time, core::Duration duration) {
  if (duration <= kLatestArrival - time.since_start()) {
    return time + duration;
  }
  if (own_errors_.empty()) {
    own_errors_.push_back({.code = core::ErrorCode::kInfeasible,
                           .field = "workload",
                           .message = "requests pass the range of simulated time, expected them "
                                      "to be sent before 9200000 s"});
  }
  return std::nullopt;
}

std::optional<core::SimTime> Schedule::start_of_next_group() {
  if (!has_next_) {
    return std::nullopt;
  }
  if (next_.stage != stage_) {
    const Stage& stage = stream_->stages()[static_cast<std::size_t>(next_.stage)];
    if (stage.after_previous && open_groups_ > 0) {
      return std::nullopt;
    }
    stage_ = next_.stage;
    stage_start_ = core::SimTime();
    if (stage.after_previous) {
      const auto start = sum(last_end_, stage.pause);
      if (!start) {
        has_next_ = false;
        return std::nullopt;
      }
      stage_start_ = *start;
    }
    limited_ = stage.max_concurrency > 0;
    think_ = stage.think;
    end_ = stage.end;
    slots_ = {};
    for (std::int64_t i = 0; i < stage.max_concurrency; ++i) {
      slots_.push(stage_start_);
    }
  }
  const auto start = sum(stage_start_, next_.arrival);
  if (!start) {
    has_next_ = false;
    return std::nullopt;
  }
  if (!limited_) {
    return start;
  }
  if (slots_.empty()) {
    return std::nullopt;
  }
  const core::SimTime sent = std::max(*start, slots_.top());
  if (end_ && sent.since_start() >= *end_) {
    has_next_ = false;
    return std::nullopt;
  }
  return sent;
}

void Schedule::open_due_groups() {
  for (;;) {
    const auto start = start_of_next_group();
    // At equal times the one that stands first in the stream goes first.
    if (!start || (!ready_.empty() && ready_.top().time < *start)) {
      return;
    }
    open_group(*start);
  }
}

void Schedule::open_group(core::SimTime start) {
  if (limited_) {
    slots_.pop();
    // Without a time of its own a group comes when there is a place for it, and never waits.
    if (next_.arrival > core::Duration()) {
      held_back_.come(stage_start_ + next_.arrival);
      held_back_.leave(start);
    }
  }
  std::uint32_t index = 0;
  if (free_groups_.empty()) {
    index = static_cast<std::uint32_t>(groups_.size());
    groups_.emplace_back();
  } else {
    index = free_groups_.back();
    free_groups_.pop_back();
  }
  ++open_groups_;
  const core::SimTime base = start - next_.arrival;
  add_node(index, base);
  for (peek(); has_next_ && !next_.starts_group; peek()) {
    add_node(index, base);
  }
}

void Schedule::add_node(std::uint32_t group, core::SimTime base) {
  Group& target = groups_[group];
  const auto place = static_cast<std::uint32_t>(target.nodes.size());
  target.nodes.emplace_back();
  Node& node = target.nodes.back();
  node.item = std::move(next_);
  node.waits_for = static_cast<std::uint32_t>(node.item.parents.size());
  node.delay = node.item.delay;
  for (const std::uint32_t parent : node.item.parents) {
    if (parent < place) {
      target.nodes[parent].waiting.push_back(place);
    }
  }
  node.earliest = sum(base, node.item.arrival).value_or(core::SimTime::never());
  ++target.to_send;
  ++target.unanswered;
  if (node.waits_for == 0) {
    make_ready(group, place);
  }
}

void Schedule::make_ready(std::uint32_t group, std::uint32_t place) {
  const core::SimTime time = groups_[group].nodes[place].earliest;
  if (time != core::SimTime::never()) {
    ready_.push({.time = time, .order = order_++, .group = group, .place = place});
  }
}

std::optional<core::SimTime> Schedule::next_time() {
  open_due_groups();
  return ready_.empty() || ready_.top().time.since_start() >= last_
             ? std::nullopt
             : std::optional(ready_.top().time);
}

void Schedule::pop(Item& item, core::RequestId& id) {
  RIDGELINE_CHECK(next_time().has_value(), "pop while everything waits or the stream has ended");
  const Ready ready = ready_.top();
  ready_.pop();
  Group& group = groups_[ready.group];
  Node& node = group.nodes[ready.place];
  id = core::RequestId(sent_++);
  node.id = id;
  item = std::move(node.item);
  item.arrival = ready.time.since_start();
  group.mapper.apply(item.prompt, [&](std::uint64_t content) -> PromptMapper::Name {
    if (!is_output(content)) {
      return {.content = content};
    }
    const core::RequestId from = group.nodes[static_cast<std::size_t>(content & ~output_of(0))].id;
    // An answer to what has not been sent (times in a file may say so) is of no request yet.
    return from.valid() ? PromptMapper::Name{.content = domain::output_content(from)}
                        : PromptMapper::Name{.content = content_of(kNeverSent, id.value()),
                                             .is_lasting = false};
  });
  --group.to_send;
  if (answers_matter_) {
    in_flight_.emplace(id.value(), Place{ready.group, ready.place});
  } else {
    --group.unanswered;
    if (group.to_send == 0) {
      retire(ready.group);
    }
  }
}

void Schedule::on_completion(core::RequestId id, core::SimTime time) {
  if (!answers_matter_) {
    return;
  }
  const auto found = in_flight_.find(id.value());
  RIDGELINE_CHECK(found != in_flight_.end(), "a completion without a request in flight");
  const auto [index, place] = found->second;
  in_flight_.erase(found);
  Group& group = groups_[index];
  --group.unanswered;
  last_end_ = std::max(last_end_, time);
  for (const std::uint32_t i : group.nodes[place].waiting) {
    Node& node = group.nodes[i];
    if (node.waits_for == 0) {
      continue;
    }
    const auto due = sum(time, node.delay);
    node.earliest = due ? std::max(node.earliest, *due) : core::SimTime::never();
    if (--node.waits_for == 0) {
      make_ready(index, i);
    }
  }
  if (group.unanswered == 0) {
    if (limited_) {
      if (const auto free = sum(time, think_)) {
        slots_.push(*free);
      }
    }
    retire(index);
  }
}

void Schedule::retire(std::uint32_t group) {
  groups_[group].nodes.clear();
  groups_[group].mapper = {};
  --open_groups_;
  free_groups_.push_back(group);
}

}  // namespace ridgeline::workload
