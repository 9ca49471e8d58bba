#include "engine/vllm/plain/scheduler.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "engine/vllm/plain/block_tables.hpp"
#include "engine/vllm/plain/content.hpp"

namespace ridgeline::engine::vllm::plain {
namespace {

/// The total order of priority scheduling. A server stamps no two requests alike, so that vLLM may
/// leave the id out where it looks for the worst one; here many can arrive at one instant, and two
/// that are equally bad would preempt each other forever.
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
    : num_prompt_tokens(request.prompt_tokens.value()),
      max_tokens(request.max_tokens.value()),
      priority(request.priority),
      lora(request.lora),
      tokens(request) {
  const std::int64_t room = max_model_len.value() - num_prompt_tokens;
  max_output_tokens = std::min(max_tokens, room);
  stop_after = std::min(request.output_tokens.value(), max_output_tokens);
  if (room < std::min(request.output_tokens.value(), max_tokens)) {
    outcome_at_stop = domain::Outcome::kLengthCapped;
  }
  record.id = request.id;
  record.label_set = request.label_set;
  record.arrival = request.arrival;
  record.prompt_tokens = request.prompt_tokens;
}

void Sequence::end(domain::Outcome outcome) {
  status = Status::kFinished;
  record.outcome = outcome;
  record.output_tokens = core::Tokens(num_delivered_tokens());
  record.last_token = last_token;
}

Scheduler::Scheduler(const EngineOptions& options)
    : options_(options),
      by_priority_(options.policy == SchedulingPolicy::kPriority &&
                   options.profile.has_priority_policy),
      loses_results_(options.profile.updates_running_only && !options.async_scheduling),
      waits_for_results_(!options.async_scheduling && steps_in_flight(options) > 1),
      foresees_end_(options.async_scheduling && options.profile.async_skips_last_token),
      last_position_(options.max_model_len.value() -
                     (options.profile.keeps_last_position_free ? 1 : 0)),
      lookahead_(lookahead_slots(options)),
      draft_slots_(input_slots(options)),
      manager_(options) {}

void ScheduledStep::grow(std::size_t places) {
  places_.resize(std::max(places, 2 * places_.size()));
}

void Scheduler::add(const SequencePtr& sequence) {
  push_waiting(waiting_, sequence, false);
}

void Scheduler::push_waiting(Queue& queue, const SequencePtr& sequence, bool front) {
  if (by_priority_) {
    const auto after = std::upper_bound(
        queue.begin(), queue.end(), sequence, [](const SequencePtr& a, const SequencePtr& b) {
          return rank(*a) < rank(*b);
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

void Scheduler::schedule(ScheduledStep& step) {
  step.clear();
  budget_ = options_.max_num_batched_tokens.value();
  input_budget_ = budget_;
  preempted_.clear();
  schedule_running(step);
  if (preempted_.empty() && has_waiting()) {
    schedule_waiting(step);
  }
}

/// Tokens that a running request has not computed yet, within its own limits.
std::int64_t Scheduler::tokens_to_run(const Sequence& sequence) const {
  std::int64_t tokens = sequence.num_tokens() + sequence.num_drafts + sequence.num_placeholders -
                        sequence.num_computed_tokens;
  if (options_.long_prefill_token_threshold.value() > 0) {
    tokens = std::min(tokens, options_.long_prefill_token_threshold.value());
  }
  const std::int64_t left = std::min(budget_, input_budget_ - draft_slots_);
  return std::min(std::min(tokens, left), last_position_ - sequence.num_computed_tokens);
}

bool Scheduler::last_token_in_flight(const Sequence& sequence) const {
  return foresees_end_ && sequence.num_placeholders > 0 &&
         sequence.num_computed_tokens + 2 - sequence.num_placeholders >=
             sequence.num_prompt_tokens + sequence.max_tokens;
}

/// With the rules in one piece: what a call costs is much where they are asked for each block.
[[gnu::flatten]] void Scheduler::schedule_running(ScheduledStep& step) {
  for (std::size_t i = 0; i < running_.size() && has_budget(); ++i) {
    if (running_[i]->is_quiet()) {
      i = schedule_quiet(step, i);
      if (i == running_.size() || !has_budget()) {
        return;
      }
    }
    Sequence& sequence = *running_[i];
    const std::int64_t tokens = tokens_to_run(sequence);
    if (tokens <= 0 || last_token_in_flight(sequence)) {
      continue;  // Everything of it is in flight; younger requests may overtake.
    }
    if (!extend(sequence, tokens, lookahead_) && !make_room(sequence, tokens, step, i)) {
      return;
    }
    spend(tokens);
    put(step, sequence, tokens);
  }
}

/// Of the running requests from one on, those that are quiet and follow one another: a token each,
/// as the budget lasts. Returns the place of the next. Without drafts both budgets are the same.
std::size_t Scheduler::schedule_quiet(ScheduledStep& step, std::size_t from) {
  const std::int64_t placeholder = options_.async_scheduling ? 1 : 0;
  const std::size_t most = std::min(running_.size() - from, static_cast<std::size_t>(budget_));
  const std::span<const SequencePtr> running(running_.begin() + static_cast<std::ptrdiff_t>(from),
                                             most);
  const std::span<ScheduledSequence> room = step.room(most);
  static constexpr ScheduledSequence kOneToken{
      .num_scheduled_tokens = 1, .samples = true, .is_plain = true};
  std::size_t count = 0;
  std::int64_t context = 0;
  for (; count < most && running[count]->is_quiet(); ++count) {
    Sequence& sequence = *running[count];
    room[count] = kOneToken;
    room[count].sequence = &sequence;
    room[count].num_computed_tokens = sequence.num_computed_tokens;
    context += sequence.num_computed_tokens;
    ++sequence.num_computed_tokens;
    ++sequence.num_in_flight_tokens;
    sequence.num_placeholders += placeholder;
  }
  step.add_decodes(count, context);
  budget_ -= static_cast<std::int64_t>(count);
  input_budget_ -= static_cast<std::int64_t>(count);
  return from + count;
}

/// Up to how many computed tokens nothing has to be looked at but the budget: the request samples
/// in every step, so that it has one token to compute in the next, and what could hold that up or
/// come with it (its last position, its end, a block) is further on.
std::int64_t Scheduler::quiet_until(const Sequence& sequence) const {
  if (waits_for_results_ || options_.num_speculative_tokens > 0) {
    return kNotQuiet;
  }
  // The token that is computed fills its block; but while a step with the one before is in flight
  // (see look_again), it is known a step later.
  const std::int64_t filled = sequence.blocks.hashed_below - (options_.async_scheduling ? 0 : 1);
  // Two before the last token is computed it cannot be known yet that it will be the last.
  const std::int64_t end = sequence.num_prompt_tokens + sequence.stop_after - 2;
  const BlockTables& blocks = sequence.blocks;
  return std::min(std::min(std::min(blocks.tokens_held, filled), blocks.windows_rest_below),
                  std::min(last_position_, end));
}

/// Which request gives way: the last in order of admission, or the worst in order of priority.
std::size_t Scheduler::choose_victim() const {
  if (!by_priority_) {
    return running_.size() - 1;
  }
  const auto worst =
      std::max_element(running_.begin(), running_.end(), [](const auto& a, const auto& b) {
        return rank(*a) < rank(*b);
      });
  return static_cast<std::size_t>(worst - running_.begin());
}

/// Takes a victim out of the step being formed, or marks what is left of it there.
Scheduler::Withdrawn Scheduler::withdraw(Sequence& victim, ScheduledStep& step) {
  const auto scheduled = std::find_if(
      step.begin(), step.end(), [&](const auto& other) { return other.sequence == &victim; });
  if (scheduled == step.end()) {
    return {};
  }
  take_back(*scheduled);
  if (options_.profile.victim_returns_budget) {
    budget_ += scheduled->num_scheduled_tokens;
    input_budget_ += scheduled->num_scheduled_tokens + draft_slots_;
    step.erase(scheduled);
    return {.was_scheduled = true};
  }
  scheduled->samples = false;
  scheduled->is_plain = false;
  victim.num_in_flight_tokens += scheduled->num_scheduled_tokens;
  return {.was_scheduled = true, .computed = scheduled->num_scheduled_tokens};
}

/// Preempts others until a running request's blocks can be extended; false if it had to go itself.
bool Scheduler::make_room(Sequence& sequence,
                          std::int64_t tokens,
                          ScheduledStep& step,
                          std::size_t& cursor) {
  do {
    const std::size_t place = choose_victim();
    const SequencePtr victim = running_[place];
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(place));
    const Withdrawn withdrawn = withdraw(*victim, step);
    const bool steps_back = options_.profile.cursor_follows_every_victim ||
                            (withdrawn.was_scheduled && options_.profile.victim_returns_budget);
    if (steps_back && place < cursor) {
      --cursor;
    }
    preempt(victim, withdrawn.computed);
    if (victim.get() == &sequence) {
      return false;
    }
  } while (!extend(sequence, tokens, lookahead_));
  return true;
}

void Scheduler::schedule_waiting(ScheduledStep& step) {
  std::vector<SequencePtr> passed_over;
  if (options_.max_loras > 0) {
    note_adapters(step);
  }
  while (has_waiting() && has_budget() && num_running() < options_.max_num_seqs) {
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

void Scheduler::preempt(const SequencePtr& victim, std::int64_t computed) {
  manager_.release(victim->blocks);
  victim->status = Status::kPreempted;
  victim->num_computed_tokens = computed;
  victim->quiet_until = kNotQuiet;
  if (!options_.profile.hashes_less_all_drafts) {
    victim->num_drafts = 0;  // Else they stay until it runs again, and count there as well.
  }
  ++victim->record.preemptions;
  ++num_preemptions_;
  preempted_.push_back(victim);
  push_waiting(waiting_, victim, true);
}

/// What is scheduled counts as computed before the step has run: the next can already go on from
/// there.
void Scheduler::put(ScheduledStep& step, Sequence& sequence, std::int64_t tokens) {
  const std::int64_t before = sequence.num_computed_tokens;
  const std::int64_t known = sequence.num_tokens() + sequence.num_placeholders;
  const std::int64_t drafts =
      sequence.num_drafts > 0 ? std::max<std::int64_t>(before + tokens - known, 0) : 0;
  const bool samples = before + tokens >= known;
  const bool is_prefill = before < sequence.prefill_end;
  step.add({.sequence = &sequence,
            .num_computed_tokens = before,
            .num_scheduled_tokens = tokens,
            .num_drafts = static_cast<std::int32_t>(drafts),
            .is_prefill = is_prefill,
            .samples = samples,
            .is_plain = samples && drafts == 0 && !is_prefill});
  sequence.num_computed_tokens += tokens;
  sequence.num_in_flight_tokens += tokens;
  sequence.num_drafts = 0;
  if (options_.async_scheduling && samples) {
    sequence.num_placeholders += 1 + drafts;
    sequence.num_drafts = options_.num_speculative_tokens;
  }
  sequence.quiet_until = samples ? quiet_until(sequence) : kNotQuiet;
}

/// Undoes what put() did to the request.
void Scheduler::take_back(const ScheduledSequence& part) const {
  Sequence& sequence = *part.sequence;
  sequence.num_computed_tokens -= part.num_scheduled_tokens;
  sequence.num_in_flight_tokens -= part.num_scheduled_tokens;
  if (options_.async_scheduling && part.samples) {
    sequence.num_placeholders -= 1 + part.num_drafts;
    sequence.num_drafts = 0;
  }
}

/// Takes a request out of the list that it is in, and its blocks back.
SequencePtr Scheduler::remove(const Sequence& sequence) {
  SequencePtr removed;
  const auto take_from = [&](auto& list) {
    const auto place = std::find_if(
        list.begin(), list.end(), [&](const SequencePtr& one) { return one.get() == &sequence; });
    if (place != list.end()) {
      removed = std::move(*place);
      list.erase(place);
    }
  };
  if (sequence.status == Status::kRunning) {
    take_from(running_);
  } else {
    take_from(waiting_);
    take_from(skipped_);
  }
  RIDGELINE_CHECK(removed != nullptr, "a request that is removed is in a list");
  manager_.release(removed->blocks);
  removed->quiet_until = kNotQuiet;
  if (removed->num_in_flight_tokens > 0) {
    leaving_.push_back(removed);
  }
  return removed;
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
    remove(*sequence);
  }
  sequence->end(domain::Outcome::kAborted);
}

void Scheduler::finish_remote_load(const SequencePtr& sequence) {
  sequence->remote_arrived = true;
  if (sequence->status == Status::kFinished) {
    manager_.release(sequence->blocks);  // Aborted on the way.
  }
}

core::Tokens Scheduler::queued_prompt_tokens() const {
  std::int64_t sum = 0;
  for (const SequencePtr& sequence : waiting()) {
    sum += sequence->num_prompt_tokens;
  }
  return core::Tokens(sum);
}

core::Tokens Scheduler::cached_prefix(const domain::Request& request) const {
  if (!options_.enable_prefix_caching) {
    return {};
  }
  Sequence sequence(request, options_.max_model_len);
  extend_hash_chain(sequence);
  const std::int64_t block_size = manager_.block_size();
  const std::int64_t most = (sequence.num_prompt_tokens - 1) / block_size;
  return core::Tokens(manager_.find_prefix(sequence.block_hashes, most).num_blocks * block_size);
}

std::vector<SequencePtr> Scheduler::drain() {
  std::vector<SequencePtr> all = running_;
  const auto queued = waiting();
  all.insert(all.end(), queued.begin(), queued.end());
  for (const auto& sequence : all) {
    remove(*sequence);
    sequence->end(domain::Outcome::kUnfinished);
  }
  leaving_.clear();
  return all;
}

bool Scheduler::extend(Sequence& sequence, std::int64_t tokens, std::int64_t lookahead) {
  const std::int64_t most = options_.max_model_len.value();
  const std::int64_t computed = sequence.num_computed_tokens;
  const std::int64_t end = std::min(computed + tokens + lookahead, most);
  const std::int64_t in_flight =
      options_.profile.windows_keep_steps_in_flight ? sequence.num_in_flight_tokens : 0;
  manager_.drop_left_of_windows(sequence.blocks, computed - in_flight);
  if (!manager_.extend(sequence.blocks, end)) {
    return false;
  }
  const std::int64_t withheld =
      options_.profile.hashes_less_all_drafts ? sequence.num_drafts : std::int64_t{0};
  hash_full_blocks(sequence, computed + tokens - withheld);
  return true;
}

void Scheduler::hash_full_blocks(Sequence& sequence, std::int64_t tokens) {
  const std::int64_t known = std::min(tokens, sequence.num_tokens());
  if (!options_.enable_prefix_caching ||
      (known < sequence.blocks.hashed_below &&
       known < (sequence.num_hashes_made + 1) * manager_.block_size())) {
    return;
  }
  extend_hash_chain(sequence);
  manager_.hash_full_blocks(sequence.blocks, sequence.block_hashes, known);
  while (known >= (sequence.num_hashes_made + 1) * manager_.block_size()) {
    ++sequence.num_hashes_made;
  }
}

void Scheduler::extend_hash_chain(Sequence& sequence) const {
  const std::int64_t block_size = manager_.block_size();
  BlockHashes& hashes = sequence.block_hashes;
  // An adapter changes every activation, hence every KV block.
  const std::uint64_t root = sequence.lora.value();
  if (hashes.empty() && sequence.num_tokens() >= block_size) {
    hashes =
        manager_.known_hashes(sequence.tokens.hash_block(root, 0, block_size), sequence.tokens);
    hashes.reserve(
        static_cast<std::size_t>((sequence.num_prompt_tokens + sequence.stop_after) / block_size));
  }
  std::uint64_t hash = hashes.empty() ? root : hashes.back();
  std::int64_t end = static_cast<std::int64_t>(hashes.size() + 1) * block_size;
  for (const std::int64_t known = sequence.num_tokens(); end <= known; end += block_size) {
    hash = sequence.tokens.hash_block(hash, end - block_size, end);
    hashes.push_back(hash);
  }
}

}  // namespace ridgeline::engine::vllm::plain
