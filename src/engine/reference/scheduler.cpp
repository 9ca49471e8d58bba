#include "engine/reference/scheduler.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "engine/reference/block_tables.hpp"
#include "engine/reference/content.hpp"

namespace ridgeline::engine::reference {
namespace {

/// The total order of priority scheduling.
auto rank(const Sequence& sequence) {
  return std::tuple(sequence.priority, sequence.record.arrival, sequence.record.id);
}

/// KV slots that drafting writes ahead of the tokens scheduled.
std::int64_t lookahead_slots(const EngineOptions& options) {
  return options.draft_method == DraftMethod::kNgram ? 0 : options.num_speculative_tokens;
}

}  // namespace

Sequence::Sequence(const domain::Request& request, core::Tokens max_model_len)
    : tokens(request),
      priority(request.priority),
      lora(request.lora),
      num_prompt_tokens(request.prompt_tokens.value()),
      max_tokens(request.max_tokens.value()) {
  const std::int64_t room = max_model_len.value() - num_prompt_tokens;
  max_output_tokens = std::min(max_tokens, room);
  stop_after = std::min(request.output_tokens.value(), max_output_tokens);
  if (room < std::min(request.output_tokens.value(), max_tokens)) {
    outcome_at_stop = domain::Outcome::kLengthCapped;
  }
  record.id = request.id;
  record.arrival = request.arrival;
  record.prompt_tokens = request.prompt_tokens;
}

Scheduler::Scheduler(const EngineOptions& options)
    : options_(options),
      by_priority_(options.policy == SchedulingPolicy::kPriority &&
                   options.profile.has_priority_policy),
      lookahead_(lookahead_slots(options)),
      manager_(options) {}

void Scheduler::add(const SequencePtr& sequence) {
  push_waiting(waiting_, sequence, false);
}

void Scheduler::push_waiting(Queue& queue, const SequencePtr& sequence, bool front) {
  if (by_priority_) {
    const auto after = std::find_if(queue.begin(), queue.end(), [&](const SequencePtr& other) {
      return rank(*sequence) < rank(*other);
    });
    queue.insert(after, sequence);
  } else if (front) {
    queue.push_front(sequence);
  } else {
    queue.push_back(sequence);
  }
}

std::vector<SequencePtr> Scheduler::waiting() const {
  std::vector<SequencePtr> all(skipped_.begin(), skipped_.end());
  all.insert(all.end(), waiting_.begin(), waiting_.end());
  return all;
}

bool Scheduler::can_ever_run(const Sequence& sequence) const {
  return sequence.max_output_tokens >= 1 &&
         manager_.blocks_needed({}, {}, sequence.num_prompt_tokens + sequence.max_output_tokens) <=
             kv_cache().num_usable();
}

ScheduledStep Scheduler::schedule() {
  ScheduledStep step;
  budget_ = options_.max_num_batched_tokens.value();
  preempted_.clear();
  schedule_running(step);
  if (preempted_.empty()) {
    schedule_waiting(step);
  }
  advance_computed(step);
  return step;
}

/// Tokens that a running request has not computed yet, within its own limits.
std::int64_t Scheduler::tokens_to_run(const Sequence& sequence) const {
  std::int64_t tokens = sequence.num_tokens() + sequence.num_drafts + sequence.num_placeholders -
                        sequence.num_computed_tokens;
  if (options_.long_prefill_token_threshold.value() > 0) {
    tokens = std::min(tokens, options_.long_prefill_token_threshold.value());
  }
  const std::int64_t last =
      options_.max_model_len.value() - (options_.profile.keeps_last_position_free ? 1 : 0);
  return std::min({tokens, budget_, last - sequence.num_computed_tokens});
}

void Scheduler::schedule_running(ScheduledStep& step) {
  const bool skips_last = options_.async_scheduling && options_.profile.async_skips_last_token;
  for (std::size_t i = 0; i < running_.size() && budget_ > 0; ++i) {
    const SequencePtr sequence = running_[i];
    if (skips_last && sequence->num_placeholders > 0 &&
        sequence->num_computed_tokens + 2 - sequence->num_placeholders >=
            sequence->num_prompt_tokens + sequence->max_tokens) {
      continue;  // Its last permitted token is in flight.
    }
    const std::int64_t tokens = tokens_to_run(*sequence);
    if (tokens <= 0) {
      continue;  // Everything of it is in flight; younger requests may overtake.
    }
    if (!make_room(sequence, tokens, step, i)) {
      return;
    }
    budget_ -= tokens;
    put(step, sequence, tokens);
  }
}

/// Extends a running request's blocks, preempting others until they suffice; false if it had to go
/// itself.
bool Scheduler::make_room(const SequencePtr& sequence,
                          std::int64_t tokens,
                          ScheduledStep& step,
                          std::size_t& cursor) {
  while (!extend(*sequence, tokens, lookahead_)) {
    SequencePtr victim = running_.back();
    if (by_priority_) {
      victim =
          *std::max_element(running_.begin(), running_.end(), [](const auto& a, const auto& b) {
            return std::tuple(a->priority, a->record.arrival) <
                   std::tuple(b->priority, b->record.arrival);
          });
    }
    const auto place = std::find(running_.begin(), running_.end(), victim);
    const auto index = static_cast<std::size_t>(place - running_.begin());
    running_.erase(place);
    const auto scheduled =
        std::find_if(step.begin(), step.end(), [&](const ScheduledSequence& other) {
          return other.sequence == victim;
        });
    if (scheduled != step.end()) {
      if (options_.profile.victim_returns_budget) {
        budget_ += scheduled->num_scheduled_tokens;
        cursor -= index < cursor ? 1 : 0;
      }
      step.erase(scheduled);
    }
    preempt(victim);
    if (victim == sequence) {
      return false;
    }
  }
  return true;
}

void Scheduler::schedule_waiting(ScheduledStep& step) {
  Queue passed_over;
  while (num_waiting() > 0 && budget_ > 0 && num_running() < options_.max_num_seqs) {
    const bool from_skipped =
        !skipped_.empty() &&
        (waiting_.empty() || !by_priority_ || rank(*skipped_.front()) < rank(*waiting_.front()));
    Queue& queue = from_skipped ? skipped_ : waiting_;
    const SequencePtr sequence = queue.front();
    const Verdict verdict = try_admit(sequence, step);
    if (verdict == Verdict::kBlocked) {
      break;  // Nothing behind a request that does not fit is tried.
    }
    queue.pop_front();
    if (verdict == Verdict::kSkipped) {
      passed_over.push_back(sequence);
    }
  }
  Queue& home = options_.profile.has_skipped_queue ? skipped_ : waiting_;
  for (auto sequence = passed_over.rbegin(); sequence != passed_over.rend(); ++sequence) {
    push_waiting(home, *sequence, true);
  }
}

bool Scheduler::exceeds_lora_cap(const Sequence& sequence, const ScheduledStep& step) const {
  if (options_.max_loras == 0 || !sequence.lora.valid()) {
    return false;
  }
  std::set<core::LoraId> adapters;
  for (const ScheduledSequence& scheduled : step) {
    if (scheduled.sequence->lora.valid()) {
      adapters.insert(scheduled.sequence->lora);
    }
  }
  return static_cast<std::int64_t>(adapters.size()) == options_.max_loras &&
         !adapters.contains(sequence.lora);
}

bool Scheduler::fits(const Sequence& sequence,
                     const CachedPrefix& prefix,
                     std::int64_t up_to) const {
  const auto share =
      options_.profile.watermark * static_cast<double>(options_.num_gpu_blocks.value());
  const bool guarded = options_.profile.has_watermark && !running_.empty();
  const std::int64_t watermark = guarded ? static_cast<std::int64_t>(std::floor(share)) : 0;
  const std::int64_t tokens = std::min(up_to, options_.max_model_len.value());
  return manager_.blocks_needed(sequence.blocks, prefix, tokens) + watermark <=
         kv_cache().num_free();
}

void Scheduler::count_lookup(const Sequence& sequence, const CachedPrefix& prefix) {
  if (!options_.enable_prefix_caching) {
    return;
  }
  const std::int64_t unit = options_.profile.prefix_stats_in_blocks ? manager_.block_size() : 1;
  const std::int64_t queries = options_.profile.prefix_stats_in_blocks
                                   ? (sequence.num_tokens() - 1) / manager_.block_size()
                                   : sequence.num_tokens();
  const std::int64_t hits = prefix.num_blocks * manager_.block_size() / unit;
  const bool apart =
      options_.profile.prefix_stats_split_preempted && sequence.record.preemptions > 0;
  (apart ? statistics_.preempted_requests : statistics_.requests) += 1;
  (apart ? statistics_.preempted_queries : statistics_.queries) += queries;
  (apart ? statistics_.preempted_hits : statistics_.hits) += hits;
}

Scheduler::Verdict Scheduler::try_admit(const SequencePtr& sequence, ScheduledStep& step) {
  if (exceeds_lora_cap(*sequence, step)) {
    return Verdict::kSkipped;
  }
  const std::int64_t known = sequence->num_tokens();
  extend_hash_chain(*sequence);
  // At least one token is computed, or there would be no logits to sample from.
  const CachedPrefix prefix =
      manager_.find_prefix(sequence->block_hashes, (known - 1) / manager_.block_size());
  const std::int64_t local = prefix.num_blocks * manager_.block_size();
  if (options_.profile.prefix_stats_per_lookup) {
    count_lookup(*sequence, prefix);
  }
  const std::int64_t remote =
      std::max<std::int64_t>(std::min(sequence->num_remote_tokens, known - 1) - local, 0);
  const std::int64_t cached = local + remote;

  std::int64_t tokens = known - cached;
  if (options_.long_prefill_token_threshold.value() > 0) {
    tokens = std::min(tokens, options_.long_prefill_token_threshold.value());
  }
  const bool whole = !options_.enable_chunked_prefill && !options_.profile.ignores_whole_prompt;
  if (whole && tokens > budget_) {
    return options_.profile.whole_prompt_blocks_queue ? Verdict::kBlocked : Verdict::kSkipped;
  }
  tokens = std::min(tokens, budget_);
  const std::int64_t lookahead = options_.profile.lookahead_from_first_chunk ? lookahead_ : 0;
  if (options_.profile.reserve_full_prompt && !fits(*sequence, prefix, known)) {
    return Verdict::kBlocked;
  }
  if (!fits(*sequence, prefix, cached + tokens + lookahead)) {
    return Verdict::kBlocked;
  }
  if (!options_.profile.prefix_stats_per_lookup) {
    count_lookup(*sequence, prefix);
  }

  manager_.adopt(sequence->blocks, prefix);
  sequence->num_computed_tokens = cached;
  sequence->prefill_end = known;
  if (sequence->status == Status::kWaiting) {
    sequence->record.cached_tokens = core::Tokens(std::min(cached, sequence->num_prompt_tokens));
  }
  sequence->status = Status::kRunning;
  RIDGELINE_CHECK(extend(*sequence, tokens, lookahead), "admission counted too few blocks");
  running_.push_back(sequence);
  budget_ -= tokens;
  put(step, sequence, tokens);
  return Verdict::kAdmitted;
}

void Scheduler::preempt(const SequencePtr& victim) {
  manager_.release(victim->blocks);
  victim->status = Status::kPreempted;
  victim->num_computed_tokens = 0;
  victim->num_drafts = 0;
  ++victim->record.preemptions;
  ++num_preemptions_;
  preempted_.push_back(victim);
  push_waiting(waiting_, victim, true);
}

void Scheduler::put(ScheduledStep& step, const SequencePtr& sequence, std::int64_t tokens) {
  const std::int64_t before = sequence->num_computed_tokens;
  const std::int64_t known = sequence->num_tokens() + sequence->num_placeholders;
  const std::int64_t drafts =
      sequence->num_drafts > 0 ? std::max<std::int64_t>(before + tokens - known, 0) : 0;
  sequence->num_drafts = 0;
  step.push_back({.sequence = sequence,
                  .num_computed_tokens = before,
                  .num_scheduled_tokens = tokens,
                  .num_drafts = drafts,
                  .is_prefill = before < sequence->prefill_end,
                  .samples = before + tokens >= known});
}

void Scheduler::advance_computed(ScheduledStep& step) {
  // Before the step has run: the next call can already go on from here.
  for (const ScheduledSequence& scheduled : step) {
    scheduled.sequence->num_computed_tokens += scheduled.num_scheduled_tokens;
    if (options_.async_scheduling && scheduled.samples) {
      scheduled.sequence->num_placeholders += 1 + scheduled.num_drafts;
      scheduled.sequence->num_drafts = options_.num_speculative_tokens;
    }
  }
}

std::vector<SequencePtr> Scheduler::update(const ScheduledStep& step) {
  return update(step, std::vector<std::int64_t>(step.size(), 1));
}

std::vector<SequencePtr> Scheduler::update(const ScheduledStep& step,
                                           const std::vector<std::int64_t>& tokens) {
  std::vector<SequencePtr> finished;
  for (std::size_t i = 0; i < step.size(); ++i) {
    const SequencePtr& sequence = step[i].sequence;
    if (sequence->status == Status::kFinished || !step[i].samples) {
      continue;  // A token after the end is thrown away; an unfinished prefill has none.
    }
    if (take_tokens(*sequence, step[i], tokens[i])) {
      remove(sequence);
      sequence->status = Status::kFinished;
      sequence->record.outcome = sequence->outcome_at_stop;
      finished.push_back(sequence);
    }
  }
  return finished;
}

/// Whether the request ends with these tokens; those behind its end are dropped.
bool Scheduler::take_tokens(Sequence& sequence,
                            const ScheduledSequence& scheduled,
                            std::int64_t tokens) {
  const std::int64_t rejected = scheduled.num_drafts - (tokens - 1);
  if (rejected > 0) {
    sequence.num_computed_tokens -= sequence.num_computed_tokens > 0 ? rejected : 0;
    sequence.num_placeholders -= sequence.num_placeholders > 0 ? rejected : 0;
  }
  const std::int64_t taken = std::min(tokens, sequence.stop_after - sequence.num_output_tokens);
  sequence.num_output_tokens += taken;
  const bool ends = sequence.num_output_tokens >= sequence.stop_after;
  if (options_.async_scheduling) {
    sequence.num_placeholders -= taken;
    if (sequence.status == Status::kRunning) {
      hash_full_blocks(sequence, sequence.num_computed_tokens - sequence.num_placeholders);
    }
  } else if (!ends && sequence.status == Status::kRunning) {
    sequence.num_drafts = options_.num_speculative_tokens;
  }
  return ends;
}

void Scheduler::remove(const SequencePtr& sequence) {
  std::erase(running_, sequence);
  std::erase(waiting_, sequence);
  std::erase(skipped_, sequence);
  manager_.release(sequence->blocks);
}

void Scheduler::abort(const SequencePtr& sequence) {
  if (sequence->status == Status::kFinished) {
    return;
  }
  remove(sequence);
  sequence->status = Status::kFinished;
  sequence->record.outcome = domain::Outcome::kAborted;
}

std::vector<SequencePtr> Scheduler::drain() {
  std::vector<SequencePtr> all = running_;
  const auto queued = waiting();
  all.insert(all.end(), queued.begin(), queued.end());
  for (const auto& sequence : all) {
    remove(sequence);
    sequence->status = Status::kFinished;
  }
  return all;
}

bool Scheduler::extend(Sequence& sequence, std::int64_t tokens, std::int64_t lookahead) {
  const std::int64_t most = options_.max_model_len.value();
  const std::int64_t end = std::min(sequence.num_computed_tokens + tokens + lookahead, most);
  manager_.drop_left_of_windows(sequence.blocks, sequence.num_computed_tokens);
  if (manager_.blocks_needed(sequence.blocks, {}, end) > kv_cache().num_free()) {
    return false;
  }
  manager_.extend(sequence.blocks, end);
  hash_full_blocks(sequence, sequence.num_computed_tokens + tokens);
  return true;
}

void Scheduler::hash_full_blocks(Sequence& sequence, std::int64_t tokens) {
  extend_hash_chain(sequence);
  manager_.hash_full_blocks(
      sequence.blocks, sequence.block_hashes, std::min(tokens, sequence.num_tokens()));
}

void Scheduler::extend_hash_chain(Sequence& sequence) const {
  if (!options_.enable_prefix_caching) {
    return;
  }
  const std::int64_t block_size = manager_.block_size();
  while (static_cast<std::int64_t>(sequence.block_hashes.size() + 1) * block_size <=
         sequence.num_tokens()) {
    const std::int64_t begin = static_cast<std::int64_t>(sequence.block_hashes.size()) * block_size;
    // An adapter changes every activation, hence every KV block.
    std::uint64_t hash =
        sequence.block_hashes.empty() ? sequence.lora.value() : sequence.block_hashes.back();
    for (std::int64_t position = begin; position < begin + block_size; ++position) {
      hash = chain(hash, sequence.tokens[position]);
    }
    sequence.block_hashes.push_back(hash);
  }
}

}  // namespace ridgeline::engine::reference
