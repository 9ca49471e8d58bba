#include "engine/reference/scheduler.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "engine/reference/content.hpp"
#include "engine/reference/kv_cache.hpp"

namespace ridgeline::engine::reference {

Sequence::Sequence(const domain::Request& request, core::Tokens max_model_len)
    : tokens(request), num_prompt_tokens(request.prompt_tokens.value()) {
  const std::int64_t room = max_model_len.value() - num_prompt_tokens;
  max_output_tokens = std::min(request.max_tokens.value(), room);
  stop_after = std::min(request.output_tokens.value(), max_output_tokens);
  if (room < std::min(request.output_tokens.value(), request.max_tokens.value())) {
    outcome_at_stop = domain::Outcome::kLengthCapped;
  }
  record.id = request.id;
  record.arrival = request.arrival;
  record.prompt_tokens = request.prompt_tokens;
}

Scheduler::Scheduler(const EngineOptions& options)
    : options_(options),
      kv_({.num_gpu_blocks = options.num_gpu_blocks,
           .enable_prefix_caching = options.enable_prefix_caching,
           .free_unhashed_first = options.profile.free_unhashed_first}) {}

void Scheduler::add(std::shared_ptr<Sequence> sequence) { waiting_.push_back(std::move(sequence)); }

bool Scheduler::can_ever_run(const Sequence& sequence) const {
  return sequence.max_output_tokens >= 1 &&
         blocks_for(sequence.num_prompt_tokens + sequence.max_output_tokens) <= kv_.num_usable();
}

ScheduledStep Scheduler::schedule() {
  ScheduledStep step;
  std::int64_t budget = options_.max_num_batched_tokens.value();
  preempted_ = false;
  schedule_running(step, budget);
  if (!preempted_) {
    schedule_waiting(step, budget);
  }
  advance_computed(step);
  return step;
}

void Scheduler::schedule_running(ScheduledStep& step, std::int64_t& budget) {
  const bool look_ahead = options_.async_scheduling && options_.profile.async_skips_last_token;
  for (std::size_t i = 0; i < running_.size() && budget > 0; ++i) {
    const std::shared_ptr<Sequence> sequence = running_[i];
    if (look_ahead && sequence->num_placeholders > 0 &&
        sequence->num_output_tokens + sequence->num_placeholders >= sequence->max_output_tokens) {
      continue;  // Its last permitted token is in flight.
    }
    std::int64_t tokens =
        sequence->num_tokens() + sequence->num_placeholders - sequence->num_computed_tokens;
    const std::int64_t threshold = options_.long_prefill_token_threshold.value();
    if (threshold > 0) {
      tokens = std::min(tokens, threshold);
    }
    tokens = std::min({tokens, budget, options_.max_model_len.value() - 1 - sequence->num_computed_tokens});
    if (tokens <= 0) {
      continue;  // Everything of it is in flight; younger requests may overtake.
    }
    bool extended = extend(*sequence, tokens);
    while (!extended && running_.back() != sequence) {
      preempt_last();
      extended = extend(*sequence, tokens);
    }
    if (!extended) {
      preempt_last();
      return;
    }
    budget -= tokens;
    record_scheduled(step, sequence, tokens);
  }
}

void Scheduler::schedule_waiting(ScheduledStep& step, std::int64_t& budget) {
  while (!waiting_.empty() && budget > 0 && num_running() < options_.max_num_seqs) {
    if (!admit_head(step, budget)) {
      return;  // Nothing behind a request that does not fit is tried.
    }
  }
}

bool Scheduler::admit_head(ScheduledStep& step, std::int64_t& budget) {
  const std::shared_ptr<Sequence> sequence = waiting_.front();
  const std::int64_t known = sequence->num_tokens();
  const std::int64_t block_size = options_.block_size.value();
  std::vector<core::BlockId> hit;
  if (options_.enable_prefix_caching) {
    // At least one token is computed, or there would be no logits to sample from.
    extend_hash_chain(*sequence);
    std::vector<std::uint64_t> usable = sequence->block_hashes;
    usable.resize(std::min(usable.size(), static_cast<std::size_t>((known - 1) / block_size)));
    hit = kv_.lookup(usable);
  }
  const std::int64_t cached = static_cast<std::int64_t>(hit.size()) * block_size;
  const auto count_lookup = [&] {
    if (options_.enable_prefix_caching && sequence->status != Status::kPreempted) {
      prefix_queries_ += known;
      prefix_hits_ += cached;
    }
  };
  if (options_.profile.prefix_stats_per_lookup) {
    count_lookup();
  }

  std::int64_t tokens = known - cached;
  if (options_.long_prefill_token_threshold.value() > 0) {
    tokens = std::min(tokens, options_.long_prefill_token_threshold.value());
  }
  if (!options_.enable_chunked_prefill && tokens > budget) {
    return false;
  }
  tokens = std::min(tokens, budget);

  const std::int64_t taken = static_cast<std::int64_t>(hit.size());
  const std::int64_t unheld = kv_.num_unheld(hit);
  const auto blocks_needed = [&](std::int64_t up_to) { return blocks_for(up_to) - taken + unheld; };
  const auto share = options_.profile.watermark * static_cast<double>(options_.num_gpu_blocks.value());
  const std::int64_t watermark = running_.empty() ? 0 : static_cast<std::int64_t>(std::floor(share));
  if (options_.profile.reserve_full_prompt && blocks_needed(known) + watermark > kv_.num_free()) {
    return false;
  }
  if (blocks_needed(cached + tokens) + watermark > kv_.num_free()) {
    return false;
  }
  if (!options_.profile.prefix_stats_per_lookup) {
    count_lookup();
  }

  waiting_.pop_front();
  kv_.touch(hit);
  sequence->blocks = std::move(hit);
  sequence->num_hashed_blocks = taken;
  sequence->num_computed_tokens = cached;
  sequence->prefill_end = known;
  if (sequence->status == Status::kWaiting) {
    sequence->record.cached_tokens = core::Tokens(std::min(cached, sequence->num_prompt_tokens));
  }
  sequence->status = Status::kRunning;
  RIDGELINE_CHECK(extend(*sequence, tokens), "admission counted too few blocks");
  running_.push_back(sequence);
  budget -= tokens;
  record_scheduled(step, sequence, tokens);
  return true;
}

void Scheduler::preempt_last() {
  const std::shared_ptr<Sequence> victim = running_.back();
  running_.pop_back();
  free(*victim);
  victim->status = Status::kPreempted;
  victim->num_computed_tokens = 0;
  ++victim->record.preemptions;
  ++num_preemptions_;
  preempted_ = true;
  waiting_.push_front(victim);
}

void Scheduler::record_scheduled(ScheduledStep& step,
                                 const std::shared_ptr<Sequence>& sequence,
                                 std::int64_t tokens) {
  const std::int64_t before = sequence->num_computed_tokens;
  const std::int64_t known = sequence->num_tokens() + sequence->num_placeholders;
  step.push_back({.sequence = sequence,
                  .num_computed_tokens = before,
                  .num_scheduled_tokens = tokens,
                  .is_prefill = before < sequence->prefill_end,
                  .samples = before + tokens >= known});
}

void Scheduler::advance_computed(ScheduledStep& step) {
  // Before the step has run: the next call can already go on from here.
  for (const ScheduledSequence& scheduled : step) {
    scheduled.sequence->num_computed_tokens += scheduled.num_scheduled_tokens;
    if (options_.async_scheduling && scheduled.samples) {
      ++scheduled.sequence->num_placeholders;
    }
  }
}

std::vector<std::shared_ptr<Sequence>> Scheduler::update(const ScheduledStep& step) {
  std::vector<std::shared_ptr<Sequence>> finished;
  for (const ScheduledSequence& scheduled : step) {
    const std::shared_ptr<Sequence>& sequence = scheduled.sequence;
    if (sequence->status == Status::kFinished || !scheduled.samples) {
      continue;  // A token after the end is thrown away; an unfinished prefill has none.
    }
    ++sequence->num_output_tokens;
    if (options_.async_scheduling) {
      --sequence->num_placeholders;
      if (sequence->status == Status::kRunning) {
        hash_full_blocks(*sequence, sequence->num_computed_tokens - sequence->num_placeholders);
      }
    }
    if (sequence->num_output_tokens >= sequence->stop_after) {
      if (sequence->status == Status::kRunning) {
        std::erase(running_, sequence);
      } else {
        std::erase(waiting_, sequence);
      }
      free(*sequence);
      sequence->status = Status::kFinished;
      sequence->record.outcome = sequence->outcome_at_stop;
      finished.push_back(sequence);
    }
  }
  return finished;
}

std::vector<std::shared_ptr<Sequence>> Scheduler::drain() {
  std::vector<std::shared_ptr<Sequence>> all(running_.begin(), running_.end());
  all.insert(all.end(), waiting_.begin(), waiting_.end());
  for (const auto& sequence : all) {
    free(*sequence);
    sequence->status = Status::kFinished;
  }
  running_.clear();
  waiting_.clear();
  return all;
}

std::int64_t Scheduler::blocks_for(std::int64_t tokens) const {
  return core::ceil_div(core::Tokens(tokens), options_.block_size);
}

bool Scheduler::extend(Sequence& sequence, std::int64_t tokens) {
  const std::int64_t end =
      std::min(sequence.num_computed_tokens + tokens, options_.max_model_len.value());
  const std::int64_t missing = blocks_for(end) - static_cast<std::int64_t>(sequence.blocks.size());
  if (missing > kv_.num_free()) {
    return false;
  }
  for (std::int64_t i = 0; i < missing; ++i) {
    sequence.blocks.push_back(kv_.allocate());
  }
  hash_full_blocks(sequence, end);
  return true;
}

void Scheduler::hash_full_blocks(Sequence& sequence, std::int64_t tokens) {
  if (!options_.enable_prefix_caching) {
    return;
  }
  extend_hash_chain(sequence);
  const std::int64_t full = std::min(tokens, sequence.num_tokens()) / options_.block_size.value();
  for (; sequence.num_hashed_blocks < full; ++sequence.num_hashed_blocks) {
    const auto index = static_cast<std::size_t>(sequence.num_hashed_blocks);
    kv_.set_hash(sequence.blocks[index], sequence.block_hashes[index]);
  }
}

void Scheduler::extend_hash_chain(Sequence& sequence) const {
  const std::int64_t block_size = options_.block_size.value();
  while (static_cast<std::int64_t>(sequence.block_hashes.size() + 1) * block_size <= sequence.num_tokens()) {
    const std::int64_t begin = static_cast<std::int64_t>(sequence.block_hashes.size()) * block_size;
    std::uint64_t hash = sequence.block_hashes.empty() ? 0 : sequence.block_hashes.back();
    for (std::int64_t position = begin; position < begin + block_size; ++position) {
      hash = chain(hash, sequence.tokens[position]);
    }
    sequence.block_hashes.push_back(hash);
  }
}

void Scheduler::free(Sequence& sequence) {
  kv_.release(sequence.blocks);
  sequence.blocks.clear();
  sequence.num_hashed_blocks = 0;
}

}  // namespace ridgeline::engine::reference
