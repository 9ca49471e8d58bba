// The end of batches in the fast twin's scheduler, one at a time or many at once, and of requests
// with them.
#include <algorithm>
#include <cstdint>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "engine/fast/prefix_cache.hpp"
#include "engine/fast/scheduler.hpp"
#include "engine/fast/slot.hpp"

namespace ridgeline::engine::fast {

void Scheduler::report_gaps(const Batch& batch, core::SimTime now, domain::RecordSink& sink) const {
  const auto resumed = static_cast<std::int64_t>(batch.resumed_decodes.size());
  if (const std::int64_t regular = batch.num_decodes - batch.wasted - resumed; regular > 0) {
    sink.on_token_gaps({.gap = now - last_end_, .growth = {}, .count = 1, .requests = regular});
  }
}

std::int64_t Scheduler::update(const Batch& batch, core::SimTime now, domain::RecordSink& sink) {
  if (batch.items.size() + batch.resumed_decodes.size() + late_.size() != 0) {
    report_tokens(batch, now, sink);
  }
  last_done_ = batch.number;
  last_end_ = now;
  if (async_ && !eager_.empty()) {
    key_singles(false);
  }
  const SlotIndex first = ends_.first(batch.number);
  if (first == kNoSlot) {
    return 0;
  }
  if (ends_.next(first) != kNoSlot) {
    return finish_all(first, sink);
  }
  finish(first, sink);
  return 1;
}

/// Of several that end with a batch, in running order.
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

/// Tokens of a batch that came at gaps of their own.
void Scheduler::report_tokens(const Batch& batch, core::SimTime now, domain::RecordSink& sink) {
  const auto report = [&](core::SimTime since) {
    sink.on_token_gaps({.gap = now - since, .growth = {}, .count = 1, .requests = 1});
  };
  for (const ResumedDecode& resumed_decode : batch.resumed_decodes) {
    report(resumed_decode.last_token);
  }
  for (const BatchItem& item : batch.items) {
    if (!item.samples || item.generation != slots_[item.slot].generation) {
      continue;  // Nothing came out, or it was aborted.
    }
    if (item.first) {
      slots_[item.slot].record.first_token = now;
    } else {
      report(item.last_token);
    }
  }
  for (const SlotIndex index : late_) {
    ++slots_[index].known;
    slots_[index].last_token = now;
    head_blocked_ = false;
    blocked_budget_ = -1;
  }
  late_.clear();
}

void Scheduler::finish(SlotIndex index, domain::RecordSink& sink) {
  Slot& slot = slots_[index];
  slot.record.outcome = slot.outcome_at_stop;
  slot.record.output_tokens = core::Tokens(slot.stop_after);
  slot.record.last_token = last_end_;
  head_blocked_ = false;
  blocked_budget_ = -1;
  if (slot.status == Status::kPreempted) {
    waiting_.erase(Waiting::preempted(index));
  } else {
    const std::int64_t blocks = blocks_for(computed_tokens(slot, index));
    const std::int64_t keyed = keyed_blocks(slot);
    if (slot.status == Status::kDecoding) {
      decodes_.remove(slot.base);
    }
    if (!eager_.empty()) {
      eager_.erase(index);
    }
    unlink(index);
    release(index, blocks, keyed);
  }
  ends_.remove(index);
  vacate(index);
  sink.on_request(slot.record);
}

/// Whether batches that have as much of the budget left leave the queue as it is.
bool Scheduler::waiting_stays_out(std::int64_t budget) const {
  if (waiting_.empty() || num_running_ >= options_.max_num_seqs || budget == 0) {
    return true;
  }
  if (blocked_budget_ == budget) {
    return true;
  }
  // The head stays out if it was tried and nothing can change the verdict: blocks only get fewer,
  // and what it found in the cache is held, or is its own (of which an eviction takes a block from
  // what it needs at most, and one from what there is); and nobody computes what it did not find.
  return head_blocked_ && tried_budget_ == budget && match_.unheld == 0 &&
         match_.overtaken == PrefixCache::kNone;
}

std::int64_t Scheduler::batches_to_change() {
  const std::size_t special =
      prefilling_.size() + late_.size() + starved_.size() + eager_.size() + passed_over_.size();
  const std::int64_t oldest = last_done_ + 1;
  ends_.advance(oldest);
  if (special != 0 || keep_decode_lengths_ || cache_.keeps_ids() || retire_last_tokens() != 0) {
    return 0;
  }
  const std::int64_t decodes = decodes_.count();
  const std::int64_t budget = options_.max_num_batched_tokens.value() - decodes;
  if (decodes == 0 || budget < 0 || !waiting_stays_out(budget)) {
    return 0;
  }
  // Who ends with a batch in flight frees seats and blocks, and changes what is shared.
  if ((!waiting_.empty() || num_shared_blocks_ != 0) && oldest < num_batches_ &&
      anyone_ends(oldest)) {
    return 1;
  }
  return ends_.next_end(num_batches_) - num_batches_ + 1;
}

}  // namespace ridgeline::engine::fast
