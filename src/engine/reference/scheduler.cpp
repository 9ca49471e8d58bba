#include "engine/reference/scheduler.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

/// Input positions that drafting takes per scheduled request: a draft model reads one token more.
std::int64_t input_slots(const EngineOptions& options) {
  return options.profile.drafts_take_input_slots && options.num_speculative_tokens > 0 &&
                 options.draft_method == DraftMethod::kDraftModel
             ? 1
             : 0;
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
      draft_slots_(input_slots(options)),
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

SequencePtr Scheduler::find(core::RequestId id) const {
  std::vector<SequencePtr> all = waiting();
  all.insert(all.end(), running_.begin(), running_.end());
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const SequencePtr& one) { return one->record.id == id; });
  return found == all.end() ? nullptr : *found;
}

bool Scheduler::can_ever_run(const Sequence& sequence) const {
  const std::int64_t most =
      std::min(sequence.num_prompt_tokens + sequence.max_output_tokens + lookahead_,
               options_.max_model_len.value());
  // A window never holds more than its share, unless admission asks for the whole sequence at once.
  const bool capped =
      options_.profile.caps_windows_at_admission || !options_.profile.reserve_full_prompt;
  return sequence.max_output_tokens >= 1 &&
         manager_.blocks_needed({}, {}, most, capped) <= kv_cache().num_usable();
}

ScheduledStep Scheduler::schedule() {
  ScheduledStep step;
  step.reserve(running_.size());
  budget_ = options_.max_num_batched_tokens.value();
  input_budget_ = budget_;
  preempted_.clear();
  schedule_running(step);
  if (preempted_.empty()) {
    schedule_waiting(step);
  }
  advance_computed(step);
  return step;
}

void Scheduler::spend(std::int64_t tokens) {
  budget_ -= tokens;
  input_budget_ -= tokens + draft_slots_;
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
  return std::min(
      {tokens, budget_, input_budget_ - draft_slots_, last - sequence.num_computed_tokens});
}

bool Scheduler::last_token_in_flight(const Sequence& sequence) const {
  return options_.async_scheduling && options_.profile.async_skips_last_token &&
         sequence.num_placeholders > 0 &&
         sequence.num_computed_tokens + 2 - sequence.num_placeholders >=
             sequence.num_prompt_tokens + sequence.max_tokens;
}

void Scheduler::schedule_running(ScheduledStep& step) {
  for (std::size_t i = 0; i < running_.size() && has_budget(); ++i) {
    const SequencePtr sequence = running_[i];
    const std::int64_t tokens = tokens_to_run(*sequence);
    if (tokens <= 0 || last_token_in_flight(*sequence)) {
      continue;  // Everything of it is in flight; younger requests may overtake.
    }
    if (!make_room(sequence, tokens, step, i)) {
      return;
    }
    spend(tokens);
    put(step, sequence, tokens);
  }
}

/// Who gives way: the last in the order of admission, or the worst in the order of priority.
std::size_t Scheduler::choose_victim() const {
  if (!by_priority_) {
    return running_.size() - 1;
  }
  const auto worst =
      std::max_element(running_.begin(), running_.end(), [](const auto& a, const auto& b) {
        return std::tuple(a->priority, a->record.arrival) <
               std::tuple(b->priority, b->record.arrival);
      });
  return static_cast<std::size_t>(worst - running_.begin());
}

/// Takes a victim out of the step being formed, or marks what is left of it there. Returns whether
/// it was in the step.
bool Scheduler::withdraw(const SequencePtr& victim, ScheduledStep& step) {
  const auto scheduled = std::find_if(
      step.begin(), step.end(), [&](const auto& other) { return other.sequence == victim; });
  if (scheduled == step.end()) {
    return false;
  }
  if (options_.profile.victim_returns_budget) {
    budget_ += scheduled->num_scheduled_tokens;
    input_budget_ += scheduled->num_scheduled_tokens + draft_slots_;
    step.erase(scheduled);
  } else {
    scheduled->is_ghost = true;
    scheduled->samples = false;
  }
  return true;
}

/// Extends a running request's blocks, preempting others until they suffice; false if it had to go
/// itself.
bool Scheduler::make_room(const SequencePtr& sequence,
                          std::int64_t tokens,
                          ScheduledStep& step,
                          std::size_t& cursor) {
  while (!extend(*sequence, tokens, lookahead_)) {
    const std::size_t place = choose_victim();
    const SequencePtr victim = running_[place];
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(place));
    const bool was_scheduled = withdraw(victim, step);
    const bool steps_back = options_.profile.cursor_follows_every_victim ||
                            (was_scheduled && options_.profile.victim_returns_budget);
    if (steps_back && place < cursor) {
      --cursor;
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
  while (num_waiting() > 0 && has_budget() && num_running() < options_.max_num_seqs) {
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

void Scheduler::preempt(const SequencePtr& victim) {
  manager_.release(victim->blocks);
  victim->status = Status::kPreempted;
  victim->num_computed_tokens = 0;
  if (!options_.profile.hashes_less_all_drafts) {
    victim->num_drafts = 0;  // Else they stay until it runs again, and count there as well.
  }
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
    scheduled.sequence->num_in_flight_tokens += scheduled.num_scheduled_tokens;
    ++scheduled.sequence->num_steps_in_flight;
    if (options_.async_scheduling && scheduled.samples) {
      scheduled.sequence->num_placeholders += 1 + scheduled.num_drafts;
      scheduled.sequence->num_drafts = options_.num_speculative_tokens;
    }
  }
}

std::vector<SequencePtr> Scheduler::update(const ScheduledStep& step,
                                           const std::vector<std::int64_t>& tokens) {
  std::vector<SequencePtr> finished;
  for (std::size_t i = 0; i < step.size(); ++i) {
    const SequencePtr& sequence = step[i].sequence;
    sequence->num_in_flight_tokens -= step[i].num_scheduled_tokens;
    --sequence->num_steps_in_flight;
    if (!has_result(step[i])) {
      continue;
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

/// A token after the end is thrown away; an unfinished prefill has none.
bool Scheduler::has_result(const ScheduledSequence& scheduled) const {
  const Status status = scheduled.sequence->status;
  const bool lost = options_.profile.updates_running_only && !options_.async_scheduling &&
                    status != Status::kRunning;
  return scheduled.samples && status != Status::kFinished && !lost;
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
  const bool still_loading = sequence->status == Status::kLoading && !sequence->remote_arrived;
  if (still_loading && options_.profile.remote_abort_waits_for_load) {
    std::erase(waiting_, sequence);
    std::erase(skipped_, sequence);
  } else {
    remove(sequence);
  }
  sequence->status = Status::kFinished;
  sequence->record.outcome = domain::Outcome::kAborted;
}

void Scheduler::finish_remote_load(const SequencePtr& sequence) {
  sequence->remote_arrived = true;
  if (sequence->status == Status::kFinished) {
    manager_.release(sequence->blocks);  // Aborted on the way.
  }
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
  const std::int64_t computed = sequence.num_computed_tokens;
  const std::int64_t end = std::min(computed + tokens + lookahead, most);
  const std::int64_t in_flight =
      options_.profile.windows_keep_steps_in_flight ? sequence.num_in_flight_tokens : 0;
  manager_.drop_left_of_windows(sequence.blocks, computed - in_flight);
  if (!manager_.holds(sequence.blocks, end)) {
    if (manager_.blocks_needed(sequence.blocks, {}, end, false) > kv_cache().num_free()) {
      return false;
    }
    manager_.extend(sequence.blocks, end);
  }
  const std::int64_t withheld =
      options_.profile.hashes_less_all_drafts ? sequence.num_drafts : std::int64_t{0};
  hash_full_blocks(sequence, computed + tokens - withheld);
  return true;
}

void Scheduler::hash_full_blocks(Sequence& sequence, std::int64_t tokens) {
  const std::int64_t known = std::min(tokens, sequence.num_tokens());
  if (manager_.has_hashed(sequence.blocks, known) &&
      sequence.num_hashes_made >= known / manager_.block_size()) {
    return;
  }
  extend_hash_chain(sequence);
  manager_.hash_full_blocks(sequence.blocks, sequence.block_hashes, known);
  sequence.num_hashes_made = std::max(sequence.num_hashes_made, known / manager_.block_size());
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
