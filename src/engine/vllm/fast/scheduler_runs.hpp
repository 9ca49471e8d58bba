#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/check.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "engine/options.hpp"
#include "engine/vllm/fast/finish_ring.hpp"
#include "engine/vllm/fast/prefix_cache.hpp"
#include "engine/vllm/fast/scheduler.hpp"
#include "engine/vllm/fast/slot.hpp"

namespace ridgeline::engine::vllm::fast {

// Functions that every run of batches calls; inline for speed.

inline void Scheduler::report_gaps(const Batch& batch,
                                   core::SimTime now,
                                   domain::RecordSink& sink) const {
  const auto resumed = static_cast<std::int64_t>(batch.resumed_decodes.size());
  RIDGELINE_CHECK(batch.wasted_decodes >= 0 && batch.wasted_decodes + resumed <= batch.num_decodes,
                  "batch: tokens with gaps of their own, and wasted ones, are among its decodes");
  if (const std::int64_t regular = batch.num_decodes - batch.wasted_decodes - resumed;
      regular > 0) {
    sink.on_token_gaps({.gap = now - last_end_, .growth = {}, .count = 1, .requests = regular});
  }
}

inline std::int64_t Scheduler::update(const Batch& batch,
                                      core::SimTime now,
                                      domain::RecordSink& sink) {
  RIDGELINE_CHECK(batch.number == last_done_ + 1 && batch.number < num_batches_,
                  "scheduler: batches end in the order in which they were formed");
  if (batch.items.size() + batch.resumed_decodes.size() + preempted_in_flight_.size() != 0) {
    report_tokens(batch, now, sink);
  }
  if (preempted_alone_) [[unlikely]] {
    end_stuck(batch);
  }
  last_done_ = batch.number;
  last_end_ = now;
  if (async_ && !single_block_decodes_.empty()) {
    enter_single_blocks(false, next_order_);
  }
  const SlotIndex first = ends_.first(batch.number);
  if (first == kNoSlot) {
    return 0;
  }
  return finish_ending(first, sink);
}

/// Whether batches that leave `budget` tokens to the queue admit no request.
inline bool Scheduler::waiting_stays_out(std::int64_t budget) const {
  if (!has_waiting() || num_running_ >= options_.max_num_seqs || budget == 0) {
    return true;
  }
  if (blocked_budget_ == budget) {
    return true;
  }
  // The head was tried and did not fit, and nothing can change that: free blocks only get fewer;
  // the blocks that it found are in use, so that they are not evicted; and no request computes the
  // block that it did not find.
  return head_blocked_ && head_budget_ == budget && match_.free_blocks == 0 &&
         match_.growing_elsewhere == PrefixCache::kNone;
}

/// Whether no running request but the decodes has a token in the next batch.
inline bool Scheduler::only_decodes() const {
  // With an empty queue no request looks blocks up, so that single blocks can be entered after a
  // run.
  const std::size_t special =
      prefilling_.size() + preempted_in_flight_.size() + skipped_decodes_.size() +
      (has_waiting() ? single_block_decodes_.size() : 0) + passed_over_.size();
  return special == 0 && !keep_decode_lengths_ && !cache_.keeps_ids();
}

/// Whether the decodes have a token each in the next batch, and no request is admitted.
inline bool Scheduler::decodes_repeat() const {
  const std::int64_t decodes = decodes_.count();
  const std::int64_t budget = token_budget(options_).value() - decodes;
  return decodes > 0 && budget >= 0 && waiting_stays_out(budget);
}

inline bool Scheduler::takes_whole_prompt_within(std::int64_t batches,
                                                 const domain::Request& request) const {
  const std::int64_t prompt = request.prompt_tokens.value();
  const std::int64_t budget = token_budget(options_).value() - decodes_.count();
  const std::int64_t threshold = options_.long_prefill_token_threshold.value();
  const std::int64_t blocks = blocks_for(prompt) + decodes_.count() * batches;  // At most.
  const bool is_own = request.prompt.empty() && !cache_.prompts_quote_requests();
  return is_own && options_.enable_prefix_caching && decodes_.count() > 0 && only_decodes() &&
         !has_waiting() && loading_.empty() && !is_stuck_ && num_running_ < options_.max_num_seqs &&
         prompt <= budget && (threshold == 0 || prompt <= threshold) &&
         blocks <= admissible_blocks();
}

inline std::int64_t Scheduler::batches_to_change() {
  const std::int64_t oldest = last_done_ + 1;
  ends_.advance(oldest);
  if (!only_decodes() || retire_last_tokens() != 0 || !decodes_repeat()) {
    return 0;
  }
  // A request that ends with the batch in flight frees its seat and blocks, and changes the shared
  // context.
  if ((has_waiting() || num_shared_blocks_ != 0) && oldest < num_batches_ &&
      request_ends_in(oldest)) {
    return 1;
  }
  return ends_.next_end(num_batches_) - num_batches_ + 1;
}

inline std::int64_t Scheduler::batches_to_next_end() const {
  for (std::int64_t batch = last_done_ + 1; batch < num_batches_; ++batch) {
    if (request_ends_in(batch)) {
      return 0;
    }
  }
  if (!only_decodes() || !decodes_repeat() || !ends_.reaches(num_batches_)) {
    return 0;
  }
  return ends_.next_end(num_batches_) - num_batches_ + 1;
}

}  // namespace ridgeline::engine::vllm::fast
