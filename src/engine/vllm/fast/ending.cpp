// The end of a batch in the fast twin's scheduler, and of the requests whose last token it brings.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/check.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/token_sink.hpp"
#include "engine/vllm/fast/prefix_cache.hpp"
#include "engine/vllm/fast/scheduler_runs.hpp"
#include "engine/vllm/fast/slot.hpp"

namespace ridgeline::engine::vllm::fast {

/// Ends all requests whose last batch has ended; `first` is one of them. Returns their number.
std::int64_t Scheduler::finish_ending(SlotIndex first, domain::RecordSink& sink) {
  if (ends_.next(first) != kNoSlot) {
    return finish_all(first, sink);
  }
  finish(first, sink);
  return 1;
}

/// Ends several requests, in running order.
std::int64_t Scheduler::finish_all(SlotIndex first, domain::RecordSink& sink) {
  ending_.clear();
  for (SlotIndex i = first; i != kNoSlot; i = ends_.next(i)) {
    ending_.push_back(i);
  }
  std::sort(ending_.begin(), ending_.end(), [this](SlotIndex a, SlotIndex b) {
    return slots_[a].order < slots_[b].order;
  });
  for (const SlotIndex index : ending_) {
    finish(index, sink);
  }
  return static_cast<std::int64_t>(ending_.size());
}

/// Reports the tokens of a batch that have gaps of their own, or are first tokens.
void Scheduler::report_tokens(const Batch& batch, core::SimTime now, domain::RecordSink& sink) {
  const auto report = [&](core::SimTime since) {
    sink.on_token_gaps({.gap = now - since, .growth = {}, .count = 1, .requests = 1});
  };
  for (const ResumedDecode& resumed_decode : batch.resumed_decodes) {
    report(resumed_decode.last_token);
  }
  for (const BatchItem& item : batch.items) {
    if (!item.samples || item.generation != slots_[item.slot].generation) {
      continue;  // The chunk sampled no token, or its request was aborted.
    }
    if (item.first) {
      slots_[item.slot].record.first_token = now;
    } else {
      report(item.last_token);
    }
  }
  for (const SlotIndex index : preempted_in_flight_) {
    ++slots_[index].known;
    slots_[index].last_token = now;
    head_blocked_ = false;
    blocked_budget_ = -1;
  }
  preempted_in_flight_.clear();
}

void Scheduler::report_first_tokens(const Batch& batch,
                                    core::SimTime now,
                                    domain::FirstTokenSink& sink) const {
  for (const BatchItem& item : batch.items) {
    if (item.samples && item.first && item.generation == slots_[item.slot].generation) {
      sink.on_first_token(slots_[item.slot].record.id, now);
    }
  }
}

void Scheduler::list_tokens(const Batch& batch, std::vector<domain::TokenEvent>& events) const {
  events.clear();
  const auto add = [&](SlotIndex index) {
    events.push_back({.request = slots_[index].record.id, .tokens = core::Tokens(1)});
  };
  for (SlotIndex i = first_running_; i != kNoSlot; i = slots_[i].next) {
    const Slot& slot = slots_[i];
    if (decodes_or_leaves(slot) && slot.begun <= batch.number && decodes_in(i, batch)) {
      add(i);
    }
  }
  for (const SlotIndex index : preempted_in_flight_) {
    add(index);
  }
  std::ranges::sort(events, {}, &domain::TokenEvent::request);
}

void Scheduler::finish(SlotIndex index, domain::RecordSink& sink) {
  Slot& slot = slots_[index];
  slot.record.last_token = last_end_;
  head_blocked_ = false;
  blocked_budget_ = -1;
  RIDGELINE_CHECK((slot.status == Status::kPreempted ? slot.known : known_tokens(slot)) ==
                      slot.prompt_tokens + slot.stop_after,
                  "slot: a request ends with its last token");
  if (slot.status == Status::kPreempted) {
    leave_queue(Waiting::preempted(index));
  } else {
    const std::int64_t blocks = blocks_for(computed_tokens(slot, index));
    const std::int64_t keyed = keyed_blocks(slot);
    if (slot.status == Status::kDecoding) {
      decodes_.remove(slot.base);
    }
    if (!single_block_decodes_.empty()) {
      single_block_decodes_.erase(index);
    }
    unlink(index);
    if (slot.holds_blocks) {
      hold_for_reader(index, blocks, keyed);
    } else {
      release(index, blocks, keyed);
    }
  }
  ends_.remove(index);
  num_reporting_ -= slot.reports_steps ? 1 : 0;
  if (slot.status != Status::kHolding) {
    vacate(index);
  }
  sink.on_request(slot.record);
}

}  // namespace ridgeline::engine::vllm::fast
