#include "engine/vllm/plain/scheduler.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/draft_level.hpp"
#include "domain/request.hpp"
#include "engine/loop/step_scheduler.hpp"
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

}  // namespace

Sequence::Sequence(const domain::Request& request, core::Tokens max_model_len)
    : engine::Sequence(request, max_model_len),
      priority(request.priority),
      lora(request.lora),
      max_tokens(request.max_tokens.value()),
      tokens(request),
      states_content(!request.prompt.empty()) {}

Scheduler::Scheduler(const EngineOptions& options)
    : options_(options),
      by_priority_(options.policy == SchedulingPolicy::kPriority &&
                   options.profile.has_priority_policy),
      has_one_full_cache_(has_one_full_cache(options)),
      keeps_states_(keeps_states(options)),
      loses_results_(options.profile.updates_running_only && !options.async_scheduling),
      steps_per_request_(steps_per_request(options)),
      foresees_end_(options.async_scheduling && options.profile.async_skips_last_token),
      last_position_(options.max_model_len.value() -
                     (options.profile.keeps_last_position_free ? 1 : 0)),
      lookahead_(lookahead_slots(options)),
      hash_ahead_(hash_lookahead(options)),
      rewritten_(options.drafts_read_ahead ? options.num_speculative_tokens - 1 : 0),
      seats_(options.profile.has_active_limit && options.max_num_active_seqs > 0
                 ? std::min(options.max_num_active_seqs, options.max_num_seqs)
                 : options.max_num_seqs),
      defers_frees_(options.profile.defers_frees && options.kv_consumer &&
                    steps_in_flight(options) > 1),
      turns_of_decodes_(decodes_in_turns(options) ? options.pipeline_depth : 0),
      draft_slots_(options.profile.drafts_take_input_slots ? draft_slots(options) : 0),
      token_budget_(token_budget(options).value()),
      manager_(options),
      encoder_(options),
      phases_(options.block_size.value()) {
  if (options.profile.drafts_lower_budget && options.max_num_scheduled_tokens == core::Tokens(0)) {
    token_budget_ =
        std::max<std::int64_t>(token_budget_ - draft_slots(options) * options.max_num_seqs, 1);
  }
  if (keeps_states_) {
    begin_lookups();  // The blocks without a state would be in the way of those that none seeks.
  }
}

engine::SequencePtr Scheduler::add_leg(const domain::Request& request, const Leg& leg) {
  auto sequence = std::make_shared<Sequence>(request, options_.max_model_len);
  return can_ever_run(*sequence) ? take(std::move(sequence), leg) : nullptr;
}

SequencePtr Scheduler::take(const domain::Request& request, const Leg& leg) {
  return take(std::make_shared<Sequence>(request, options_.max_model_len), leg);
}

SequencePtr Scheduler::take(SequencePtr sequence, const Leg& leg) {
  sequence->num_remote_tokens = leg.remote_tokens.value();
  sequence->loads_remote = leg.loads;
  sequence->holds_blocks = leg.holds_blocks;
  sequence->unanswered = leg.unanswered;
  sequence->reports_steps = leg.reports_steps;
  if (leg.is_session) {
    sequence->session = std::make_unique<Session>();
  }
  // A session holds blocks while it waits.
  if (sequence->states_content || sequence->num_remote_tokens > 0 || leg.was_sent_before ||
      leg.is_session) {
    begin_lookups();
  }
  push_waiting(waiting_, sequence, false);
  return sequence;
}

/// A request may find what is cached from now on: one whose prompt states what others may have, or
/// one that left its own blocks, as it was preempted or as its answer failed elsewhere.
void Scheduler::begin_lookups() {
  if (!options_.enable_prefix_caching || kv_cache().has_lookups()) {
    return;
  }
  for (const SequencePtr& sequence : running_) {
    if (sequence->decoding.is_member) {
      settle(*sequence);
    }
  }
  manager_.begin_lookups();
  const auto hold = [this](Sequence& sequence) {
    extend_hash_chain(sequence);
    manager_.hold(sequence.blocks, sequence.block_hashes);
  };
  for (const SequencePtr& sequence : running_) {
    hold(*sequence);
    if (sequence->decoding.is_member) {  // Full blocks are entered in time from now on.
      if (has_one_full_cache_) {
        phases_.remove(sequence->decoding.base);
      }
      turns_.remove(*sequence);
      turns_.add(*sequence, decodes_.next_step() + tokens_until_event(*sequence) - 1);
    }
  }
  for (const auto& [id, held] : holding_) {
    hold(*held.sequence);
  }
  for (const Deferred& deferred : deferred_) {
    manager_.hold(deferred.blocks, deferred.hashes);
  }
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

SchedulerCounts Scheduler::counts() const {
  const std::int64_t unit = options_.profile.prefix_stats_in_blocks ? manager_.block_size() : 1;
  // With windows or states, a block stands for other tokens in each group.
  const std::int64_t shared = has_one_full_cache_ ? kv_cache().num_shared() : 0;
  return {.running = num_running(),
          .waiting = num_waiting(),
          .used_blocks = kv_cache().num_used(),
          .free_blocks = kv_cache().num_free(),
          .shared_context = core::Tokens(shared * manager_.block_size()),
          .preemptions = num_preemptions_,
          .prefix_queries = core::Tokens(statistics_.queries * unit),
          .prefix_hits = core::Tokens(statistics_.hits * unit)};
}

bool Scheduler::can_ever_run(const Sequence& sequence) const {
  const std::int64_t most =
      std::min(sequence.num_prompt_tokens + sequence.max_output_tokens + lookahead_,
               options_.max_model_len.value());
  // A window never holds more than its share, unless admission asks for the whole sequence at once.
  const bool capped =
      options_.profile.caps_windows_at_admission || !options_.profile.reserve_full_prompt;
  return sequence.max_output_tokens >= 1 &&
         manager_.blocks_needed({}, {}, most, capped) + earlier_states() <= kv_cache().num_usable();
}

/// A state is written beside the one before it, and beside those that steps in flight read.
std::int64_t Scheduler::earlier_states() const {
  return manager_.num_state_groups() *
         (options_.profile.windows_keep_steps_in_flight ? steps_per_request_ : 1);
}

void Scheduler::schedule(ScheduledStep& step) {
  load_starts_.clear();
  preempted_.clear();
  do {
    form(step);
  } while (step.empty() && waits_for_turn());
}

/// Nothing is in flight, and only turns keep requests from decoding: vLLM calls again at once.
bool Scheduler::waits_for_turn() const {
  return turns_of_decodes_ > 1 && pause_ != Pause::kAll && steps_formed_ == steps_ended_ &&
         std::ranges::any_of(running_, [this](const SequencePtr& sequence) {
           return calls_ < sequence->next_decode;
         });
}

void Scheduler::form(ScheduledStep& step) {
  step.clear();
  ++calls_;
  threshold_ = prefill_threshold();
  budget_ = pause_ == Pause::kAll ? 0 : token_budget_;
  input_budget_ = options_.max_num_batched_tokens.value();
  manager_.begin_step();
  encoder_.begin_step();
  holds_prefills_ = holds_prefills_back();
  carries_prefill_ = false;
  skips_drafts_ = options_.profile.skips_unused_drafts && options_.second_runner &&
                  options_.num_speculative_tokens > 0;
  schedule_members();
  schedule_running(step);
  if (preempted_.empty() && pause_ != Pause::kAll) {
    if (has_waiting()) {
      schedule_waiting(step);
    }
    note_prefills();
  }
  choose_drafts(step);
  note_step(step);
  if (decodes_.gathers()) {
    gather(step);
  }
}

/// Counts a step that is not empty.
void Scheduler::note_step(const ScheduledStep& step) {
  if (step.empty() && decodes_.in_step().count == 0) {
    return;
  }
  ++steps_formed_;
  for (const ScheduledSequence& part : step) {
    static_cast<Sequence&>(*part.sequence).last_step = steps_formed_;
  }
  if (carries_prefill_) {
    last_prefill_ = steps_formed_;
  }
}

/// Whether prefills are to wait, so that decodes go on among themselves for some steps; not while
/// more requests wait than room lets in.
bool Scheduler::holds_prefills_back() const {
  return options_.profile.holds_prefills && options_.prefill_schedule_interval > 1 &&
         !is_short_of_room_ &&
         steps_formed_ + 1 - last_prefill_ < options_.prefill_schedule_interval &&
         std::ranges::any_of(
             running_, [](const SequencePtr& sequence) { return !sequence->is_prefill_chunk; });
}

/// Notes whether a step that was free to take prefills has left some for want of room.
void Scheduler::note_prefills() {
  if (options_.prefill_schedule_interval <= 1 || holds_prefills_) {
    return;
  }
  const auto is_left = [](const SequencePtr& sequence) { return !sequence->was_passed_over; };
  is_short_of_room_ =
      std::ranges::any_of(waiting_, is_left) || std::ranges::any_of(skipped_, is_left);
}

std::vector<engine::SequencePtr> Scheduler::update(const ScheduledStep& step,
                                                   std::span<const std::int64_t> tokens) {
  ++steps_ended_;
  while (!deferred_.empty() && deferred_.front().step <= steps_ended_) {
    manager_.release(deferred_.front().blocks, deferred_.front().hashes);
    deferred_.pop_front();
  }
  return QueueScheduler::update(step, tokens);
}

/// A request's blocks come back: at once, or when the steps in flight have ended that may write
/// them.
void Scheduler::free_blocks(Sequence& sequence) {
  if (frees_at_once(sequence)) {
    manager_.release(sequence.blocks, sequence.block_hashes);
    return;
  }
  deferred_.push_back({.step = steps_formed_,
                       .blocks = std::exchange(sequence.blocks, {}),
                       .hashes = sequence.block_hashes});
}

/// long_prefill_token_threshold keeps a prefill from taking all of others' tokens: with one request
/// there are none.
std::int64_t Scheduler::prefill_threshold() const {
  const bool is_alone = num_running() + num_waiting() <= 1;
  const std::int64_t threshold = options_.long_prefill_token_threshold.value();
  if (options_.profile.leaves_single_prefill_whole && is_alone) {
    return 0;
  }
  const bool adapts = options_.profile.has_active_limit &&
                      options_.long_prefill_token_threshold_adaptive && threshold > 0;
  return adapts
             ? std::max(threshold,
                        options_.max_num_batched_tokens.value() / (num_running() + num_waiting()))
             : threshold;
}

/// Tokens that a running request has not computed yet, within its own limits.
std::int64_t Scheduler::tokens_to_run(const Sequence& sequence) const {
  std::int64_t tokens = sequence.num_tokens() + sequence.num_drafts + sequence.num_placeholders -
                        sequence.num_computed_tokens;
  if (threshold_ > 0) {
    tokens = std::min(tokens, threshold_);
  }
  const std::int64_t left = std::min(budget_, input_budget_ - draft_slots_);
  return std::min({tokens, left, last_position_ - sequence.num_computed_tokens});
}

/// A running request's chunk, cut to where states are kept, to images that have room, and to what
/// several draft modules read.
std::int64_t Scheduler::cut_chunk(Sequence& sequence, std::int64_t tokens) {
  const std::int64_t computed = sequence.num_computed_tokens;
  const auto align = [&](bool now) {
    if (keeps_states_ && tokens > 0 && now) {
      tokens = cut_to_states(sequence, computed, tokens, sequence.blocks.junction);
    }
  };
  align(options_.profile.aligns_before_images);
  tokens = cut_to_images(sequence, computed, tokens);
  align(!options_.profile.aligns_before_images);
  return spare_prompt_end(sequence, computed, tokens);
}

/// A chunk cut to images that are there or have room; notes which are to be encoded with it.
std::int64_t Scheduler::cut_to_images(Sequence& sequence,
                                      std::int64_t computed,
                                      std::int64_t tokens) {
  image_plan_ = {};
  if (sequence.images == nullptr || tokens <= 0) {
    return tokens;
  }
  image_plan_ = encoder_.plan(*sequence.images, computed, tokens);
  return image_plan_.tokens;
}

void Scheduler::take_images(Sequence& sequence) {
  if (sequence.images != nullptr) {
    encoder_.take(*sequence.images, image_plan_);
  }
}

/// With several draft modules a chunk of a prefill ends at its end, or as many tokens before it as
/// the modules read ahead; zero where it would be empty so. Source: scheduler.py at 017e9f4448,
/// 455-474.
std::int64_t Scheduler::spare_prompt_end(const Sequence& sequence,
                                         std::int64_t computed,
                                         std::int64_t tokens) const {
  const std::int64_t left = sequence.num_tokens() - computed - tokens;
  const std::int64_t ahead = options_.num_speculative_tokens;
  return options_.drafts_read_ahead && left > 0 && left < ahead
             ? std::max<std::int64_t>(tokens - (ahead - left), 0)
             : tokens;
}

/// Chunks of a prefill end where a block does, so that the state there can be kept, up to the last
/// such place; the rest of the prompt is a chunk of its own. A block that no chunk can fill is
/// computed in several. A chunk also ends at the junction (in blocks), whose state others can use.
/// Zero where less than a block is left of the budget. Source: _mamba_block_aligned_split
/// (vllm/v1/core/sched/scheduler.py).
std::int64_t Scheduler::cut_to_states(const Sequence& sequence,
                                      std::int64_t computed,
                                      std::int64_t tokens,
                                      std::int64_t junction) const {
  const std::int64_t known = sequence.num_tokens();
  const std::int64_t prefill_end = std::max(sequence.num_prompt_tokens, known - 1);
  if (computed >= prefill_end) {
    return tokens;  // A decode.
  }
  const std::int64_t block = manager_.block_size();
  std::int64_t end = computed + tokens;
  if (end < prefill_end) {
    const std::int64_t aligned = end / block * block;
    const std::int64_t threshold = options_.long_prefill_token_threshold.value();
    const std::int64_t most = threshold > 0 ? std::min(token_budget_, threshold) : token_budget_;
    end = aligned > computed || block <= most ? aligned : end;
  }
  const std::int64_t mid_block = computed % block == 0 ? 0 : (computed / block + 1) * block;
  for (const std::int64_t stop : {mid_block, last_kept_state(known), junction * block}) {
    if (stop > computed) {
      end = std::min(end, stop);
    }
  }
  return std::max<std::int64_t>(end - computed, 0);
}

/// The last place in a prefill of so many tokens whose state can be found.
std::int64_t Scheduler::last_kept_state(std::int64_t tokens) const {
  const std::int64_t block = manager_.block_size();
  if (manager_.drops_last_hit()) {
    return std::max<std::int64_t>(tokens / block * block - block, 0);
  }
  const std::int64_t spared =
      options_.profile.states_leave_token ? std::max<std::int64_t>(hash_ahead_, 1) : 0;
  return (tokens - spared) / block * block;
}

bool Scheduler::last_token_in_flight(const Sequence& sequence) const {
  return foresees_end_ && sequence.num_placeholders > 0 &&
         sequence.num_computed_tokens + 2 - sequence.num_placeholders >=
             sequence.num_prompt_tokens + sequence.max_tokens;
}

void Scheduler::schedule_running(ScheduledStep& step) {
  const bool goes_on = by_priority_ && options_.profile.serves_behind_self_preemption;
  for (std::size_t next = 0; next < singles_.size() && has_budget();) {
    Sequence& sequence = *singles_[next];
    std::int64_t tokens = tokens_to_run(sequence);
    const bool waits =
        calls_ < sequence.next_decode || (holds_prefills_ && sequence.is_prefill_chunk);
    const bool rests = tokens <= 0 || waits || last_token_in_flight(sequence);
    tokens = rests ? 0 : cut_chunk(sequence, tokens);
    if (tokens <= 0) {
      ++next;  // Everything of it is in flight, or has no room; younger requests may overtake.
      continue;
    }
    extend_members_before(sequence.place);
    if (!extend(sequence, tokens, lookahead_) && !make_room(sequence, tokens, step, next)) {
      if (goes_on && sequence.status == Status::kPreempted) {
        continue;  // It has gone: the next stands in its place.
      }
      return;
    }
    ++next;
    carries_prefill_ = carries_prefill_ || sequence.is_prefill_chunk;
    spend(tokens);
    put(step, sequence, tokens);
    take_images(sequence);
  }
  extend_members_before(std::numeric_limits<std::int64_t>::max());
}

/// The request that gives way: the last admitted, or the worst in the order of priority.
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
  victim.num_in_flight_tokens += scheduled->num_scheduled_tokens;
  return {.was_scheduled = true, .computed = scheduled->num_scheduled_tokens};
}

/// Preempts others until a running request's blocks can be extended; false if it had to go itself.
bool Scheduler::make_room(Sequence& sequence,
                          std::int64_t tokens,
                          ScheduledStep& step,
                          std::size_t& cursor) {
  begin_lookups();
  do {
    if (num_running() == 1 && take_from_loaded(sequence, tokens)) {
      return true;
    }
    const std::size_t place = choose_victim();
    const SequencePtr victim = running_[place];  // There are no members now.
    if (options_.profile.spares_deferred_victims && !frees_at_once(*victim)) {
      return false;
    }
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(place));
    singles_.erase(singles_.begin() + static_cast<std::ptrdiff_t>(place));
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
  if (options_.max_loras > 0) {
    note_adapters(step);
  }
  // Only running requests count: what this pass admits is not asked.
  const bool pads = options_.profile.pads_single_tokens_to_drafts &&
                    options_.num_speculative_tokens > 0 && options_.draft_levels.empty() &&
                    std::ranges::none_of(step, &ScheduledSequence::is_prefill);
  pads_beside_decodes_ = pads && !step.empty();
  pads_cached_ = pads && options_.profile.pads_beside_nothing;
  const std::int64_t seats = is_stuck_ ? 1 : seats_;
  while (has_waiting() && has_budget() && num_running() + num_asleep_ < seats) {
    const bool from_skipped =
        !skipped_.empty() && (options_.profile.has_kv_queue || waiting_.empty() || !by_priority_ ||
                              rank(*skipped_.front()) < rank(*waiting_.front()));
    if (pause_ == Pause::kNew && !(from_skipped && options_.profile.admits_loaded_when_paused)) {
      break;
    }
    Queue& queue = from_skipped ? skipped_ : waiting_;
    const SequencePtr sequence = queue.front();
    const Verdict verdict = try_admit(sequence, step);
    // Nothing behind a request that does not fit is tried; unless all that could make room are
    // requests behind it whose KV has arrived. vLLM would stand still there for ever.
    if (verdict == Verdict::kBlocked && !(running_.empty() && has_loaded_behind(*sequence))) {
      break;
    }
    queue.pop_front();
    sequence->was_passed_over = verdict != Verdict::kAdmitted;
    if (sequence->was_passed_over) {
      passed_over_.push_back(sequence);
    }
  }
  if (options_.profile.reverses_passed_over) {
    std::ranges::reverse(passed_over_);
  }
  for (; !passed_over_.empty(); passed_over_.pop_back()) {
    push_waiting(home_of(*passed_over_.back()), passed_over_.back(), true);
  }
  if (running_.empty() && num_asleep_ == 0 && !waits_for_others()) {
    end_standstill(step);
  }
}

/// The queue that a request passed over goes back to.
Scheduler::Queue& Scheduler::home_of(const Sequence& passed_over) {
  const bool apart =
      options_.profile.has_kv_queue ? passed_over.holds_kv() : options_.profile.has_skipped_queue;
  return apart ? skipped_ : waiting_;
}

void Scheduler::connect(KvConnector& connector) {
  RIDGELINE_CHECK(options_.kv_transfer && options_.enable_prefix_caching,
                  "KV is kept elsewhere by the hashes of the prefix cache");
  connector_ = &connector;
  begin_lookups();
}

/// Whether a waiting request other than this one holds blocks with KV that has arrived.
bool Scheduler::has_loaded_behind(const Sequence& blocked) const {
  return std::ranges::any_of(waiting(), [&](const SequencePtr& other) {
    return other.get() != &blocked && other->remote_arrived && other->status != Status::kAsleep &&
           !other->blocks.groups.empty();
  });
}

/// Waiting requests that hold blocks with KV that has arrived, in order.
std::vector<SequencePtr> Scheduler::loaded() const {
  std::vector<SequencePtr> holders = waiting();
  std::erase_if(holders, [](const SequencePtr& one) {
    return !one->remote_arrived || one->status == Status::kAsleep || one->blocks.groups.empty() ||
           one->num_in_flight_tokens > 0 || one->waits_for_grammar;
  });
  return holders;
}

/// A request whose KV has arrived gives its blocks back, and is looked up anew in its turn.
void Scheduler::give_back(Sequence& holder) {
  if (holder.status == Status::kLoading) {
    take_remote_tokens(holder);
  }
  manager_.release(holder.blocks, holder.block_hashes);
  holder.num_computed_tokens = holder.num_local_tokens = 0;
}

/// Requests whose KV has arrived may each lack the blocks that the others hold, while nothing runs
/// that could give any back. vLLM would stand still there for ever. Here the last ones give theirs
/// back until the first can run.
void Scheduler::end_standstill(ScheduledStep& step) {
  for (std::vector<SequencePtr> holders = loaded(); holders.size() > 1;) {
    give_back(*holders.back());
    holders.pop_back();
    if (try_admit(holders.front(), step) == Verdict::kAdmitted) {
      if (take_out(waiting_, *holders.front()) == nullptr) {
        take_out(skipped_, *holders.front());
      }
      return;
    }
  }
}

/// The only request that runs lacks blocks, and so preempts itself. Where it starts over with a
/// part of its prompt, and requests whose KV has arrived keep the blocks for the rest, vLLM does
/// that for ever. Here, where no token has come out since the last time, those give theirs back,
/// the last ones first, and nothing is admitted beside it until one comes. True if it has its
/// blocks.
bool Scheduler::take_from_loaded(Sequence& sequence, std::int64_t tokens) {
  const std::vector<SequencePtr> holders = loaded();
  if (holders.empty() && loading_.empty()) {
    return false;
  }
  is_stuck_ = std::exchange(preempted_alone_, true);
  if (!is_stuck_ || waits_for_others()) {
    return false;
  }
  return std::any_of(holders.rbegin(), holders.rend(), [&](const SequencePtr& holder) {
    give_back(*holder);
    return extend(sequence, tokens, lookahead_);
  });
}

void Scheduler::preempt(const SequencePtr& victim, std::int64_t computed) {
  free_blocks(*victim);
  if (victim->images != nullptr) {
    encoder_.withdraw(*victim->images);
  }
  victim->status = Status::kPreempted;
  victim->num_computed_tokens = computed;
  if (!options_.profile.hashes_less_all_drafts && !options_.profile.keeps_drafts_of_preempted) {
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
  step.push_back({.sequence = &sequence,
                  .num_computed_tokens = before,
                  .num_scheduled_tokens = tokens,
                  .num_drafts = drafts,
                  .is_prefill = before < sequence.prefill_end,
                  .samples = samples,
                  .place = sequence.place});
  sequence.is_prefill_chunk = !samples;
  skips_drafts_ = skips_drafts_ && !uses_drafts(sequence, samples);
  if (turns_of_decodes_ > 1 && samples) {
    sequence.next_decode = calls_ + turns_of_decodes_;
  }
  count_in_flight(step.back());
}

/// Whether a later step may verify what is drafted behind this one: not behind a chunk that samples
/// nothing, nor behind the last token, even if no draft is accepted until then.
bool Scheduler::uses_drafts(const Sequence& sequence, bool samples) const {
  const std::int64_t sure =
      sequence.num_output_tokens + 1 + (sequence.num_placeholders > 0 ? 1 : 0);
  return samples && sure < sequence.max_tokens;
}

void Scheduler::count_in_flight(const ScheduledSequence& part) const {
  auto& sequence = static_cast<Sequence&>(*part.sequence);
  sequence.num_computed_tokens += part.num_scheduled_tokens;
  sequence.num_in_flight_tokens += part.num_scheduled_tokens;
  if (part.num_drafts > 0 || part.samples || !options_.profile.keeps_drafts_of_preempted) {
    sequence.num_drafts = 0;
  }
  if (options_.async_scheduling && part.samples) {
    sequence.num_placeholders += 1 + part.num_drafts;
    sequence.num_drafts = options_.num_speculative_tokens;
  }
}

/// How many drafts follow a step is known once all its requests are.
void Scheduler::choose_drafts(const ScheduledStep& step) {
  const std::int64_t drafts = domain::drafts_after(
      options_.draft_levels, std::ssize(step), options_.num_speculative_tokens);
  next_drafts_ = drafts;
  for (const ScheduledSequence& part : step) {
    auto& sequence = static_cast<Sequence&>(*part.sequence);
    sequence.drafts_to_come = drafts;
    if (options_.async_scheduling && part.samples) {
      sequence.num_drafts = drafts;
    }
  }
}

/// Undoes what count_in_flight() did to the request.
void Scheduler::take_back(const ScheduledSequence& part) const {
  auto& sequence = static_cast<Sequence&>(*part.sequence);
  sequence.num_computed_tokens -= part.num_scheduled_tokens;
  sequence.num_in_flight_tokens -= part.num_scheduled_tokens;
  if (options_.async_scheduling && part.samples) {
    sequence.num_placeholders -= 1 + part.num_drafts;
    sequence.num_drafts = 0;
  }
}

/// With its blocks, unless it holds them.
SequencePtr Scheduler::remove(Sequence& sequence) {
  if (sequence.decoding.is_member) {
    leave_decodes(sequence);
  }
  std::erase(singles_, &sequence);
  SequencePtr removed = QueueScheduler::remove(sequence);
  if (removed == nullptr) {
    removed = take_out(skipped_, sequence);
  }
  RIDGELINE_CHECK(removed != nullptr, "a request that is removed is in a list");
  if (sequence.images != nullptr) {
    encoder_.release(*sequence.images);
  }
  num_asleep_ -= sequence.status == Status::kAsleep ? 1 : 0;
  sequence.status = Status::kFinished;
  const bool is_stored = connector_ != nullptr && connector_->hold(sequence.record.id);
  if (sequence.holds_blocks || is_stored) {
    holding_.emplace(
        sequence.record.id,
        Holding{.sequence = removed, .readers = sequence.holds_blocks && is_stored ? 2 : 1});
  } else {
    free_blocks(sequence);
  }
  return removed;
}

void Scheduler::drop(const SequencePtr& sequence) {
  if (sequence->status == Status::kFinished) {
    return;
  }
  sequence->holds_blocks = false;
  if (!sequence->remote_arrived && options_.profile.remote_abort_waits_for_load) {
    std::erase(waiting_, sequence);
    std::erase(skipped_, sequence);
    sequence->status = Status::kFinished;
  } else {
    remove(*sequence);
    loading_.erase({sequence->record.id, sequence->load});
  }
}

std::vector<engine::SequencePtr> Scheduler::drain() {
  for (const auto& [id, sequence] : loading_) {
    if (sequence->status == Status::kFinished) {  // Aborted on the way: it is in no list.
      manager_.release(sequence->blocks, sequence->block_hashes);
    }
  }
  loading_.clear();
  preempted_alone_ = is_stuck_ = false;
  std::vector<engine::SequencePtr> inside = QueueScheduler::drain();
  steps_ended_ = steps_formed_;
  for (Deferred& deferred : deferred_) {
    manager_.release(deferred.blocks, deferred.hashes);
  }
  deferred_.clear();
  while (!holding_.empty()) {
    release_blocks(holding_.begin()->first);
  }
  return inside;
}

bool Scheduler::reset_prefix_cache(bool preempts) {
  while (preempts && !running_.empty()) {
    const SequencePtr last = running_.back();
    if (last->decoding.is_member) {
      leave_decodes(*last);
    }
    std::erase(singles_, last.get());
    running_.pop_back();
    preempt(last, 0);
    last->num_lost_tokens = last->num_in_flight_tokens;
    last->num_placeholders = 0;
  }
  return manager_.reset_prefix_cache();
}

void Scheduler::keep_kv_changes(const KvHistory& history) {
  begin_lookups();
  manager_.pool().keep_changes(history);
}

void Scheduler::tell_kv_events(KvEventSink& sink) {
  begin_lookups();
  manager_.tell_kv_events(sink);
}

core::Tokens Scheduler::cached_prefix(const domain::Request& request, std::optional<KvLook> look) {
  if (!options_.enable_prefix_caching) {
    return {};
  }
  Sequence sequence(request, options_.max_model_len);
  if (sequence.states_content) {
    begin_lookups();
  }
  if (!kv_cache().has_lookups()) {
    return {};
  }
  extend_hash_chain(sequence);
  const std::int64_t block_size = manager_.block_size();
  const std::int64_t most = (sequence.num_prompt_tokens - 1) / block_size;
  manager_.pool().look_back_to(look);
  const std::int64_t blocks = manager_.find_prefix(sequence.block_hashes, most).num_blocks;
  manager_.pool().look_back_to(std::nullopt);
  return core::Tokens(blocks * block_size);
}

bool Scheduler::extend(Sequence& sequence, std::int64_t tokens, std::int64_t lookahead) {
  const std::int64_t most = options_.max_model_len.value();
  const std::int64_t computed = sequence.num_computed_tokens;
  const std::int64_t end = std::min(computed + tokens + lookahead, most);
  const std::int64_t in_flight =
      options_.profile.windows_keep_steps_in_flight ? sequence.num_in_flight_tokens : 0;
  manager_.drop_left_of_windows(sequence.blocks, sequence.block_hashes, computed - in_flight);
  if (!manager_.extend(sequence.blocks, end)) {
    return false;
  }
  const std::int64_t withheld =
      options_.profile.hashes_less_all_drafts ? sequence.num_drafts : std::int64_t{0};
  hash_full_blocks(sequence, computed + tokens - withheld);
  return true;
}

void Scheduler::hash_full_blocks(Sequence& sequence, std::int64_t tokens) {
  const std::int64_t all = sequence.num_tokens();
  const std::int64_t known = std::min(std::min(tokens, all) - rewritten_, all - hash_ahead_);
  if (keeps_states_ && !sequence.blocks.groups.empty()) {
    manager_.renew_last_state(sequence.blocks, sequence.block_hashes, known);
  }
  if (!options_.enable_prefix_caching ||
      (known < sequence.blocks.hashed_below &&
       known < (sequence.num_hashes_made + 1) * manager_.block_size())) {
    return;
  }
  if (kv_cache().has_lookups()) {
    extend_hash_chain(sequence);
  }
  manager_.hash_full_blocks(sequence.record.id, sequence.blocks, sequence.block_hashes, known);
  while (known >= (sequence.num_hashes_made + 1) * manager_.block_size()) {
    ++sequence.num_hashes_made;
  }
}

void Scheduler::extend_hash_chain(Sequence& sequence) const {
  const std::int64_t block_size = manager_.block_size();
  BlockHashes& hashes = sequence.block_hashes;
  // An adapter changes every activation, hence every KV block.
  const std::uint64_t root = sequence.lora.value();
  if (hashes.empty() && sequence.num_tokens() >= block_size + hash_ahead_) {
    hashes = manager_.known_hashes(sequence.tokens.hash_block(root, 0, block_size + hash_ahead_),
                                   sequence.tokens);
    hashes.reserve(
        static_cast<std::size_t>((sequence.num_prompt_tokens + sequence.stop_after) / block_size));
  }
  std::uint64_t hash = hashes.empty() ? root : hashes.back();
  std::int64_t end = static_cast<std::int64_t>(hashes.size() + 1) * block_size + hash_ahead_;
  for (const std::int64_t known = sequence.num_tokens(); end <= known; end += block_size) {
    // What the block before it has read ahead is in that one's hash.
    hash = sequence.tokens.hash_block(hash, hashes.empty() ? 0 : end - block_size, end);
    hashes.push_back(hash);
  }
}

}  // namespace ridgeline::engine::vllm::plain
