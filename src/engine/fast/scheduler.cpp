#include "engine/fast/scheduler.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/check.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/fast/kv_pool.hpp"
#include "engine/options.hpp"

namespace ridgeline::engine::fast {
namespace {

/// More tokens than any request has.
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

}  // namespace

Scheduler::Scheduler(const EngineOptions& options, bool keep_decode_lengths)
    : options_(options),
      block_size_(options.block_size.value()),
      watermark_blocks_(static_cast<std::int64_t>(
          options.profile.has_watermark
              ? std::floor(options.profile.watermark *
                           static_cast<double>(options.num_gpu_blocks.value()))
              : 0.0)),
      look_ahead_(options.async_scheduling && options.profile.async_skips_last_token),
      whole_prompts_(!options.enable_chunked_prefill && !options.profile.ignores_whole_prompt),
      length_cap_(options.max_model_len.value() -
                  (options.profile.keeps_last_position_free ? 1 : 0)),
      frees_in_order_(!options.enable_prefix_caching && options.profile.frees_uncached_in_order),
      keep_decode_lengths_(keep_decode_lengths),
      pool_({.num_gpu_blocks = options.num_gpu_blocks,
             .enable_prefix_caching = options.enable_prefix_caching,
             .free_unhashed_first = options.profile.free_unhashed_first}) {}

SlotIndex Scheduler::take_slot() {
  if (free_slots_.empty()) {
    slots_.emplace_back();
    return static_cast<SlotIndex>(slots_.size() - 1);
  }
  const SlotIndex index = free_slots_.back();
  free_slots_.pop_back();
  return index;
}

std::optional<domain::RequestRecord> Scheduler::add(const domain::Request& request,
                                                    core::SimTime queued) {
  domain::RequestRecord record;
  record.id = request.id;
  record.arrival = request.arrival;
  record.queued = queued;
  record.prompt_tokens = request.prompt_tokens;
  const std::int64_t prompt = request.prompt_tokens.value();
  const std::int64_t room = options_.max_model_len.value() - prompt;
  const std::int64_t most = std::min(request.max_tokens.value(), room);
  if (most < 1 || blocks_for(prompt + most) > pool_.num_usable()) {
    record.outcome = domain::Outcome::kRejected;
    return record;
  }
  const SlotIndex index = take_slot();
  Slot& slot = slots_[index];
  slot.prompt_tokens = prompt;
  slot.output_tokens = 0;
  slot.computed_tokens = 0;
  slot.placeholders = 0;
  slot.last_batch = -1;
  slot.max_output_tokens = most;
  slot.stop_after = std::min(request.output_tokens.value(), most);
  slot.outcome_at_stop = room < std::min(request.output_tokens.value(), request.max_tokens.value())
                             ? domain::Outcome::kLengthCapped
                             : domain::Outcome::kFinished;
  slot.status = Status::kWaiting;
  slot.prompt.assign(request.prompt.begin(), request.prompt.end());
  slot.record = record;
  waiting_.push_back(index);
  return std::nullopt;
}

bool Scheduler::schedule(Batch& batch, core::SimTime now) {
  batch.number = num_batches_;
  batch.items.clear();
  batch.prefills.clear();
  batch.decode_lengths.clear();
  batch.num_decodes = 0;
  batch.decode_context = core::Tokens(0);
  preempted_ = false;
  head_blocked_ = false;
  passed_over_.clear();
  std::int64_t budget = options_.max_num_batched_tokens.value();
  schedule_running(batch, budget);
  if (!preempted_) {
    schedule_waiting(batch, budget, now);
  }
  if (batch.items.empty()) {
    return false;
  }
  ++num_batches_;
  return true;
}

void Scheduler::schedule_running(Batch& batch, std::int64_t& budget) {
  const std::int64_t threshold = options_.long_prefill_token_threshold.value();
  for (std::size_t i = 0; i < running_.size() && budget > 0; ++i) {
    const SlotIndex index = running_[i];
    Slot& slot = slots_[index];
    if (look_ahead_ && slot.placeholders > 0 &&
        slot.output_tokens + slot.placeholders >= slot.max_output_tokens) {
      continue;  // Its last permitted token is in flight.
    }
    std::int64_t tokens = slot.known_tokens() + slot.placeholders - slot.computed_tokens;
    if (threshold > 0) {
      tokens = std::min(tokens, threshold);
    }
    tokens = std::min({tokens, budget, length_cap_ - slot.computed_tokens});
    if (tokens <= 0) {
      continue;
    }
    bool extended = extend(slot, tokens);
    while (!extended && running_.back() != index) {
      preempt_last();
      extended = extend(slot, tokens);
    }
    if (!extended) {
      preempt_last();
      return;
    }
    budget -= tokens;
    put(batch, index, tokens);
  }
}

void Scheduler::schedule_waiting(Batch& batch, std::int64_t& budget, core::SimTime now) {
  while (!waiting_.empty() && budget > 0 && num_running() < options_.max_num_seqs) {
    const SlotIndex index = waiting_.front();
    const Verdict verdict = try_admit(index, batch, budget, now);
    if (verdict == Verdict::kBlocked) {
      head_blocked_ = true;
      break;
    }
    waiting_.pop_front();
    if (verdict == Verdict::kSkipped) {
      passed_over_.push_back(index);
    }
  }
  for (std::size_t i = passed_over_.size(); i-- > 0;) {
    waiting_.push_front(passed_over_[i]);
  }
}

void Scheduler::find_cached_prefix(Slot& slot) {
  hit_.clear();
  slot.keys.restart(slot.record.id);
  if (!options_.enable_prefix_caching) {
    return;
  }
  // At least one token is computed, or there would be no logits to sample from.
  const std::int64_t most = (slot.known_tokens() - 1) / block_size_;
  ContentKeys ahead = slot.keys;
  while (static_cast<std::int64_t>(hit_.size()) < most) {
    const KvPool::Block block =
        pool_.find(ahead.next(slot.prompt, slot.prompt_tokens, block_size_));
    if (block == KvPool::kNone) {
      break;
    }
    hit_.push_back(block);
    slot.keys = ahead;
  }
}

bool Scheduler::counts_lookup(const Slot& slot) const {
  const bool apart = options_.profile.prefix_stats_split_preempted && slot.record.preemptions > 0;
  return options_.enable_prefix_caching && !apart;
}

void Scheduler::count_lookup(const Slot& slot, std::int64_t hit_blocks) {
  const bool in_blocks = options_.profile.prefix_stats_in_blocks;
  const std::int64_t known = slot.known_tokens();
  head_lookup_ = in_blocks ? (known - 1) / block_size_ * block_size_ : known;
  prefix_queries_ += head_lookup_;
  prefix_hits_ += hit_blocks * block_size_;
}

Scheduler::Verdict Scheduler::try_admit(SlotIndex index,
                                        Batch& batch,
                                        std::int64_t& budget,
                                        core::SimTime now) {
  Slot& slot = slots_[index];
  const std::int64_t known = slot.known_tokens();
  find_cached_prefix(slot);
  const auto taken = static_cast<std::int64_t>(hit_.size());
  const std::int64_t cached = taken * block_size_;
  head_had_hit_ = taken > 0;
  head_lookup_ = 0;
  if (options_.profile.prefix_stats_per_lookup && counts_lookup(slot)) {
    count_lookup(slot, taken);
  }

  std::int64_t tokens = known - cached;
  if (options_.long_prefill_token_threshold.value() > 0) {
    tokens = std::min(tokens, options_.long_prefill_token_threshold.value());
  }
  if (whole_prompts_ && tokens > budget) {
    return options_.profile.whole_prompt_blocks_queue ? Verdict::kBlocked : Verdict::kSkipped;
  }
  tokens = std::min(tokens, budget);

  std::int64_t unheld = 0;
  for (const KvPool::Block block : hit_) {
    unheld += pool_.held(block) ? 0 : 1;
  }
  const std::int64_t available =
      pool_.num_free() - (running_.empty() ? 0 : watermark_blocks_) + taken - unheld;
  const std::int64_t must_fit = options_.profile.reserve_full_prompt ? known : cached + tokens;
  if (blocks_for(must_fit) > available) {
    return Verdict::kBlocked;
  }
  if (!options_.profile.prefix_stats_per_lookup && counts_lookup(slot)) {
    count_lookup(slot, taken);
  }

  for (const KvPool::Block block : hit_) {
    pool_.touch(block);
  }
  slot.blocks.assign(hit_.begin(), hit_.end());
  slot.block_limit = cached;
  slot.num_keyed_blocks = taken;
  slot.key_limit = options_.enable_prefix_caching ? cached + block_size_ : kNever;
  slot.computed_tokens = cached;
  slot.prefill_end = known;
  if (slot.status == Status::kWaiting) {
    slot.record.cached_tokens = core::Tokens(std::min(cached, slot.prompt_tokens));
    slot.record.first_scheduled = now;
  }
  slot.status = Status::kRunning;
  RIDGELINE_CHECK(extend(slot, tokens), "admission counted too few blocks");
  running_.push_back(index);
  budget -= tokens;
  put(batch, index, tokens);
  return Verdict::kAdmitted;
}

void Scheduler::put(Batch& batch, SlotIndex index, std::int64_t tokens) {
  Slot& slot = slots_[index];
  const std::int64_t before = slot.computed_tokens;
  const bool samples = before + tokens >= slot.known_tokens() + slot.placeholders;
  if (before < slot.prefill_end) {
    batch.prefills.push_back(
        {.past = core::Tokens(before), .new_tokens = core::Tokens(tokens), .samples = samples});
    slot.decoding_since = batch.number + 1;
  } else {
    ++batch.num_decodes;
    batch.decode_context += core::Tokens(before);
    if (keep_decode_lengths_) {
      batch.decode_lengths.push_back(core::Tokens(before));
    }
    if (slot.last_batch + 1 != batch.number) {
      slot.decoding_since = batch.number;
    }
  }
  slot.last_batch = batch.number;
  slot.computed_tokens += tokens;
  if (options_.async_scheduling && samples) {
    ++slot.placeholders;
  }
  batch.items.push_back({.slot = index, .generation = slot.generation, .samples = samples});
}

bool Scheduler::extend(Slot& slot, std::int64_t tokens) {
  const std::int64_t end = std::min(slot.computed_tokens + tokens, options_.max_model_len.value());
  if (end > slot.block_limit) {
    const std::int64_t missing = blocks_for(end - slot.block_limit);
    if (missing > pool_.num_free()) {
      return false;
    }
    for (std::int64_t i = 0; i < missing; ++i) {
      take_block(slot);
    }
  }
  key_full_blocks(slot, end);
  return true;
}

void Scheduler::key_full_blocks(Slot& slot, std::int64_t tokens) {
  const std::int64_t known = std::min(tokens, slot.known_tokens());
  while (known >= slot.key_limit) {
    const std::uint64_t key = slot.keys.next(slot.prompt, slot.prompt_tokens, block_size_);
    pool_.set_key(slot.blocks[static_cast<std::size_t>(slot.num_keyed_blocks)], key);
    ++slot.num_keyed_blocks;
    slot.key_limit += block_size_;
  }
}

void Scheduler::release_blocks(Slot& slot) {
  if (frees_in_order_) {
    std::reverse(slot.blocks.begin(), slot.blocks.end());
  }
  pool_.release(slot.blocks);
  slot.blocks.clear();
  slot.block_limit = 0;
  slot.num_keyed_blocks = 0;
}

void Scheduler::preempt_last() {
  const SlotIndex index = running_.back();
  running_.pop_back();
  Slot& slot = slots_[index];
  release_blocks(slot);
  slot.status = Status::kPreempted;
  slot.computed_tokens = 0;
  ++slot.record.preemptions;
  ++num_preemptions_;
  preempted_ = true;
  waiting_.push_front(index);
}

std::int64_t Scheduler::update(const Batch& batch, core::SimTime now, domain::RecordSink& sink) {
  domain::TokenGaps gaps{.gap = {}, .growth = {}, .count = 1, .requests = 0};
  std::int64_t ended = 0;
  delivered_ = 0;
  for (const BatchItem item : batch.items) {
    Slot& slot = slots_[item.slot];
    if (slot.generation != item.generation || !item.samples) {
      continue;  // A token after the end is thrown away; an unfinished prefill has none.
    }
    if (slot.output_tokens == 0) {
      slot.record.first_token = now;
    } else {
      const core::Duration gap = now - slot.last_token;
      if (gaps.requests > 0 && gap != gaps.gap) {
        sink.on_token_gaps(gaps);
        gaps.requests = 0;
      }
      gaps.gap = gap;
      ++gaps.requests;
    }
    slot.last_token = now;
    ++slot.output_tokens;
    if (options_.async_scheduling) {
      --slot.placeholders;
      if (slot.status == Status::kRunning) {
        key_full_blocks(slot, slot.computed_tokens - slot.placeholders);
      }
    }
    if (slot.output_tokens >= slot.stop_after) {
      ++ended;
      finish(item.slot, sink);
    } else if (slot.status == Status::kRunning) {
      ++delivered_;
    }
  }
  if (gaps.requests > 0) {
    sink.on_token_gaps(gaps);
  }
  if (ended > 0) {
    std::erase_if(running_,
                  [this](SlotIndex index) { return slots_[index].status == Status::kFree; });
  }
  return ended;
}

void Scheduler::finish(SlotIndex index, domain::RecordSink& sink) {
  Slot& slot = slots_[index];
  if (slot.status == Status::kPreempted) {
    waiting_.erase(index);
  }
  release_blocks(slot);
  slot.record.outcome = slot.outcome_at_stop;
  slot.record.output_tokens = core::Tokens(slot.output_tokens);
  slot.record.last_token = slot.last_token;
  slot.status = Status::kFree;
  ++slot.generation;
  free_slots_.push_back(index);
  sink.on_request(slot.record);
}

void Scheduler::drain(domain::RecordSink& sink) {
  const auto drop = [&](SlotIndex index) {
    Slot& slot = slots_[index];
    release_blocks(slot);
    slot.record.outcome = domain::Outcome::kUnfinished;
    slot.record.output_tokens = core::Tokens(slot.output_tokens);
    if (slot.output_tokens > 0) {
      slot.record.last_token = slot.last_token;
    }
    slot.status = Status::kFree;
    ++slot.generation;
    free_slots_.push_back(index);
    sink.on_request(slot.record);
  };
  for (const SlotIndex index : running_) {
    drop(index);
  }
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    drop(waiting_[i]);
  }
  running_.clear();
  waiting_.clear();
}

std::int64_t Scheduler::repeatable_batches(std::int64_t oldest, core::SimTime now) const {
  if (delivered_ != num_running() || preempted_ || !passed_over_.empty()) {
    return 0;
  }
  if (!waiting_.empty() && num_running() < options_.max_num_seqs) {
    // The head stays out only if it was tried and nothing can change the verdict: it has no cached
    // block that could be evicted, and its content is its own, so that none can appear.
    if (!head_blocked_ || head_had_hit_ || !slots_[waiting_.front()].prompt.empty()) {
      return 0;
    }
  }
  const std::int64_t in_flight =
      options_.async_scheduling ? 1 : 0;  // Tokens not known when scheduling.
  std::int64_t batches = std::numeric_limits<std::int64_t>::max();
  for (const SlotIndex index : running_) {
    const Slot& slot = slots_[index];
    if (slot.last_batch + 1 != num_batches_ || slot.decoding_since > oldest ||
        slot.last_token != now) {
      return 0;
    }
    const std::int64_t until_end = slot.stop_after - slot.output_tokens - 1;
    const std::int64_t until_limit = slot.max_output_tokens - slot.output_tokens - 1 - in_flight;
    const std::int64_t until_length = length_cap_ - slot.computed_tokens;
    batches = std::min({batches, until_end, until_limit, until_length});
  }
  return std::max<std::int64_t>(batches, 0);
}

std::int64_t Scheduler::batches_with_blocks(std::int64_t most) const {
  if (num_running() * (most / block_size_ + 1) <= pool_.num_free()) {
    return most;  // Enough even if every request began a block with each of its first tokens.
  }
  const auto blocks_taken = [this](std::int64_t count) {
    std::int64_t blocks = 0;
    for (const SlotIndex index : running_) {
      const Slot& slot = slots_[index];
      const std::int64_t beyond = slot.computed_tokens + count - slot.block_limit;
      blocks += beyond > 0 ? blocks_for(beyond) : 0;
    }
    return blocks;
  };
  if (blocks_taken(most) <= pool_.num_free()) {
    return most;
  }
  std::int64_t fits = 0;
  std::int64_t fails = most;
  while (fails - fits > 1) {
    const std::int64_t middle = fits + (fails - fits) / 2;
    (blocks_taken(middle) <= pool_.num_free() ? fits : fails) = middle;
  }
  return fits;
}

}  // namespace ridgeline::engine::fast
