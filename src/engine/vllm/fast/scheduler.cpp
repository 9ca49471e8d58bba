#include "engine/vllm/fast/scheduler.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>

#include "core/check.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "engine/options.hpp"
#include "engine/vllm/fast/prefix_cache.hpp"
#include "engine/vllm/fast/slot.hpp"

namespace ridgeline::engine::vllm::fast {

Scheduler::Scheduler(const EngineOptions& options, Extras extras)
    : options_(options),
      block_size_(options.block_size),
      watermark_blocks_(static_cast<std::int64_t>(
          options.profile.has_watermark
              ? std::floor(options.profile.watermark *
                           static_cast<double>(options.num_gpu_blocks.value()))
              : 0.0)),
      async_(options.async_scheduling),
      look_ahead_(options.async_scheduling && options.profile.async_skips_last_token),
      whole_prompts_(!options.enable_chunked_prefill && !options.profile.ignores_whole_prompt),
      length_cap_(options.max_model_len.value() -
                  (options.profile.keeps_last_position_free ? 1 : 0)),
      keep_decode_lengths_(extras.decode_lengths),
      cache_({.num_gpu_blocks = options.num_gpu_blocks,
              .block_size = options.block_size,
              .enable_prefix_caching = options.enable_prefix_caching,
              .free_unhashed_first = options.profile.free_unhashed_first,
              .frees_uncached_in_order = options.profile.frees_uncached_in_order,
              .keep_ids = extras.block_ids},
             *this),
      decodes_(options.block_size) {}

bool Scheduler::covers(const EngineOptions& options) {
  const bool by_priority =
      options.policy == SchedulingPolicy::kPriority && options.profile.has_priority_policy;
  return !by_priority && options.num_speculative_tokens == 0 && options.max_loras == 0 &&
         !options.kv_transfer && options.pipeline_depth == 0 && has_one_full_cache(options);
}

bool Scheduler::schedule(Batch& batch, core::SimTime now, core::SimTime newest_end) {
  if (waiting_.empty() && decodes_.count() == 0 && prefilling_.empty()) {
    preempted_ = false;
    head_blocked_ = false;
    blocked_budget_ = -1;
    return false;
  }
  RIDGELINE_CHECK(num_batches_ - 1 - last_done_ <= (async_ ? 1 : 0),
                  "scheduler: a batch is formed when there is room in flight");
  batch.number = num_batches_;
  batch.goes_on = false;
  batch.items.clear();
  batch.prefills.clear();
  batch.resumed_decodes.clear();
  preempted_ = false;
  head_blocked_ = false;
  newest_end_ = newest_end;
  passed_over_.clear();
  sampled_.clear();
  budget_ = options_.max_num_batched_tokens.value();
  ends_.advance(last_done_ + 1);
  const std::int64_t wasted = retire_last_tokens();
  if (const Running running = run_decodes(batch, wasted); running == Running::kOrdinary) {
    schedule_running(batch);
  } else if (running == Running::kAll) {
    return finish_forming(batch);
  }
  if (!preempted_ && !waiting_.empty()) {
    forming_ = true;
    schedule_waiting(batch, now);
    forming_ = false;
  }
  return finish_forming(batch);
}

/// The batch being formed computes its last known token, so that the next ones decode it.
void Scheduler::begin_decoding(SlotIndex index) {
  Slot& slot = slots_[index];
  const std::int64_t outputs = slot.known - slot.prompt_tokens;
  RIDGELINE_CHECK(slot.status == Status::kPrefilling && slot.computed == slot.known,
                  "slot: a request decodes once all its known tokens are computed");
  RIDGELINE_CHECK(outputs >= 0 && outputs < slot.stop_after,
                  "slot: a request that begins to decode has tokens to come");
  const std::int64_t end = num_batches_ + slot.stop_after - outputs - 1;
  slot.base = slot.known - num_batches_ - 1;
  slot.starved_at = -1;
  slot.starved_run = 0;
  slot.begun = num_batches_;
  ends_.add(index, end);
  if (slot.table.single_until == PrefixCache::kForever) {
    add_eager(index);
  }
  if (end > num_batches_ || slot.wastes) {
    slot.status = Status::kDecoding;
    decodes_.add(slot.base);
  } else {
    slot.status = Status::kLeaving;
  }
}

bool Scheduler::finish_forming(Batch& batch) {
  if (batch.items.empty() && batch.num_decodes == 0) {
    return false;
  }
  batch.shared_context = shared_context();
  for (const SlotIndex index : sampled_) {
    begin_decoding(index);
  }
  RIDGELINE_CHECK(budget_ >= 0, "batch: max_num_batched_tokens is kept");
  RIDGELINE_CHECK(decodes_.count() + std::ssize(prefilling_.span()) <= num_running_,
                  "scheduler: decodes and prefills are running requests");
  done_at_forming_ = last_done_;
  ++num_batches_;
  return true;
}

/// The commonest running list: nobody but decodes, with a token and a block for each of them. Takes
/// those, as the rest would, or leaves everything as it is. Often that is all, as nobody waits who
/// could come in.
Scheduler::Running Scheduler::run_decodes(Batch& batch, std::int64_t wasted) {
  const std::int64_t decodes = decodes_.count();
  const std::int64_t blocks = decodes_.blocks_in(num_batches_);
  const bool plain = prefilling_.size() + starved_.size() + eager_.size() == 0 &&
                     !keep_decode_lengths_ && !cache_.keeps_ids() && decodes <= budget_ &&
                     blocks <= cache_.num_free();
  const bool stays_out =
      plain && decodes > 0 && !waiting_.empty() && blocked_budget_ == budget_ - decodes;
  if (!stays_out) {
    blocked_budget_ = -1;
  }
  if (!plain) {
    return Running::kOrdinary;
  }
  budget_ -= decodes;
  if (stays_out) {
    head_blocked_ = true;
    tried_budget_ = budget_;
    take_blocks_past_head(1, blocks);
  } else {
    cache_.allocate(blocks);
  }
  batch.num_decodes = decodes;
  batch.decode_context = decodes_.context(num_batches_);
  batch.wasted = wasted;
  return stays_out || waiting_.empty() ? Running::kAll : Running::kTaken;
}

std::int64_t Scheduler::retire_ending() {
  std::int64_t wasting = 0;
  for (SlotIndex i = ends_.first(num_batches_ - 1); i != kNoSlot; i = ends_.next(i)) {
    Slot& slot = slots_[i];
    if (slot.status != Status::kDecoding) {
      continue;
    }
    if (slot.wastes) {
      ++wasting;
    } else {
      stop_decoding(slot, Status::kLeaving);
    }
  }
  return wasting;
}

std::int64_t Scheduler::wanted_tokens(const Slot& slot) const {
  std::int64_t tokens = slot.known - slot.computed;
  if (const std::int64_t threshold = options_.long_prefill_token_threshold.value(); threshold > 0) {
    tokens = std::min(tokens, threshold);
  }
  return std::min(tokens, length_cap_ - slot.computed);
}

std::int64_t Scheduler::blocks_to_compute(const Slot& slot, std::int64_t tokens) const {
  return blocks_for(slot.computed + tokens) - blocks_for(slot.computed);
}

void Scheduler::schedule_running(Batch& batch) {
  std::int64_t tokens = decodes_.count();
  std::int64_t blocks = decodes_.blocks_in(num_batches_);
  for (const SlotIndex index : prefilling_) {
    const Slot& slot = slots_[index];
    const std::int64_t wanted = wanted_tokens(slot);
    tokens += wanted;
    blocks += blocks_to_compute(slot, wanted);
  }
  const bool everything = tokens <= budget_ && blocks <= cache_.num_free();
  const bool at_most_the_last_prefills =
      prefilling_.empty() || (prefilling_.size() == 1 && prefilling_.front() == last_running_);
  if (everything || (at_most_the_last_prefills && decodes_.count() < budget_)) {
    run_all(batch, everything);
  } else {
    run_in_order(batch);
  }
  if (!eager_.empty()) {
    key_singles(true, next_order_);
  }
}

/// All decodes get their token; what is short of blocks or budget is short at the end of the
/// running list, where the last prefill stands.
void Scheduler::run_all(Batch& batch, bool everything) {
  const bool has_blocks = everything && cache_.keeps_ids();
  if (has_blocks) {
    take_blocks_in_order();
  }
  std::int64_t blocks = has_blocks ? 0 : decodes_.blocks_in(num_batches_);
  while (true) {
    // Blocks go to the requests in running order, so those that are served are never given up.
    const std::int64_t taken = std::min(blocks, cache_.num_free());
    cache_.allocate(taken);
    blocks -= taken;
    if (blocks == 0) {
      break;
    }
    const Slot& victim = slots_[last_running_];
    blocks -= victim.status == Status::kDecoding && decodes_.begins_block(victim.base, num_batches_)
                  ? 1
                  : 0;
    preempt(last_running_);
  }
  if (cache_.keeps_ids() && !has_blocks) {
    name_decode_blocks();
  }
  count_decodes(batch);
  budget_ -= batch.num_decodes;
  for (std::size_t i = 0; i < prefilling_.size();) {
    const SlotIndex index = prefilling_[i];
    Slot& slot = slots_[index];
    const std::int64_t tokens = std::min(wanted_tokens(slot), budget_);
    const std::int64_t missing = has_blocks ? 0 : blocks_to_compute(slot, tokens);
    if (missing > cache_.num_free()) {
      preempt(index);
      return;
    }
    cache_.allocate(missing, index);
    budget_ -= tokens;
    if (!eager_.empty()) {
      key_singles(true, slot.order);
    }
    put(batch, index, tokens);
    // A chunk that samples was the last one and has left the list.
    i += slot.computed < slot.known ? std::size_t{1} : std::size_t{0};
  }
}

/// Where there are blocks for all, who stands before whom says which are whose.
void Scheduler::take_blocks_in_order() {
  for (SlotIndex i = first_running_; i != kNoSlot; i = slots_[i].next) {
    const Slot& slot = slots_[i];
    if (slot.status == Status::kDecoding) {
      cache_.allocate(decodes_.begins_block(slot.base, num_batches_) ? 1 : 0, i);
    } else if (slot.status == Status::kPrefilling) {
      cache_.allocate(blocks_to_compute(slot, wanted_tokens(slot)), i);
    }
  }
}

/// The blocks just taken for decodes are theirs in running order.
void Scheduler::name_decode_blocks() {
  for (SlotIndex i = first_running_; i != kNoSlot; i = slots_[i].next) {
    const Slot& slot = slots_[i];
    if (slot.status == Status::kDecoding && decodes_.begins_block(slot.base, num_batches_)) {
      cache_.give(i, 1);
    }
  }
}

void Scheduler::count_decodes(Batch& batch) {
  batch.num_decodes = decodes_.count();
  batch.decode_context = decodes_.context(num_batches_);
  batch.wasted = 0;
  if (async_ && num_batches_ > 0) {
    for (SlotIndex i = ends_.first(num_batches_ - 1); i != kNoSlot; i = ends_.next(i)) {
      batch.wasted += slots_[i].status == Status::kDecoding ? 1 : 0;
    }
  }
  if (!starved_.empty()) {
    resume_starved(batch);
  }
  if (keep_decode_lengths_) {
    batch.decode_lengths.clear();
    for (SlotIndex i = first_running_; i != kNoSlot; i = slots_[i].next) {
      if (slots_[i].status == Status::kDecoding) {
        batch.decode_lengths.push_back(core::Tokens(slots_[i].base + num_batches_));
      }
    }
  }
}

/// Those that had no token in the newest batch have one now: their gap is longer than the others'.
void Scheduler::resume_starved(Batch& batch) {
  for (const SlotIndex index : starved_) {
    const Slot& slot = slots_[index];
    if (slot.status == Status::kDecoding && slot.starved_at + 1 == num_batches_) {
      batch.resumed_decodes.push_back({.slot = index, .last_token = slot.last_token});
    }
  }
  starved_.clear();
}

/// One request after the other, as the specification has it: where the budget or the blocks do not
/// reach for all.
void Scheduler::run_in_order(Batch& batch) {
  batch.num_decodes = 0;
  batch.wasted = 0;
  std::int64_t context = 0;
  batch.decode_lengths.clear();
  starved_.clear();
  SlotIndex index = first_running_;
  for (; index != kNoSlot && budget_ > 0;) {
    Slot& slot = slots_[index];
    if (slot.status == Status::kDecoding) {
      if (!make_room(index, decodes_.begins_block(slot.base, num_batches_) ? 1 : 0)) {
        index = kNoSlot;
        break;
      }
      ++batch.num_decodes;
      context += slot.base + num_batches_;
      const bool wasted = ends_.batch_of(index) + 1 == num_batches_;
      batch.wasted += wasted ? 1 : 0;
      if (slot.starved_at >= 0 && slot.starved_at + 1 == num_batches_) {
        batch.resumed_decodes.push_back({.slot = index, .last_token = slot.last_token});
      }
      if (keep_decode_lengths_) {
        batch.decode_lengths.push_back(core::Tokens(slot.base + num_batches_));
      }
      --budget_;
    } else if (slot.status == Status::kPrefilling) {
      const std::int64_t tokens = std::min(wanted_tokens(slot), budget_);
      if (!make_room(index, blocks_to_compute(slot, tokens))) {
        index = kNoSlot;
        break;
      }
      budget_ -= tokens;
      if (!eager_.empty()) {
        key_singles(true, slot.order);
      }
      put(batch, index, tokens);
    }
    index = slots_[index].next;
  }
  batch.decode_context = core::Tokens(context);
  for (; index != kNoSlot; index = slots_[index].next) {
    if (slots_[index].status == Status::kDecoding) {
      starve(slots_[index], index);
    }
  }
  RIDGELINE_CHECK(batch.num_decodes + std::ssize(starved_.span()) == decodes_.count(),
                  "batch: each decode of the set has a token or none of the budget");
}

/// Takes blocks for a running request, preempting the last ones until there are enough; false if it
/// had to go itself.
bool Scheduler::make_room(SlotIndex index, std::int64_t blocks) {
  while (blocks > cache_.num_free()) {
    const SlotIndex victim = last_running_;
    preempt(victim);
    if (victim == index) {
      return false;
    }
  }
  cache_.allocate(blocks, index);
  return true;
}

/// No budget was left for its token: everything of it happens one batch later.
void Scheduler::starve(Slot& slot, SlotIndex index) {
  const std::int64_t end = ends_.batch_of(index);
  if (end + 1 == num_batches_) {
    stop_decoding(slot, Status::kLeaving);  // Only its wasted token was to come.
    return;
  }
  if (slot.starved_at < 0 || slot.starved_at + 1 != num_batches_) {
    slot.last_token = num_batches_ - 1 > last_done_ ? newest_end_ : last_end_;
    slot.starved_run = 0;
  }
  ++slot.starved_run;
  slot.starved_at = num_batches_;
  decodes_.remove(slot.base);
  --slot.base;
  decodes_.add(slot.base);
  ends_.remove(index);
  ends_.add(index, end + 1);
  starved_.push_back(index);
}

/// Eager requests stand in running order.
void Scheduler::add_eager(SlotIndex index) {
  eager_.push_back(index);
  for (std::size_t i = eager_.size() - 1;
       i > 0 && slots_[eager_[i]].order < slots_[eager_[i - 1]].order;
       --i) {
    std::swap(eager_[i], eager_[i - 1]);
  }
}

/// Of those before a place in running order: who stands before whom says whose block is the older
/// one where two get the same.
void Scheduler::key_singles(bool in_batch, std::int64_t before) {
  forming_ = in_batch;
  for (const SlotIndex index : eager_) {
    if (slots_[index].order >= before) {
      break;
    }
    cache_.set_keyed(slots_[index].table, index, keyed_blocks(index));
  }
  forming_ = false;
}

/// In any order: an answer is nobody else's, so that two who decode never fill equal blocks. (Who
/// computes a prompt with that answer in it does, but not during a run.)
void Scheduler::enter_singles_of_run() {
  for (const SlotIndex index : eager_) {
    cache_.set_keyed(slots_[index].table, index, keyed_so_far(index));
  }
}

void Scheduler::stop_decoding(Slot& slot, Status next) {
  RIDGELINE_CHECK(slot.status == Status::kDecoding, "slot: a request stops decoding that decodes");
  decodes_.remove(slot.base);
  slot.status = next;
}

void Scheduler::preempt(SlotIndex index) {
  RIDGELINE_CHECK(index != kNoSlot && index == last_running_,
                  "scheduler: the request admitted last is preempted");
  Slot& slot = slots_[index];
  const std::int64_t blocks = blocks_for(computed_tokens(slot, index));
  const std::int64_t keyed = keyed_blocks(index);
  if (decodes_or_leaves(slot)) {
    const std::int64_t newest = num_batches_ - 1;
    const std::int64_t end = ends_.batch_of(index);
    const bool pending = newest > last_done_ && slot.starved_at != newest;
    slot.known = known_tokens(slot);
    if (last_done_ >= slot.begun && (slot.starved_at < last_done_ || slot.starved_at < 0)) {
      slot.last_token = last_end_;
    }
    if (pending) {
      late_.push_back(index);
    }
    if (!pending || end > newest) {
      ends_.remove(index);
    }
    if (slot.status == Status::kDecoding) {
      decodes_.remove(slot.base);
    }
  } else {
    prefilling_.erase(index);
  }
  eager_.erase(index);
  release(index, blocks, keyed, true);
  unlink(index);
  slot.status = Status::kPreempted;
  slot.computed = 0;
  ++slot.record.preemptions;
  ++num_preemptions_;
  preempted_ = true;
  waiting_.push_front(Waiting::preempted(index));
}

}  // namespace ridgeline::engine::vllm::fast
