#include "engine/loop/step_loop.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/int128.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/step.hpp"
#include "domain/token_sink.hpp"
#include "engine/acceptance.hpp"
#include "engine/engine.hpp"
#include "engine/kv_connector.hpp"
#include "engine/leg.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/pipeline.hpp"
#include "engine/progress.hpp"

namespace ridgeline::engine {

StepLoop::StepLoop(const EngineInputs& inputs, std::unique_ptr<StepScheduler> scheduler, bool jump)
    : inputs_(inputs),
      scheduler_(std::move(scheduler)),
      times_(inputs.model,
             jump && !inputs.model.needs_decode_lengths() && inputs.options.pipeline_depth == 0),
      keeps_history_(inputs.kv_history.kept > core::Duration()),
      jump_(jump && inputs.tokens == nullptr && inputs.kv_events == nullptr && !keeps_history_),
      needs_decode_lengths_(inputs.model.needs_decode_lengths()),
      delays_forming_(inputs.options.grammars && inputs.options.async_scheduling &&
                      inputs.options.pipeline_depth == 0),
      depth_(static_cast<std::size_t>(steps_in_flight(inputs.options))),
      steps_(depth_),
      first_use_(inputs.options.first_use) {
  if (keeps_history_) {
    scheduler_->keep_kv_changes(inputs.kv_history);
  }
  if (inputs.kv_events != nullptr) {
    scheduler_->tell_kv_events(*inputs.kv_events);
  }
  scheduler_->decodes().gather(jump_ && !needs_decode_lengths_ && scheduler_->can_gather());
}

void StepLoop::submit(const domain::Request& request, core::SimTime queued) {
  submit_leg(request, queued, {});
}

void StepLoop::submit_leg(const domain::Request& request, core::SimTime queued, const Leg& leg) {
  RIDGELINE_CHECK(queued >= now_, "request submitted in the past");
  RIDGELINE_CHECK(queued <= inputs_.horizon, "request submitted after the horizon");
  const SequencePtr sequence = scheduler_->add_leg(request, leg);
  if (sequence == nullptr) {
    Sequence refused(request, inputs_.options.max_model_len);
    refused.record.queued = queued;
    refused.record.outcome = domain::Outcome::kRejected;
    inputs_.sink.on_request(refused.record);
    return;
  }
  sequence->record.queued = queued;
  await_grammar(sequence, queued);
  wake(queued);
}

/// A grammar is compiled from its first request on, beside everything else, and kept.
void StepLoop::await_grammar(const SequencePtr& sequence, core::SimTime queued) {
  if (!sequence->grammar.valid()) {
    return;
  }
  RIDGELINE_CHECK(inputs_.options.grammars, "a grammar of which the options know nothing");
  const core::SimTime compiled =
      core::SimTime::saturating_sum(queued, inputs_.options.grammars->compile);
  const core::SimTime ready = grammars_.try_emplace(sequence->grammar, compiled).first->second;
  if (ready > queued) {
    sequence->waits_for_grammar = true;
    compiling_.emplace(ready, sequence);
  }
}

/// Requests whose grammars are compiled by now wait for them no longer.
void StepLoop::release_grammars() {
  while (next_grammar() <= now_) {
    compiling_.begin()->second->waits_for_grammar = false;
    compiling_.erase(compiling_.begin());
  }
}

/// Something changed at `at`: a step may be formed, unless one is in flight.
void StepLoop::wake(core::SimTime at) {
  if (num_in_flight_ == 0 && !schedule_due_) {
    hold_blocks_until(at, scheduler_->used_blocks());
    schedule_due_ = true;
  }
}

void StepLoop::finish_load(LoadId id, core::SimTime at, bool arrived) {
  RIDGELINE_CHECK(at >= now_, "KV arrived in the past");
  hold_blocks_until(at, scheduler_->used_blocks());
  scheduler_at(at).finish_load(id, arrived);
  wake(at);
}

void StepLoop::release_blocks(core::RequestId id, core::SimTime at) {
  RIDGELINE_CHECK(at >= now_, "blocks released in the past");
  hold_blocks_until(at, scheduler_->used_blocks());
  scheduler_at(at).release_blocks(id);
  wake(at);
}

/// Blocks of answers are stored step by step.
void StepLoop::connect(KvConnector& connector) {
  connector_ = &connector;
  scheduler_->connect(connector);
  jump_ = jump_ && !connector.stores_answers();
  scheduler_->decodes().gather(jump_ && scheduler_->decodes().gathers());
}

void StepLoop::abort(core::RequestId id, core::SimTime at) {
  RIDGELINE_CHECK(at >= now_, "request aborted in the past");
  hold_blocks_until(at, scheduler_->used_blocks());
  if (const SequencePtr sequence = scheduler_at(at).abort(id); sequence != nullptr) {
    take_leavers();
    report_end(sequence, domain::Outcome::kAborted);
    std::erase_if(compiling_, [&](const auto& wait) { return wait.second == sequence; });
  }
  if (scheduler_->counts().waiting > 0) {
    wake(at);  // For blocks that it held without a seat.
  }
}

void StepLoop::report_end(const SequencePtr& sequence, domain::Outcome outcome) {
  sequence->end(outcome);
  inputs_.sink.on_request(sequence->record);
  if (num_in_flight_ > 0) {
    in_flight(num_in_flight_ - 1).left.push_back(sequence);
  }
}

/// So many blocks were in use from now_ on. What is held while no step is in flight is not counted:
/// the mean is over steps.
void StepLoop::hold_blocks_until(core::SimTime now, std::int64_t used) {
  if (num_in_flight_ > 0) {
    used_block_ticks_ += static_cast<core::Int128>(used) * (now - now_).count();
  }
  now_ = now;
}

core::SimTime StepLoop::next_instant() const {
  if (schedule_due_) {
    return forms_at();
  }
  return num_in_flight_ > 0 ? steps_[oldest_].end : next_grammar();
}

InstanceState StepLoop::state(core::SimTime at) const {
  RIDGELINE_CHECK(at >= now_ && at <= next_instant(), "state asked for an instant not reached");
  const SchedulerCounts counts = scheduler_->counts();
  return {.at = at,
          .running = counts.running,
          .waiting = counts.waiting,
          .queued_prompt_tokens = scheduler_->queued_prompt_tokens(),
          .used_blocks = core::Blocks(counts.used_blocks),
          .free_blocks = core::Blocks(counts.free_blocks)};
}

Pause StepLoop::advance(core::SimTime limit, bool pause_at_completion, std::int64_t max_segments) {
  for (std::int64_t segments = 0;; ++segments) {
    if (schedule_due_) {
      if (forms_at() >= limit) {
        return Pause::kLimit;
      }
      if (masks_until_ > now_) {
        hold_blocks_until(masks_until_, scheduler_->used_blocks());
      }
      schedule_due_ = false;
      past_horizon_ = !fill_pipeline();
    }
    if (past_horizon_) {
      return Pause::kHorizon;
    }
    if (num_in_flight_ == 0 && !compiling_.empty()) {
      if (next_grammar() >= limit) {
        return Pause::kLimit;
      }
      if (next_grammar() > inputs_.horizon) {
        return Pause::kHorizon;
      }
      wake(next_grammar());
      continue;
    }
    if (num_in_flight_ == 0) {
      RIDGELINE_CHECK(scheduler_->counts().waiting == 0 || scheduler_->waits_for_others(),
                      "requests wait although nothing runs");
      return Pause::kIdle;
    }
    if (in_flight(0).end >= limit) {
      return Pause::kLimit;
    }
    if (segments >= max_segments) {
      return Pause::kBudget;
    }
    if (jump_ && jump(limit)) {
      continue;
    }
    const bool finished = complete_oldest();
    schedule_due_ = true;
    if (finished && pause_at_completion) {
      return Pause::kCompletion;
    }
  }
}

/// Where in the ring the step stands that many places behind the oldest in flight.
std::size_t StepLoop::ring_place(std::size_t place) const {
  const std::size_t at = oldest_ + place;
  return at < depth_ ? at : at - depth_;
}

core::SimTime StepLoop::newest_end() {
  return num_in_flight_ == 0 ? now_ : in_flight(num_in_flight_ - 1).end;
}

/// Forms steps until as many are in flight as can be; false if one of them would end after the
/// horizon.
bool StepLoop::fill_pipeline() {
  while (num_in_flight_ < depth_) {
    InFlight& next = in_flight(num_in_flight_);
    if (!form(next)) {
      return true;
    }
    if (!launch(next)) {
      return false;
    }
  }
  return true;
}

/// Asks the scheduler for the next step; false where there is nothing to run.
bool StepLoop::form(InFlight& next) {
  release_grammars();
  while (true) {
    const std::int64_t preemptions = scheduler_->num_preemptions();
    scheduler_at(now_).schedule(next.step);
    for (const LoadStart& load : scheduler_->load_starts()) {
      inputs_.loads->on_load_start(load, now_);
    }
    for (const SequencePtr& sequence : scheduler_->take_failed()) {
      sequence->record.failed = now_;
      report_end(sequence, domain::Outcome::kAborted);
    }
    totals_.peak_used_blocks =
        std::max(totals_.peak_used_blocks, core::Blocks(scheduler_->used_blocks()));
    take_leavers();
    next.members = scheduler_->decodes().in_step();
    if (next.num_requests() > 0) {
      scheduler_->decodes().form();
      return true;
    }
    if (num_in_flight_ > 0 || scheduler_->num_preemptions() == preemptions) {
      return false;
    }
  }
}

/// Members of the scheduler's set that have left it stand in the steps in flight by themselves, as
/// if they had never been in it.
void StepLoop::take_leavers() {
  if (!scheduler_->decodes().has_leavers()) {
    return;
  }
  const std::vector<DecodeSet::Leaver> leavers = scheduler_->decodes().take_leavers();
  for (std::size_t place = 0; place < num_in_flight_; ++place) {
    InFlight& in = in_flight(place);
    const std::int64_t number = in.members.number;
    for (const DecodeSet::Leaver& leaver : leavers) {
      if (number < leaver.joined) {
        continue;
      }
      const std::int64_t computed = leaver.base + number;
      --in.members.count;
      in.members.context -= core::Tokens(computed);
      in.step.push_back({.sequence = leaver.sequence,
                         .num_computed_tokens = computed,
                         .num_scheduled_tokens = 1,
                         .samples = true,
                         .place = leaver.place});
    }
    std::ranges::sort(in.step, {}, &ScheduledSequence::place);
  }
}

/// The step as the model sees it.
domain::StepBatch StepLoop::batch_of(InFlight& next) {
  prefills_.clear();
  decode_lengths_.clear();
  next.context = next.members.context;
  next.is_decodes = true;
  next.mask = mask_of(next.step);
  domain::StepBatch batch;
  batch.num_decodes = next.members.count;
  for (const ScheduledSequence& part : next.step) {
    next.is_decodes = next.is_decodes && !part.is_prefill &&
                      part.num_drafts == inputs_.options.num_speculative_tokens;
    const core::Tokens before(part.num_computed_tokens);
    if (part.is_decode()) {
      ++batch.num_decodes;
      next.context += before;
      if (needs_decode_lengths_) {
        decode_lengths_.push_back(before);
      }
      continue;
    }
    // Drafts are verified as a short prefill is computed: all at once, after what is cached.
    prefills_.push_back({.past = before,
                         .new_tokens = core::Tokens(part.num_scheduled_tokens),
                         .samples = part.samples,
                         .drafts = part.is_prefill ? 0 : part.num_drafts});
    auto& record = part.sequence->record;
    record.first_scheduled = std::min(record.first_scheduled, now_);
  }
  batch.decode_context = next.context;
  batch.shared_context = scheduler_->counts().shared_context;
  batch.decode_lengths = decode_lengths_;
  batch.prefills = prefills_;
  return batch;
}

/// Each token that a request with a grammar samples, and each draft of it, has a mask.
core::Duration StepLoop::mask_of(const ScheduledStep& step) const {
  if (!inputs_.options.grammars) {
    return {};
  }
  std::int64_t masks = 0;
  for (const ScheduledSequence& part : step) {
    masks += part.samples && part.sequence->grammar.valid() ? 1 + part.num_drafts : 0;
  }
  return core::Duration::saturating_product(inputs_.options.grammars->mask, masks);
}

/// What a step takes that is formed at `now`, when the newest in flight ends at `newest_end`.
StepLoop::Priced StepLoop::price(const domain::StepBatch& batch,
                                 std::int64_t requests,
                                 core::Duration mask,
                                 core::SimTime now,
                                 core::SimTime newest_end) {
  domain::StepTime time = times_.of(batch);
  const core::Duration stall =
      batch.prefills.empty() ? core::Duration() : first_use_.take(batch.num_tokens());
  time.add(domain::Bottleneck::kOverhead, stall);
  if (const core::Duration copy = scheduler_->copy_time(); copy > time.gpu()) {
    time.add(domain::Bottleneck::kOverhead, copy - time.gpu());
  }
  const core::Duration cpu = inputs_.host.of(requests, time.cpu);
  time.cpu = core::Duration::saturating_sum(cpu, mask);
  const core::Duration gpu = time.gpu();
  const core::Duration duration =
      HostWork::of(inputs_.options, cpu, mask, inputs_.host.front(requests)).period(gpu);
  time.add(domain::Bottleneck::kOverhead, duration - gpu);
  if (inputs_.options.pipeline_depth == 0) {
    return {.time = time,
            .start = newest_end,
            .end = core::SimTime::saturating_sum(newest_end, duration)};
  }
  // The host's work that nothing hides stands before the first stage.
  std::vector<core::Duration> stages = inputs_.model.stages(batch);
  stages.front() = core::Duration::saturating_sum(stages.front(), stall + (duration - gpu));
  const core::SimTime end = pipeline_.pass(now, stages);
  if (end <= inputs_.horizon) {
    // Other steps are in other stages: this one's share of the time is how much later it ends.
    time = in_proportion(time, end - newest_end);
  }
  return {.time = time, .start = newest_end, .end = end};
}

void StepLoop::count(const domain::StepTime& time, core::Duration busy, std::int64_t steps) {
  totals_.steps += steps;
  totals_.busy += busy;
  totals_.step_time.add(time);
}

/// Puts a step in flight; false where it would end after the horizon.
bool StepLoop::launch(InFlight& next) {
  const domain::StepBatch batch = batch_of(next);
  const Priced priced = price(batch, next.num_requests(), next.mask, now_, newest_end());
  if (priced.end > inputs_.horizon) {
    return false;
  }
  put_in_flight(next, batch, priced);
  return true;
}

void StepLoop::put_in_flight(InFlight& next, const domain::StepBatch& batch, const Priced& priced) {
  if (inputs_.options.log_steps && next.num_requests() > 0) {
    inputs_.sink.on_steps(domain::StepRecord::of_one(totals_.steps,
                                                     batch,
                                                     priced.start,
                                                     priced.end - priced.start,
                                                     priced.time,
                                                     core::Blocks(scheduler_->used_blocks())));
  }
  count(priced.time, priced.end - priced.start, 1);
  next.end = priced.end;
  ++num_in_flight_;
  if (inputs_.options.kv_transfer) {
    report_prefills(next.step, priced);
  }
}

void StepLoop::report_prefills(const ScheduledStep& step, const Priced& priced) {
  for (const ScheduledSequence& part : step) {
    if (part.is_prefill && part.sequence->reports_steps) {
      inputs_.loads->on_prefill_step(
          {.request = part.sequence->record.id,
           .before = core::Tokens(part.num_computed_tokens),
           .through = core::Tokens(part.num_computed_tokens + part.num_scheduled_tokens),
           .start = priced.start,
           .end = priced.end},
          now_);
    }
  }
}

/// The oldest step ends: its tokens reach the clients.
void StepLoop::hand_out_tokens() {
  const InFlight& oldest = in_flight(0);
  hold_blocks_until(oldest.end, scheduler_->used_blocks());
  draw_tokens(oldest.step);
  deliver(oldest);
  hand_over_gaps();
  hand_over_tokens();
  if (steps_without_tokens_ == kMostStepsWithoutTokens) {
    end_without_progress(inputs_.options.scheduler, state(now_));
  }
}

void StepLoop::retire_oldest() {
  in_flight(0).left.clear();
  oldest_ = oldest_ + 1 < depth_ ? oldest_ + 1 : 0;
  --num_in_flight_;
  if (num_in_flight_ > 0 && delays_forming_) {
    // The tokens that its masks follow from are there now.
    masks_until_ = core::SimTime::saturating_sum(now_, in_flight(0).mask);
  }
}

bool StepLoop::complete_oldest() {
  scheduler_->retire_decodes();
  take_leavers();
  hand_out_tokens();
  scheduler_->decodes().end(in_flight(0).members, now_);
  const std::vector<SequencePtr> finished = scheduler_at(now_).update(in_flight(0).step, tokens_);
  for (const SequencePtr& sequence : finished) {
    report_end(sequence, sequence->outcome_at_stop);
  }
  if (inputs_.kv_events != nullptr) {
    inputs_.kv_events->on_step_end(now_);
  }
  retire_oldest();
  return !finished.empty();
}

/// What comes out for each request of a step: a token, and the drafts before it that are accepted.
/// Drafts that only fill up a batch (those of a prefill) never are.
void StepLoop::draw_tokens(const ScheduledStep& step) {
  tokens_.assign(step.size(), 1);
  if (inputs_.options.num_speculative_tokens == 0) {
    return;
  }
  for (std::size_t i = 0; i < step.size(); ++i) {
    const ScheduledSequence& part = step[i];
    if (part.samples && part.num_drafts > 0 && !part.is_prefill) {
      tokens_[i] += accepted_drafts(inputs_.options,
                                    part.sequence->record.id,
                                    part.sequence->num_verifications++,
                                    part.num_drafts);
    }
  }
}

/// The step's tokens go to the clients, but for those behind a request's end: the first a gap after
/// the one before, the others (drafts that were accepted) with it.
void StepLoop::deliver(const InFlight& ended) {
  const ScheduledStep& step = ended.step;
  ++steps_without_tokens_;
  if (ended.members.count > 0) {
    steps_without_tokens_ = 0;
    add_gaps(ended.members.count, now_ - scheduler_->decodes().last_end());
  }
  for (std::size_t i = 0; i < step.size(); ++i) {
    Sequence& sequence = *step[i].sequence;
    const std::int64_t delivered =
        std::min(tokens_[i], sequence.stop_after - sequence.num_delivered_tokens);
    if (!step[i].samples || sequence.has_ended || sequence.drops_tokens || delivered <= 0) {
      continue;
    }
    steps_without_tokens_ = 0;
    if (sequence.num_delivered_tokens == 0) {
      sequence.record.first_token = now_;
      if (inputs_.first_tokens != nullptr) {
        inputs_.first_tokens->on_first_token(sequence.record.id, now_);
      }
    } else {
      add_gaps(1, now_ - sequence.last_token);
    }
    if (delivered > 1) {
      add_gaps(delivered - 1, core::Duration());
    }
    sequence.num_delivered_tokens += delivered;
    sequence.last_token = now_;
    if (inputs_.tokens != nullptr) {
      token_events_.push_back({.request = sequence.record.id, .tokens = core::Tokens(delivered)});
    }
  }
}

/// Runs of equal gaps together: there are few different ones in a step.
void StepLoop::add_gaps(std::int64_t tokens, core::Duration gap) {
  for (domain::TokenGaps& run : gaps_) {
    if (run.gap == gap) {
      run.requests += tokens;
      return;
    }
  }
  gaps_.push_back({.gap = gap, .growth = {}, .count = 1, .requests = tokens});
}

void StepLoop::hand_over_gaps() {
  for (const domain::TokenGaps& gaps : gaps_) {
    inputs_.sink.on_token_gaps(gaps);
  }
  gaps_.clear();
}

void StepLoop::hand_over_tokens() {
  if (token_events_.empty()) {
    return;
  }
  std::ranges::sort(token_events_, {}, &domain::TokenEvent::request);
  inputs_.tokens->on_tokens(now_, token_events_);
  token_events_.clear();
}

EngineTotals StepLoop::totals() const {
  const SchedulerCounts counts = scheduler_->counts();
  EngineTotals totals = totals_;
  totals.preemptions = counts.preemptions;
  totals.prefix_queries = counts.prefix_queries;
  totals.prefix_hits = counts.prefix_hits;
  totals.used_block_seconds = static_cast<double>(used_block_ticks_) * 1e-12;
  return totals;
}

void StepLoop::drop_all() {
  num_in_flight_ = 0;
  schedule_due_ = false;
  compiling_.clear();
  for (const SequencePtr& sequence : scheduler_->drain()) {
    report_end(sequence, domain::Outcome::kUnfinished);
  }
}

void StepLoop::fail_all(core::SimTime at) {
  hold_blocks_until(at, scheduler_->used_blocks());
  num_in_flight_ = 0;
  schedule_due_ = false;
  compiling_.clear();
  for (const SequencePtr& sequence : scheduler_->drain()) {
    sequence->record.failed = at;
    report_end(sequence, domain::Outcome::kFailed);
  }
}

void StepLoop::stall(core::SimTime from, core::SimTime until) {
  const core::Duration delay = until - from;
  for (std::size_t place = 0; place < num_in_flight_; ++place) {
    core::SimTime& end = in_flight(place).end;
    end = core::SimTime::saturating_sum(end, delay);
    past_horizon_ = past_horizon_ || end > inputs_.horizon;
  }
  pipeline_.stall(from, delay);
  if (masks_until_ > from) {
    masks_until_ = core::SimTime::saturating_sum(masks_until_, delay);
  }
  hold_blocks_until(until, scheduler_->used_blocks());
}

}  // namespace ridgeline::engine
