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
#include "engine/vllm/fast/scheduler_runs.hpp"
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
              .free_unhashed_first = frees_unhashed_first(options),
              .frees_uncached_in_order = options.profile.frees_uncached_in_order,
              .keep_ids = extras.block_ids},
             *this),
      decodes_(options.block_size),
      instance_(extras.instance) {}

bool Scheduler::covers(const EngineOptions& options) {
  const bool by_priority =
      options.policy == SchedulingPolicy::kPriority && options.profile.has_priority_policy;
  // Where requests are passed over for other reasons too, the queues of legs are the plain twin's.
  const bool whole = !options.enable_chunked_prefill && !options.profile.ignores_whole_prompt;
  const bool covers_legs = !options.kv_connector && !options.profile.reverses_passed_over &&
                           !options.profile.has_kv_queue && !whole;
  const bool defers = options.profile.defers_frees && options.kv_consumer;
  return !by_priority && options.num_speculative_tokens == 0 && options.max_loras == 0 &&
         (!options.kv_transfer || covers_legs) && !options.grammars &&
         options.pipeline_depth == 0 && has_one_full_cache(options) && !defers &&
         options.max_num_active_seqs == 0 && options.prefill_schedule_interval <= 1 &&
         !(options.profile.leaves_single_prefill_whole &&
           options.long_prefill_token_threshold > core::Tokens(0));
}

bool Scheduler::schedule(Batch& batch, core::SimTime now, core::SimTime newest_end) {
  load_starts_.clear();
  if (!has_waiting() && decodes_.count() == 0 && prefilling_.empty()) {
    preempted_ = false;
    head_blocked_ = false;
    blocked_budget_ = -1;
    return false;
  }
  RIDGELINE_CHECK(num_batches_ - 1 - last_done_ <= (async_ ? 1 : 0),
                  "scheduler: a batch is formed when there is room in flight");
  batch.number = num_batches_;
  batch.continues_run = false;
  batch.items.clear();
  batch.prefills.clear();
  batch.resumed_decodes.clear();
  preempted_ = false;
  head_blocked_ = false;
  newest_end_ = newest_end;
  passed_over_.clear();
  sampled_.clear();
  budget_ = token_budget(options_).value();
  ends_.advance(last_done_ + 1);
  const std::int64_t wasted = retire_last_tokens();
  if (const Running running = run_decodes(batch, wasted); running == Running::kNotScheduled) {
    schedule_running(batch);
  } else if (running == Running::kBatchComplete) {
    return finish_forming(batch);
  }
  if (!preempted_ && has_waiting()) {
    forming_ = true;
    schedule_waiting(batch, now);
    forming_ = false;
  }
  return finish_forming(batch);
}

/// Called for a request whose last known token is computed in the batch being formed: the next
/// batches decode it.
void Scheduler::begin_decoding(SlotIndex index) {
  Slot& slot = slots_[index];
  const std::int64_t outputs = slot.known - slot.prompt_tokens;
  RIDGELINE_CHECK(slot.status == Status::kPrefilling && slot.computed == slot.known,
                  "slot: a request decodes once all its known tokens are computed");
  const std::int64_t end = num_batches_ + slot.stop_after - outputs - 1;
  slot.base = slot.known - num_batches_ - 1;
  slot.last_skipped_batch = -1;
  slot.batches_skipped = 0;
  slot.begun = num_batches_;
  ends_.add(index, end);
  if (slot.table.single_blocks_until == PrefixCache::kForever) {
    add_single_block_decode(index);
  }
  if (end > num_batches_ || slot.in_extra_batch) {
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
  RIDGELINE_CHECK(budget_ >= 0, "batch: its token budget is kept");
  done_at_forming_ = last_done_;
  ++num_batches_;
  return true;
}

/// Schedules the commonest running list: decodes alone, with a token and a block for each. Does
/// what run_all() would do, or leaves everything as it is. Often that completes the batch, because
/// no request waits that could be admitted.
Scheduler::Running Scheduler::run_decodes(Batch& batch, std::int64_t wasted) {
  const std::int64_t decodes = decodes_.count();
  const std::int64_t blocks = decodes_.blocks_in(num_batches_);
  const bool plain =
      prefilling_.size() + skipped_decodes_.size() + single_block_decodes_.size() == 0 &&
      !keep_decode_lengths_ && !cache_.keeps_ids() && decodes <= budget_ &&
      blocks <= cache_.num_free();
  const bool stays_out =
      plain && decodes > 0 && has_waiting() && blocked_budget_ == budget_ - decodes;
  if (!stays_out) {
    blocked_budget_ = -1;
  }
  if (!plain) {
    return Running::kNotScheduled;
  }
  budget_ -= decodes;
  if (stays_out) {
    head_blocked_ = true;
    head_budget_ = budget_;
    take_blocks_past_head(1, blocks);
  } else {
    cache_.allocate(blocks);
  }
  batch.num_decodes = decodes;
  batch.decode_context = decodes_.context(num_batches_);
  batch.wasted_decodes = wasted;
  return stays_out || !has_waiting() ? Running::kBatchComplete : Running::kScheduled;
}

std::int64_t Scheduler::retire_ending() {
  std::int64_t wasting = 0;
  for (SlotIndex i = ends_.first(num_batches_ - 1); i != kNoSlot; i = ends_.next(i)) {
    Slot& slot = slots_[i];
    if (slot.status != Status::kDecoding) {
      continue;
    }
    if (slot.in_extra_batch) {
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
  return std::max(blocks_for(slot.computed + tokens), slot.least_blocks) -
         std::max(blocks_for(slot.computed), slot.least_blocks);
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
  if (!single_block_decodes_.empty()) {
    enter_single_blocks(true, next_order_);
  }
}

/// Schedules all decodes. If blocks or budget run short, they do so at the end of the running list,
/// where the last prefill stands.
void Scheduler::run_all(Batch& batch, bool everything) {
  const bool has_blocks = everything && cache_.keeps_ids();
  if (has_blocks) {
    take_blocks_in_order();
  }
  std::int64_t blocks = has_blocks ? 0 : decodes_.blocks_in(num_batches_);
  while (true) {
    // Blocks go to requests in running order, and preemption starts at the end of the list: a
    // request that has got its block is not preempted.
    const std::int64_t taken = std::min(blocks, cache_.num_free());
    cache_.allocate(taken);
    blocks -= taken;
    if (blocks == 0) {
      break;
    }
    if (num_running_ == 1 && take_from_loaded(blocks)) {
      continue;
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
    if (missing > cache_.num_free() && !(num_running_ == 1 && take_from_loaded(missing))) {
      preempt(index);
      return;
    }
    cache_.allocate(missing, index);
    budget_ -= tokens;
    if (!single_block_decodes_.empty()) {
      enter_single_blocks(true, slot.order);
    }
    put(batch, index, tokens);
    // A chunk that samples completed its prompt, and its request has left the list.
    i += slot.computed < slot.known ? std::size_t{1} : std::size_t{0};
  }
}

/// With ids and blocks for all requests, blocks are taken one request after the other, in running
/// order.
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

/// Assigns the blocks just taken to the decodes, in running order.
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
  batch.wasted_decodes = 0;
  if (async_ && num_batches_ > 0) {
    for (SlotIndex i = ends_.first(num_batches_ - 1); i != kNoSlot; i = ends_.next(i)) {
      batch.wasted_decodes += slots_[i].status == Status::kDecoding ? 1 : 0;
    }
  }
  if (!skipped_decodes_.empty()) {
    resume_skipped(batch);
  }
  if (keep_decode_lengths_) {
    list_decode_lengths(batch);
  }
}

/// Lists the length of every decode, in running order. The running list is followed only where the
/// decodes are not those of the last time.
void Scheduler::list_decode_lengths(Batch& batch) {
  if (listed_changes_ != decodes_.changes()) {
    listed_changes_ = decodes_.changes();
    decode_bases_.clear();
    for (SlotIndex i = first_running_; i != kNoSlot; i = slots_[i].next) {
      if (slots_[i].status == Status::kDecoding) {
        decode_bases_.push_back(slots_[i].base);
      }
    }
  }
  batch.decode_lengths.resize(decode_bases_.size());
  std::ranges::transform(decode_bases_, batch.decode_lengths.begin(), [this](std::int64_t base) {
    return core::Tokens(base + num_batches_);
  });
}

/// Decodes that the newest batch skipped have a token again: their gap is longer than the others'.
void Scheduler::resume_skipped(Batch& batch) {
  for (const SlotIndex index : skipped_decodes_) {
    const Slot& slot = slots_[index];
    if (slot.status == Status::kDecoding && slot.last_skipped_batch + 1 == num_batches_) {
      batch.resumed_decodes.push_back({.slot = index, .last_token = slot.last_token});
    }
  }
  skipped_decodes_.clear();
}

/// Schedules one request after the other, in running order, as the plain twin does. Needed where
/// budget or blocks do not suffice for all.
void Scheduler::run_in_order(Batch& batch) {
  batch.num_decodes = 0;
  batch.wasted_decodes = 0;
  std::int64_t context = 0;
  batch.decode_lengths.clear();
  skipped_decodes_.clear();
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
      batch.wasted_decodes += wasted ? 1 : 0;
      if (slot.last_skipped_batch >= 0 && slot.last_skipped_batch + 1 == num_batches_) {
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
      if (!single_block_decodes_.empty()) {
        enter_single_blocks(true, slot.order);
      }
      put(batch, index, tokens);
    }
    index = slots_[index].next;
  }
  batch.decode_context = core::Tokens(context);
  for (; index != kNoSlot; index = slots_[index].next) {
    if (slots_[index].status == Status::kDecoding) {
      skip_decode(slots_[index], index);
    }
  }
  RIDGELINE_CHECK(batch.num_decodes + std::ssize(skipped_decodes_.span()) == decodes_.count(),
                  "batch: each decode of the set has a token or none of the budget");
}

/// Takes blocks for a running request, and preempts requests from the end of the list until there
/// are enough. Returns false if the request itself was preempted.
bool Scheduler::make_room(SlotIndex index, std::int64_t blocks) {
  while (blocks > cache_.num_free()) {
    const SlotIndex victim = last_running_;
    if (num_running_ == 1 && take_from_loaded(blocks)) {
      break;
    }
    preempt(victim);
    if (victim == index) {
      return false;
    }
  }
  cache_.allocate(blocks, index);
  return true;
}

/// The budget had no token left for this decode: all its later tokens come one batch later.
void Scheduler::skip_decode(Slot& slot, SlotIndex index) {
  const std::int64_t end = ends_.batch_of(index);
  if (end + 1 == num_batches_) {
    stop_decoding(slot, Status::kLeaving);  // The batch would only have computed its wasted token.
    return;
  }
  if (slot.last_skipped_batch < 0 || slot.last_skipped_batch + 1 != num_batches_) {
    slot.last_token = num_batches_ - 1 > last_done_ ? newest_end_ : last_end_;
    slot.batches_skipped = 0;
  }
  ++slot.batches_skipped;
  slot.last_skipped_batch = num_batches_;
  decodes_.remove(slot.base);
  --slot.base;
  decodes_.add(slot.base);
  ends_.remove(index);
  ends_.add(index, end + 1);
  skipped_decodes_.push_back(index);
}

/// Keeps single_block_decodes_ in running order.
void Scheduler::add_single_block_decode(SlotIndex index) {
  single_block_decodes_.push_back(index);
  for (std::size_t i = single_block_decodes_.size() - 1;
       i > 0 && slots_[single_block_decodes_[i]].order < slots_[single_block_decodes_[i - 1]].order;
       --i) {
    std::swap(single_block_decodes_[i], single_block_decodes_[i - 1]);
  }
}

/// Enters the blocks of decodes with single blocks that stand before the place `before` in running
/// order. Where two requests compute the same block, the one first in running order enters the
/// older copy.
void Scheduler::enter_single_blocks(bool in_batch, std::int64_t before) {
  forming_ = in_batch;
  for (const SlotIndex index : single_block_decodes_) {
    if (slots_[index].order >= before) {
      break;
    }
    cache_.set_keyed(slots_[index].table, index, keyed_blocks(index));
  }
  forming_ = false;
}

/// The order does not matter: answers differ, so that two decodes never fill equal blocks. (A
/// prefill of a prompt that repeats an answer can, but a run has no prefill.)
void Scheduler::enter_all_single_blocks() {
  for (const SlotIndex index : single_block_decodes_) {
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
  const std::int64_t blocks = blocks_of(slot, index);
  const std::int64_t keyed = keyed_blocks(index);
  if (decodes_or_leaves(slot)) {
    const std::int64_t newest = num_batches_ - 1;
    const std::int64_t end = ends_.batch_of(index);
    const bool pending = newest > last_done_ && slot.last_skipped_batch != newest;
    slot.known = known_tokens(slot);
    if (last_done_ >= slot.begun &&
        (slot.last_skipped_batch < last_done_ || slot.last_skipped_batch < 0)) {
      slot.last_token = last_end_;
    }
    if (pending) {
      preempted_in_flight_.push_back(index);
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
  single_block_decodes_.erase(index);
  release(index, blocks, keyed, true);
  unlink(index);
  slot.status = Status::kPreempted;
  slot.computed = 0;
  slot.least_blocks = 0;
  ++slot.record.preemptions;
  ++num_preemptions_;
  preempted_ = true;
  waiting_.push_front(Waiting::preempted(index));
  num_ahead_ += options_.profile.has_skipped_queue ? 0 : 1;
}

}  // namespace ridgeline::engine::vllm::fast
