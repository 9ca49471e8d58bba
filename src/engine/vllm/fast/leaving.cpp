// How requests leave the fast twin's scheduler before their last token: aborted, or dropped with
// all others.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "engine/vllm/fast/prefix_cache.hpp"
#include "engine/vllm/fast/scheduler_runs.hpp"
#include "engine/vllm/fast/slot.hpp"

namespace ridgeline::engine::vllm::fast {

/// Gives back blocks that other requests may hold too.
void Scheduler::release_shared(SlotIndex index, std::int64_t blocks, std::int64_t keyed) {
  const std::int64_t free_before = cache_.num_free();
  cache_.release(slots_[index].table, index, blocks, keyed);
  num_shared_blocks_ -= blocks - (cache_.num_free() - free_before);
  RIDGELINE_CHECK(num_shared_blocks_ >= 0, "scheduler: shared blocks are counted in and out");
}

/// The tokens known of a decoding request at any instant: its prompt and the tokens of batches that
/// have ended. (known_tokens() holds only while the scheduler forms or ends a batch.)
std::int64_t Scheduler::tokens_so_far(const Slot& slot) const {
  const std::int64_t done = std::max(last_done_, slot.begun - 1);
  // Each skipped batch lowered the base by one as soon as it was formed, also if it has not ended.
  const std::int64_t skipped = slot.last_skipped_batch > done
                                   ? std::min(slot.batches_skipped, slot.last_skipped_batch - done)
                                   : 0;
  return slot.base + done + 2 + skipped;
}

/// The blocks with keys of a request at any instant. When a batch is formed, all known tokens get
/// keys; when a batch ends, all but the newest token.
std::int64_t Scheduler::keyed_so_far(SlotIndex index) const {
  const Slot& slot = slots_[index];
  if (!decodes_or_leaves(slot)) {
    return slot.table.keyed;
  }
  const std::int64_t newest = num_batches_ - 1;
  const bool just_formed = last_done_ == done_at_forming_ && slot.status == Status::kDecoding &&
                           slot.begun != newest && !slot.skipped_in(newest);
  const std::int64_t tokens = tokens_so_far(slot) - (just_formed ? 0 : 1);
  return std::max(slot.table.keyed, block_size_.whole(tokens));
}

std::int64_t Scheduler::output_tokens(SlotIndex index) const {
  const Slot& slot = slots_[index];
  return (decodes_or_leaves(slot) ? tokens_so_far(slot) : slot.known) - slot.prompt_tokens;
}

/// Takes a request off the running list and notes the tokens it has generated so far.
void Scheduler::leave_running(SlotIndex index) {
  Slot& slot = slots_[index];
  const std::int64_t blocks = blocks_of(slot, index);
  const std::int64_t keyed = keyed_so_far(index);
  if (decodes_or_leaves(slot)) {
    slot.known = tokens_so_far(slot);
    if (last_done_ >= slot.begun && !slot.skipped_in(last_done_)) {
      slot.last_token = last_end_;
    }
    ends_.remove(index);
    if (slot.status == Status::kDecoding) {
      decodes_.remove(slot.base);
    }
  }
  release(index, blocks, keyed);
  unlink(index);
}

void Scheduler::drain(domain::Outcome outcome, core::SimTime failed, domain::RecordSink& sink) {
  preempted_in_flight_.clear();
  while (first_running_ != kNoSlot) {
    const SlotIndex index = first_running_;
    leave_running(index);
    report_gone(Waiting::preempted(index), outcome, sink, failed);
  }
  prefilling_.clear();
  single_block_decodes_.clear();
  skipped_decodes_.clear();
  for (std::size_t i = 0; i < num_ahead_; ++i) {
    report_gone(waiting_[i], outcome, sink, failed);
  }
  const std::size_t ahead = num_ahead_;
  drain_loads(outcome, failed, sink);
  for (std::size_t i = ahead; i < waiting_.size(); ++i) {
    report_gone(waiting_[i], outcome, sink, failed);
  }
  waiting_.clear();
  RIDGELINE_CHECK(num_reporting_ == 0,
                  "scheduler: nothing is to be reported of requests that have left");
  RIDGELINE_CHECK(num_running_ == 0 && decodes_.count() == 0 && cache_.num_used() == 0,
                  "scheduler: nothing is held once all requests have left");
}

void Scheduler::report_gone(const Waiting& entry,
                            domain::Outcome outcome,
                            domain::RecordSink& sink,
                            core::SimTime failed) {
  domain::RequestRecord record;
  if (entry.slot != kNoSlot) {
    const Slot& slot = slots_[entry.slot];
    record = slot.record;
    const std::int64_t outputs = slot.known - slot.prompt_tokens;
    record.output_tokens = core::Tokens(outputs);
    if (outputs > 0) {
      record.last_token = slot.last_token;
    }
    num_reporting_ -= slot.reports_steps ? 1 : 0;
    vacate(entry.slot);
  } else {
    record.id = entry.id;
    record.label_set = entry.label_set;
    record.arrival = entry.arrival;
    record.queued = entry.queued;
    record.prompt_tokens = core::Tokens(entry.prompt_tokens);
    num_reporting_ -= entry.leg.loads || entry.leg.reports_steps ? 1 : 0;
    if (entry.chain != PrefixCache::kNone) {
      cache_.drop_chain(entry.chain);
    }
  }
  record.outcome = outcome;
  record.failed = failed;
  sink.on_request(record);
}

void Scheduler::abort(core::RequestId id,
                      std::span<Batch* const> in_flight,
                      domain::RecordSink& sink) {
  head_blocked_ = false;  // The head of the queue may fit now.
  blocked_budget_ = -1;
  for (SlotIndex i = first_running_; i != kNoSlot; i = slots_[i].next) {
    if (slots_[i].record.id == id) {
      discard_tokens_in_flight(i, in_flight);
      abort_running(i);
      report_gone(Waiting::preempted(i), domain::Outcome::kAborted, sink);
      return;
    }
  }
  if (abort_loading(id, sink)) {
    return;
  }
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    const Waiting entry = waiting_[i];
    if ((entry.slot == kNoSlot ? entry.id : slots_[entry.slot].record.id) == id) {
      if (entry.slot != kNoSlot) {
        discard_tokens_in_flight(entry.slot, in_flight);
        abort_preempted(entry.slot);
      }
      leave_queue(entry);
      report_gone(entry, domain::Outcome::kAborted, sink);
      return;
    }
  }
}

void Scheduler::abort_running(SlotIndex index) {
  leave_running(index);
  for (auto* list : {&prefilling_, &single_block_decodes_, &skipped_decodes_}) {
    list->erase(index);
  }
}

void Scheduler::abort_preempted(SlotIndex index) {
  if (preempted_in_flight_.erase(index) > 0 && ends_.batch_of(index) <= last_done_ + 1) {
    ends_.remove(index);  // The token in flight would have been its last.
  }
}

/// Marks the tokens of an aborted request in the batches in flight as wasted, so that no gap is
/// reported for them.
void Scheduler::discard_tokens_in_flight(SlotIndex index, std::span<Batch* const> in_flight) const {
  for (std::size_t i = in_flight.size(); i-- > 0;) {
    Batch& batch = *in_flight[i];
    const bool is_item =
        std::any_of(batch.items.begin(), batch.items.end(), [&](const BatchItem& item) {
          return item.slot == index && item.generation == slots_[index].generation;
        });
    if (is_item) {
      // The request's prompt is computed in this batch, so that no older batch holds a token of it.
      return;
    }
    if (decodes_in(index, batch)) {
      ++batch.wasted_decodes;
      RIDGELINE_CHECK(batch.wasted_decodes <= batch.num_decodes,
                      "batch: a wasted token is a decode's");
      batch.resumed_decodes.erase_if(
          [&](const ResumedDecode& resumed) { return resumed.slot == index; });
    }
  }
}

/// Whether a batch in flight holds a token of the request that would be delivered.
bool Scheduler::decodes_in(SlotIndex index, const Batch& batch) const {
  const Slot& slot = slots_[index];
  if (decodes_or_leaves(slot)) {
    return ends_.batch_of(index) >= batch.number && !slot.skipped_in(batch.number);
  }
  return slot.status == Status::kPreempted && batch.number == last_done_ + 1 &&
         std::find(preempted_in_flight_.begin(), preempted_in_flight_.end(), index) !=
             preempted_in_flight_.end();
}

}  // namespace ridgeline::engine::vllm::fast
