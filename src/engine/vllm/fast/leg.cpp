// Requests of which the fast twin computes a part alone (engine::Leg): those whose KV another
// engine hands over, and those whose blocks another engine reads.
#include "engine/leg.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "engine/vllm/fast/prefix_cache.hpp"
#include "engine/vllm/fast/scheduler_runs.hpp"
#include "engine/vllm/fast/slot.hpp"

namespace ridgeline::engine::vllm::fast {

/// What an earlier attempt of a request left is found by its content, as are quotes.
void Scheduler::expect_earlier_attempts() {
  if (options_.enable_prefix_caching && !cache_.prompts_quote_requests()) {
    cache_.expect_quotes();
    make_all_blocks_findable();
  }
}

/// The queue where requests load: in versions with one queue those preempted since stand before
/// them, in later ones they are all tried first.
void Scheduler::schedule_around_loads(Batch& batch, core::SimTime now) {
  const std::size_t before = waiting_.size();
  const bool goes_on = schedule_queue(num_ahead_, batch, now);
  num_ahead_ -= before - waiting_.size() - passed_over_.size();
  if (goes_on && schedule_loaded(batch, now)) {
    schedule_queue(waiting_.size(), batch, now);
  }
  if (num_running_ == 0 && num_ready_ > 1 && !waits_for_others()) {
    end_standstill(batch, now);
  }
}

/// Tries the requests whose KV has arrived, in order; false where one of them does not fit. Nothing
/// behind that is tried, unless all that could make room are such requests behind it: vLLM would
/// stand still there for ever.
bool Scheduler::schedule_loaded(Batch& batch, core::SimTime now) {
  for (std::size_t i = 0; i < loading_.size() && num_ready_ > 0 && has_room();) {
    if (!loading_[i].is_ready) {
      ++i;
      continue;
    }
    const Verdict verdict = try_ready(i, batch, now);
    if (verdict == Verdict::kAdmitted) {
      leave_loading(i);
      continue;
    }
    ++i;
    if (num_running_ > 0 || !has_loaded_from(i)) {
      head_blocked_ = true;
      head_budget_ = budget_;
      return false;
    }
  }
  return true;
}

/// Whether one from that place on holds blocks with KV that has arrived.
bool Scheduler::has_loaded_from(std::size_t place) const {
  return std::any_of(
      loading_.begin() + static_cast<std::ptrdiff_t>(place), loading_.end(), holds_loaded);
}

Scheduler::Verdict Scheduler::try_ready(std::size_t place, Batch& batch, core::SimTime now) {
  if (loading_[place].has_failed) {
    settle_failed(loading_[place]);
  }
  const Waiting entry = loading_[place].entry;
  return entry.slot == kNoSlot ? try_admit(entry, batch, now) : try_loaded(entry.slot, batch, now);
}

/// Admits a request to the blocks that it holds.
Scheduler::Verdict Scheduler::try_loaded(SlotIndex index, Batch& batch, core::SimTime now) {
  match_.clear();  // Nothing is looked up.
  head_lookup_ = {};
  if (slots_[index].status == Status::kLoading) {
    take_loaded(index);
  }
  Slot& slot = slots_[index];
  std::int64_t tokens = std::min(slot.known - slot.computed, budget_);
  if (const std::int64_t threshold = options_.long_prefill_token_threshold.value(); threshold > 0) {
    tokens = std::min(tokens, threshold);
  }
  const std::int64_t must_fit =
      options_.profile.reserve_full_prompt ? slot.known : slot.computed + tokens;
  if (std::max<std::int64_t>(blocks_for(must_fit) - slot.least_blocks, 0) > admissible_blocks()) {
    return Verdict::kBlocked;
  }
  slot.record.cached_tokens = core::Tokens(std::min(slot.computed, slot.prompt_tokens));
  slot.record.first_scheduled = now;
  slot.status = Status::kPrefilling;
  link_last(index);
  prefilling_.push_back(index);
  cache_.allocate(blocks_to_compute(slot, tokens), index);
  budget_ -= tokens;
  put(batch, index, tokens);
  return Verdict::kAdmitted;
}

/// The KV has arrived: its blocks can be found by others, and the request computes the rest, at
/// least one token.
void Scheduler::take_loaded(SlotIndex index) {
  Slot& slot = slots_[index];
  std::int64_t there = slot.loaded;
  if (options_.profile.remote_rounds_up_to_blocks) {
    there = std::min(slot.least_blocks * block_size_.value(), slot.known);
    there -= there == slot.known ? 1 : 0;
  }
  cache_.set_keyed(slot.table, index, block_size_.whole(there));
  slot.computed = std::min(there, slot.known - 1);
  slot.status = Status::kLoaded;
}

void Scheduler::finish_load(core::RequestId id, bool arrived) {
  const auto is_its = [&](SlotIndex index) { return slots_[index].record.id == id; };
  unblock_head();
  if (const auto* const gone = std::ranges::find_if(abandoned_, is_its); gone != abandoned_.end()) {
    const SlotIndex index = *gone;
    abandoned_.erase(index);
    give_back(index);
    vacate(index);
    return;
  }
  const auto load = std::ranges::find_if(
      loading_, [&](const Loading& one) { return !one.is_ready && is_its(one.entry.slot); });
  if (load == loading_.end()) {
    return;
  }
  load->is_ready = true;
  load->has_failed = !arrived;
  ++num_ready_;
}

/// What was to be loaded is computed here, behind what the own cache held. Where that is nothing,
/// the request gives its blocks back in its turn and is looked up anew, as in vLLM.
void Scheduler::settle_failed(Loading& load) {
  load.has_failed = false;
  Slot& slot = slots_[load.entry.slot];
  slot.status = Status::kLoaded;
  if (slot.computed == 0) {
    requeue(load);
  }
}

/// It gives its blocks back, and is looked up anew in its turn.
void Scheduler::requeue(Loading& load) {
  const SlotIndex index = load.entry.slot;
  give_back(index);
  if (load.entry.chain != PrefixCache::kNone) {
    slots_[index].table.chain = PrefixCache::kNone;  // The entry keeps it.
  }
  vacate(index);
  load.entry.slot = kNoSlot;
}

/// The blocks of a request that does not run.
void Scheduler::give_back(SlotIndex index) {
  release(index, slots_[index].least_blocks, slots_[index].table.keyed);
}

void Scheduler::leave_loading(std::size_t place) {
  num_ready_ -= loading_[place].is_ready ? 1 : 0;
  loading_.erase(loading_.begin() + static_cast<std::ptrdiff_t>(place));
}

/// Whether a request that loads holds blocks with KV that has arrived.
bool Scheduler::holds_loaded(const Loading& load) {
  return load.is_ready && load.entry.slot != kNoSlot;
}

/// Requests whose KV has arrived may each lack the blocks that the others hold, while nothing runs
/// that could give any back. vLLM would stand still there for ever. Here the last ones give theirs
/// back, and are looked up anew in their turn, until the first can run.
void Scheduler::end_standstill(Batch& batch, core::SimTime now) {
  const auto holds = [&](const Loading& one) {
    return one.entry.slot != kNoSlot && slots_[one.entry.slot].status == Status::kLoaded;
  };
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < loading_.size() && !first; ++i) {
    first = holds(loading_[i]) ? std::optional(i) : std::nullopt;
  }
  for (std::size_t last = loading_.size(); first && last > *first + 1; --last) {
    if (!holds(loading_[last - 1])) {
      continue;
    }
    requeue(loading_[last - 1]);
    if (try_ready(*first, batch, now) == Verdict::kAdmitted) {
      leave_loading(*first);
      unblock_head();
      return;
    }
  }
}

/// The only request that runs lacks so many blocks, and so preempts itself. Where it starts over
/// with a part of its prompt, and requests whose KV has arrived keep the blocks for the rest, vLLM
/// does that for ever. Here, where no token has come out since the last time, those give theirs
/// back, the last ones first, and nothing is admitted beside it until one comes. True if the blocks
/// are free.
bool Scheduler::take_from_loaded(std::int64_t blocks) {
  const bool others_hold_blocks =
      !abandoned_.empty() ||
      std::ranges::any_of(loading_, [](const Loading& one) { return one.entry.slot != kNoSlot; });
  if (!others_hold_blocks) {
    return false;
  }
  is_stuck_ = std::exchange(preempted_alone_, true);
  if (!is_stuck_ || waits_for_others()) {
    return false;
  }
  for (auto load = loading_.rbegin(); load != loading_.rend() && blocks > cache_.num_free();
       ++load) {
    if (!holds_loaded(*load)) {
      continue;
    }
    if (load->has_failed) {
      settle_failed(*load);
    } else if (slots_[load->entry.slot].status == Status::kLoading) {
      take_loaded(load->entry.slot);
    }
    if (load->entry.slot != kNoSlot) {
      requeue(*load);
    }
  }
  unblock_head();
  return blocks <= cache_.num_free();
}

/// Tokens have come out of a batch.
void Scheduler::end_stuck(const Batch& batch) {
  const bool has_tokens = batch.num_decodes > batch.wasted_decodes ||
                          std::ranges::any_of(batch.items.span(), [this](const BatchItem& item) {
                            return item.samples && item.generation == slots_[item.slot].generation;
                          });
  if (has_tokens) {
    preempted_alone_ = is_stuck_ = false;
  }
}

/// It has ended; its blocks are read by another engine.
void Scheduler::hold_for_reader(SlotIndex index, std::int64_t blocks, std::int64_t keyed) {
  Slot& slot = slots_[index];
  slot.status = Status::kHolding;
  slot.least_blocks = blocks;
  cache_.set_keyed(slot.table, index, keyed);
  holding_.push_back(index);
}

/// Releases the blocks of the earliest of several attempts of one request.
void Scheduler::release_blocks(core::RequestId id) {
  unblock_head();
  const auto* const place = std::ranges::find_if(
      holding_, [&](SlotIndex index) { return slots_[index].record.id == id; });
  if (place == holding_.end()) {
    return;
  }
  const SlotIndex index = *place;
  holding_.erase(index);
  give_back(index);
  vacate(index);
}

/// False where no request of that id loads.
bool Scheduler::abort_loading(core::RequestId id, domain::RecordSink& sink) {
  const auto load =
      std::ranges::find_if(loading_, [&](const Loading& one) { return one.entry.id == id; });
  if (load == loading_.end()) {
    return false;
  }
  const Loading gone = *load;
  leave_loading(static_cast<std::size_t>(load - loading_.begin()));
  if (!gone.is_ready && options_.profile.remote_abort_waits_for_load) {
    abandoned_.push_back(gone.entry.slot);
    domain::RequestRecord record = slots_[gone.entry.slot].record;
    record.output_tokens = {};
    record.outcome = domain::Outcome::kAborted;
    sink.on_request(record);
    return true;
  }
  if (gone.entry.slot != kNoSlot) {
    give_back(gone.entry.slot);
  }
  report_gone(gone.entry, domain::Outcome::kAborted, sink);
  return true;
}

void Scheduler::drain_loads(domain::Outcome outcome,
                            core::SimTime failed,
                            domain::RecordSink& sink) {
  for (const Loading& load : loading_) {
    if (load.entry.slot != kNoSlot) {
      give_back(load.entry.slot);
    }
    report_gone(load.entry, outcome, sink, failed);
  }
  loading_.clear();
  preempted_alone_ = is_stuck_ = false;
  num_ready_ = 0;
  num_ahead_ = 0;
  for (auto* const list : {&abandoned_, &holding_}) {
    for (const SlotIndex index : *list) {
      give_back(index);
      vacate(index);
    }
    list->clear();
  }
}

/// An entry leaves the queue out of its turn.
void Scheduler::leave_queue(const Waiting& entry) {
  for (std::size_t i = 0; i < num_ahead_; ++i) {
    if (waiting_[i] == entry) {
      --num_ahead_;
      break;
    }
  }
  waiting_.erase(entry);
}

}  // namespace ridgeline::engine::vllm::fast
