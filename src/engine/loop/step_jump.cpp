// The jump of the step loop: rounds of quiet steps, priced and reported without a loop over their
// tokens.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/step.hpp"
#include "engine/loop/pace.hpp"
#include "engine/loop/step_loop.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"

namespace ridgeline::engine {
namespace {

/// How often in so many rounds the step in a place of the ring ends, and is formed anew.
std::int64_t times_in(std::int64_t rounds, std::size_t place, std::size_t depth) {
  const auto steps = static_cast<std::int64_t>(depth);
  return (rounds - static_cast<std::int64_t>(place) + steps - 1) / steps;
}

}  // namespace

core::SimTime StepLoop::QuietRun::end_of(std::int64_t n) const {
  const auto listed = static_cast<std::int64_t>(ends.size());
  return n <= listed ? ends[static_cast<std::size_t>(n - 1)]
                     : ends.back() + pace->length(n - listed);
}

/// Takes as many rounds at once as are quiet and end before `limit`; false where there is none.
bool StepLoop::jump(core::SimTime limit) {
  QuietRun& run = run_;
  run.clear();
  if (!is_quiet(run)) {
    return false;
  }
  if (inputs_.options.num_speculative_tokens > 0) {
    jump_with_drafts(limit, run.most);
    return true;
  }
  start_run(run);
  if (run.delay > core::Duration()) {
    // The round's step must be formed before `limit` too.
    if (core::SimTime::saturating_sum(run.ends.front(), run.delay) >= limit) {
      return false;
    }
    limit = limit == core::SimTime::never() ? limit : limit - run.delay;
  }
  if (const auto place = on_line(run)) {
    run.pace = place->pace;
    cut_at(limit, run);
    count_on_line(*place, run);
  } else {
    plan_step_by_step(limit, run);
  }
  if (run.rounds == 0) {
    return false;
  }
  take_rounds(run);
  return true;
}

/// What the steps in flight say of those to come.
void StepLoop::start_run(QuietRun& run) {
  for (std::size_t place = 0; place < depth_; ++place) {
    run.ends.push_back(in_flight(place).end);
  }
  run.shared_context = scheduler_->counts().shared_context;
  run.mask = in_flight(0).mask;
  run.delay = delays_forming_ ? run.mask : core::Duration();
}

/// When the requests of a step in flight that repeats itself had their last token.
core::SimTime StepLoop::last_token_of(const InFlight& step) const {
  return step.members.count > 0 ? scheduler_->decodes().last_end()
                                : step.step.front().sequence->last_token;
}

/// Does the rounds of a run, whose times are known and counted.
void StepLoop::take_rounds(QuietRun& run) {
  ring_.clear();
  for (std::size_t place = 0; place < depth_; ++place) {
    ring_.push_back(&in_flight(place).step);
  }
  report_gaps(run);
  const std::int64_t used = scheduler_->used_blocks();
  const bool has_members = !scheduler_->decodes().empty();
  hold_blocks(run, used, scheduler_->advance_quiet(ring_, run.rounds));
  if (has_members) {
    scheduler_->decodes().set_last_end(run.end_of(run.rounds));
  }
  for (const domain::StepRecord& record : run.log) {
    inputs_.sink.on_steps(record);
  }
  move_steps(run);
  totals_.jumped_steps += run.rounds;
}

/// Whether the steps in flight repeat themselves for a while: they are full, the requests of each
/// had their last token together, and the scheduler knows of rounds to come.
bool StepLoop::is_quiet(QuietRun& run) {
  if (num_in_flight_ < depth_) {
    return false;
  }
  for (std::size_t place = 0; place < depth_; ++place) {
    if (!in_flight(place).is_decodes) {
      return false;
    }
  }
  const std::int64_t quiet = scheduler_->quiet_steps();
  if (quiet == 0) {
    return false;
  }
  if (const std::int64_t members = scheduler_->decodes().count(); members > 0) {
    for (std::size_t place = 0; place < depth_; ++place) {
      if (!in_flight(place).step.empty() || in_flight(place).members.count != members) {
        return false;
      }
    }
    run.steps_per_request = static_cast<std::int64_t>(depth_);
    run.most = std::min(quiet, scheduler_->decodes().steps_left());
    return run.most > 0;
  }
  std::int64_t parts = 0;
  std::int64_t tokens = std::numeric_limits<std::int64_t>::max();  // That each may still be given.
  for (std::size_t place = 0; place < depth_; ++place) {
    const InFlight& step = in_flight(place);
    parts += static_cast<std::int64_t>(step.step.size());
    const core::SimTime last = step.step.front().sequence->last_token;
    for (const ScheduledSequence& part : step.step) {
      const Sequence& sequence = *part.sequence;
      // The part of a request that has left is not continued.
      if (sequence.has_ended || sequence.last_token != last || last == core::SimTime::never()) {
        return false;
      }
      tokens = std::min(tokens, sequence.stop_after - sequence.num_delivered_tokens);
    }
  }
  const std::int64_t running = scheduler_->counts().running;
  const auto depth = static_cast<std::int64_t>(depth_);
  if (parts != running && parts != running * depth) {
    return false;  // Some have left, or are in no step.
  }
  run.steps_per_request = parts / running;
  const bool is_masked = std::ranges::any_of(
      steps_, [](const InFlight& step) { return step.mask > core::Duration(); });
  if (is_masked && (inputs_.options.num_speculative_tokens > 0 || run.steps_per_request != depth)) {
    return false;  // Masks may differ from step to step.
  }
  run.most = std::min(quiet, tokens * (depth / run.steps_per_request));
  return run.most > 0;
}

/// Rounds of steps with drafts that end before `limit`, `rounds` at most: what a step brings, and
/// so what the one formed at its end takes, is drawn round by round. Scheduling alone is spared.
void StepLoop::jump_with_drafts(core::SimTime limit, std::int64_t rounds) {
  for (; rounds > 0 && in_flight(0).end < limit && !past_horizon_; --rounds) {
    hand_out_tokens();
    scheduler_->advance_round(in_flight(0).step, tokens_);
    totals_.peak_used_blocks =
        std::max(totals_.peak_used_blocks, core::Blocks(scheduler_->used_blocks()));
    retire_oldest();
    past_horizon_ = !launch(in_flight(num_in_flight_));
    ++totals_.jumped_steps;
  }
}

/// The run as one row of the step log.
void StepLoop::log_on_line(const OnLine& place, QuietRun& run) {
  const InFlight& newest = in_flight(depth_ - 1);
  domain::StepTime first = place.first;
  first.add(domain::Bottleneck::kOverhead, run.pace->period - first.gpu());
  run.log.push_back({.first_step = totals_.steps,
                     .steps = run.rounds,
                     .start = newest.end,
                     .period = run.pace->period,
                     .period_growth = run.pace->growth,
                     .num_decodes = place.decodes,
                     .decode_context = newest.context + core::Tokens(place.decodes),
                     .shared_context = run.shared_context,
                     .num_prefills = 0,
                     .prefill_tokens = {},
                     .prefill_context = {},
                     .time = first,
                     .gpu_growth = place.line->slope * place.decodes,
                     .growth_kind = place.line->slope_kind,
                     .used_blocks = {}});
}

/// Steps of one composition on the model's line. Nothing where the model has no line, or a
/// pipeline's stages decide when steps end.
std::optional<StepLoop::OnLine> StepLoop::on_line(const QuietRun& run) {
  const auto depth = static_cast<std::int64_t>(depth_);
  if (inputs_.options.pipeline_depth > 0 || run.steps_per_request != depth) {
    return std::nullopt;
  }
  const InFlight& newest = in_flight(depth_ - 1);
  const std::int64_t decodes = newest.num_requests();
  const core::Tokens context =
      newest.context + core::Tokens(decodes) - inputs_.model.spared_context(run.shared_context);
  const domain::AffineStep* const line =
      context >= core::Tokens(0) ? times_.line(decodes, context) : nullptr;
  if (line == nullptr) {
    return std::nullopt;
  }
  domain::StepTime first = line->at(context);
  const core::Duration cpu = inputs_.host.of(decodes, line->base.cpu);
  first.cpu = core::Duration::saturating_sum(cpu, run.mask);
  const Pace pace =
      pace_of({.gpu = first.gpu(),
               .slope = line->slope,
               .host = HostWork::of(inputs_.options, cpu, run.mask, inputs_.host.front(decodes)),
               .room = line->highest - context},
              decodes,
              run.most);
  return OnLine{.line = line, .context = context, .decodes = decodes, .first = first, .pace = pace};
}

/// As many rounds at the run's pace as end by the horizon, and before `limit`.
void StepLoop::cut_at(core::SimTime limit, QuietRun& run) {
  const auto depth = static_cast<std::int64_t>(depth_);
  const core::SimTime newest_end = run.ends.back();
  run.rounds = run.pace->batches_within(inputs_.horizon - newest_end + core::Duration::ticks(1),
                                        run.pace->batches);
  const auto before_limit = std::count_if(
      run.ends.begin(), run.ends.end(), [&](core::SimTime end) { return end < limit; });
  if (before_limit < depth) {
    run.rounds = std::min<std::int64_t>(run.rounds, before_limit);
  } else if (run.rounds > depth) {
    run.rounds = depth + run.pace->batches_within(limit - newest_end, run.rounds - depth);
  }
}

/// The steps of a run, at its pace, in closed form.
void StepLoop::count_on_line(const OnLine& place, QuietRun& run) {
  if (run.rounds == 0) {
    return;
  }
  const core::Tokens all = place.context * run.rounds +
                           core::Tokens(place.decodes * sum_below(run.rounds));  // Their contexts.
  const core::Duration busy = run.pace->length(run.rounds);
  domain::StepTime sum;
  sum.add(place.line->base, run.rounds);
  sum.add(place.line->slope_kind, place.line->slope * all.value());
  sum.add(domain::Bottleneck::kOverhead, busy - sum.gpu());
  sum.cpu = place.first.cpu * run.rounds;
  if (inputs_.options.log_steps) {
    log_on_line(place, run);
  }
  count(sum, busy, run.rounds);
}

/// Steps priced one by one, each in place of the one that ended before it was formed.
void StepLoop::plan_step_by_step(core::SimTime limit, QuietRun& run) {
  for (; run.rounds < run.most; ++run.rounds) {
    const auto round = static_cast<std::size_t>(run.rounds);
    const core::SimTime ended = run.ends[round];
    if (ended >= limit) {
      return;
    }
    const InFlight& before = in_flight(round % depth_);
    const std::int64_t further =
        run.steps_per_request * static_cast<std::int64_t>(round / depth_ + 1);  // Tokens, each.
    decode_lengths_.clear();
    for (const ScheduledSequence& part : before.step) {
      if (!needs_decode_lengths_) {
        break;
      }
      decode_lengths_.emplace_back(part.num_computed_tokens + further);
    }
    const std::int64_t decodes = before.num_requests();
    const domain::StepBatch batch{
        .num_decodes = decodes,
        .decode_context = before.context + core::Tokens(decodes * further),
        .shared_context = run.shared_context,
        .decode_lengths = decode_lengths_,
        .prefills = {}};
    const Priced priced = price(batch, decodes, run.mask, ended, run.ends.back());
    if (priced.end > inputs_.horizon) {
      return;
    }
    if (inputs_.options.log_steps) {
      run.log.push_back(domain::StepRecord::of_one(
          totals_.steps, batch, priced.start, priced.end - priced.start, priced.time, {}));
    }
    count(priced.time, priced.end - priced.start, 1);
    run.ends.push_back(priced.end);
  }
}

/// Reports for each round the time since the requests of its step had their last token.
void StepLoop::report_gaps(const QuietRun& run) {
  std::vector<core::SimTime>& last = last_tokens_;  // Last token of each step in flight.
  last.clear();
  for (std::size_t place = 0; place < depth_; ++place) {
    last.push_back(last_token_of(in_flight(place)));
  }
  const bool one_composition = run.steps_per_request == static_cast<std::int64_t>(depth_);
  const std::int64_t singly =
      run.pace ? std::min(run.rounds, static_cast<std::int64_t>(depth_)) : run.rounds;
  for (std::int64_t round = 0; round < singly; ++round) {
    const std::size_t place = static_cast<std::size_t>(round) % depth_;
    const core::SimTime end = run.end_of(round + 1);
    inputs_.sink.on_token_gaps({.gap = end - last[place],
                                .growth = {},
                                .count = 1,
                                .requests = in_flight(place).num_requests()});
    if (one_composition) {
      std::fill(last.begin(), last.end(), end);
    } else {
      last[place] = end;
    }
  }
  if (run.rounds > singly) {
    inputs_.sink.on_token_gaps({.gap = run.pace->period,
                                .growth = run.pace->growth,
                                .count = run.rounds - singly,
                                .requests = in_flight(0).num_requests()});
  }
}

/// `used` blocks were in use before the run.
void StepLoop::hold_blocks(QuietRun& run, std::int64_t used, std::span<const BlockChange> changes) {
  std::size_t logged = 0;
  const auto log_until = [&](std::int64_t rounds) {  // So many rounds have been formed.
    for (; logged < run.log.size() && static_cast<std::int64_t>(logged) < rounds; ++logged) {
      run.log[logged].used_blocks = core::Blocks(used);
    }
  };
  for (const BlockChange& change : changes) {
    hold_blocks_until(run.end_of(change.step + 1) + run.delay, used);
    if (!run.pace) {  // Else one record stands for all steps formed.
      log_until(change.step);
    }
    used = change.used_blocks;
    totals_.peak_used_blocks = std::max(totals_.peak_used_blocks, core::Blocks(used));
  }
  hold_blocks_until(run.end_of(run.rounds) + run.delay, used);
  log_until(run.rounds);
}

/// The requests have their tokens, and the steps in flight are those formed last.
void StepLoop::move_steps(const QuietRun& run) {
  for (std::size_t place = 0; place < depth_; ++place) {
    const std::int64_t times = times_in(run.rounds, place, depth_);
    if (times == 0) {
      continue;
    }
    InFlight& step = in_flight(place);
    const std::int64_t last_round =
        static_cast<std::int64_t>(place) + (times - 1) * static_cast<std::int64_t>(depth_);
    const core::SimTime last = run.end_of(last_round + 1);
    for (const ScheduledSequence& part : step.step) {
      part.sequence->num_delivered_tokens += times;
      part.sequence->last_token = std::max(part.sequence->last_token, last);
    }
    const std::int64_t further = run.steps_per_request * times;
    step.members.context += core::Tokens(step.members.count * further);
    step.members.number += further;
    step.context += core::Tokens(step.num_requests() * run.steps_per_request * times);
  }
  for (std::size_t ahead = 0; ahead < depth_; ++ahead) {
    const std::int64_t number = run.rounds + static_cast<std::int64_t>(ahead);
    in_flight(static_cast<std::size_t>(number) % depth_).end = run.end_of(number + 1);
  }
  oldest_ = (oldest_ + static_cast<std::size_t>(run.rounds)) % depth_;
}

}  // namespace ridgeline::engine
