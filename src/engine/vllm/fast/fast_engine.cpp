#include "engine/vllm/fast/fast_engine.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
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
#include "engine/engine.hpp"
#include "engine/leg.hpp"
#include "engine/loop/pace.hpp"
#include "engine/options.hpp"
#include "engine/progress.hpp"
#include "engine/vllm/fast/decode_set.hpp"
#include "engine/vllm/fast/scheduler_runs.hpp"
#include "engine/vllm/fast/step_lines.hpp"

namespace ridgeline::engine::vllm::fast {

void FastEngine::submit_leg(const domain::Request& request, core::SimTime queued, const Leg& leg) {
  RIDGELINE_CHECK(queued >= now_, "request submitted in the past");
  RIDGELINE_CHECK(queued <= inputs_.horizon, "request submitted after the horizon");
  if (!scheduler_.fits(request)) [[unlikely]] {
    inputs_.sink.on_request(Scheduler::refusal(request, queued));
    return;
  }
  RIDGELINE_CHECK(inputs_.options.kv_transfer || leg == Leg(),
                  "KV from elsewhere without kv_transfer");
  scheduler_.add(request, queued, leg);
  wake(queued);
}

/// Something changed at `at`: a batch may be formed, unless one is in flight.
void FastEngine::wake(core::SimTime at) {
  if (num_in_flight_ == 0 && !schedule_due_) {
    now_ = at;
    schedule_due_ = true;
  }
}

core::SimTime FastEngine::next_instant() const {
  if (schedule_due_) {
    return now_;
  }
  return num_in_flight_ > 0 ? in_flight(0).end : core::SimTime::never();
}

/// The end of the first batch in flight that brings a first token, where those are reported, or a
/// request's last one. If none
/// does, that of the batch of decodes with which a request ends next; or of the last batch before
/// it that is certain.
core::SimTime FastEngine::next_visible() {
  core::SimTime end = next_instant();
  if (scheduler_.may_report()) [[unlikely]] {
    return end;
  }
  for (std::size_t i = 0; i < num_in_flight_; ++i) {
    const Batch& batch = in_flight(i);
    end = batch.end;
    const auto items = batch.items.span();
    const bool has_first =
        inputs_.first_tokens != nullptr &&
        std::any_of(items.begin(), items.end(), [](const auto& item) { return item.first; });
    if (has_first || scheduler_.request_ends_in(batch.number)) {
      expected_ = scheduler_.fetch_ending(batch.number);
      return end;
    }
  }
  const std::int64_t batches = scheduler_.batches_to_next_end();
  if (batches > 0) {
    expected_ = scheduler_.fetch_ending(scheduler_.num_batches() + batches - 1);
  }
  const std::optional<Decodes> decodes = batches > 0 ? next_decodes(batches) : std::nullopt;
  if (!decodes) {
    return end;
  }
  // Twice at most: until the GPU's time has grown past the host's, and from then on.
  core::Tokens context = decodes->context;
  for (std::int64_t left = decodes->most; left > 0 && decodes->line->holds(context);) {
    const Pace pace = pace_on(*decodes->line, context, left);
    const std::int64_t in_time = pace.batches_within(room_from(end), pace.batches);
    end += pace.length(in_time);
    context += core::Tokens(scheduler_.decodes().count() * in_time);
    left = in_time < pace.batches ? 0 : left - in_time;
  }
  return end;
}

/// The request is in no batch that is in flight: the next batch with it begins when those have
/// ended.
core::SimTime FastEngine::next_visible_with(const domain::Request& request, core::SimTime at) {
  const core::SimTime without = next_visible();
  if (at >= without) {
    return without;
  }
  if (num_in_flight_ == 0 || !scheduler_.fits(request)) {
    return at;
  }
  if (const std::optional<core::SimTime> end = end_of_first_with(request, at, without)) {
    return *end;
  }
  return std::min(without, std::max(at, in_flight(num_in_flight_ - 1).end));
}

/// The end of the first batch with a request that comes at `at`, where that is sure to hold its
/// whole prompt and the decodes, where lines have the times, and where no request ends before that
/// batch begins (`next_end`: the next that does). It is formed as the first batch from `at` on
/// ends; those formed before are of decodes alone.
std::optional<core::SimTime> FastEngine::end_of_first_with(const domain::Request& request,
                                                           core::SimTime at,
                                                           core::SimTime next_end) {
  /// More would cost more than looking again.
  constexpr std::int64_t kMostBefore = 4;
  core::SimTime start = in_flight(num_in_flight_ - 1).end;
  if (num_in_flight_ < depth_ || next_end <= start ||
      inputs_.options.first_use != FirstUseStalls() ||
      !scheduler_.takes_whole_prompt_within(kMostBefore + 1, request)) {
    return std::nullopt;
  }
  const DecodeSet& decodes = scheduler_.decodes();
  const core::Tokens saved = spared(scheduler_.shared_context());
  std::int64_t batch = scheduler_.num_batches();
  const auto end_with = [&](std::int64_t prompt) {
    const core::Tokens context = std::max(decodes.context(batch) - saved, core::Tokens(0));
    const StepLines::Line* const line = prompt == 0 ? lines_.at(decodes.count(), context)
                                                    : lines_.at(decodes.count(), prompt, context);
    if (line == nullptr) {
      return core::SimTime::never();
    }
    const core::Duration front = inputs_.host.front(decodes.count() + (prompt == 0 ? 0 : 1));
    return start + step_period(line->gpu(context), line->cpu, front, hides_host_);
  };
  for (core::SimTime formed = in_flight(0).end; at > formed; ++batch) {
    const core::SimTime end = end_with(0);
    if (next_end <= end || batch - scheduler_.num_batches() == kMostBefore) {
      return std::nullopt;
    }
    formed = depth_ == 1 ? end : start;  // The next batch to end: the newest before that one.
    start = end;
  }
  const core::SimTime end = end_with(request.prompt_tokens.value());
  return end <= inputs_.horizon ? std::optional(end) : std::nullopt;
}

Pause FastEngine::advance(core::SimTime limit,
                          bool pause_at_completion,
                          std::int64_t max_segments) {
  if (const SlotIndex next = std::exchange(expected_, kNoSlot); next != kNoSlot) {
    scheduler_.fetch_neighbours(next);
    inputs_.sink.expect(scheduler_.slot(next).record.id);
  }
  for (std::int64_t segments = 0;; ++segments) {
    while (schedule_due_) {
      if (now_ >= limit) {
        return Pause::kLimit;
      }
      schedule_due_ = false;
      fill_pipeline(limit, pause_at_completion);
    }
    if (past_horizon_) [[unlikely]] {
      return Pause::kHorizon;
    }
    if (num_in_flight_ == 0) {
      RIDGELINE_CHECK(scheduler_.num_waiting() == 0 || scheduler_.waits_for_others(),
                      "requests wait although nothing runs");
      hand_over_gaps();
      return Pause::kIdle;
    }
    if (in_flight(0).end >= limit) {
      return Pause::kLimit;
    }
    if (segments >= max_segments) {
      return Pause::kBudget;
    }
    const std::int64_t ended = complete_oldest();
    schedule_due_ = true;
    if (ended > 0 && pause_at_completion) {
      return Pause::kCompletion;
    }
  }
}

/// Forms batches until the pipeline is full. Where a run of batches is possible, forms the run
/// instead and lets some of its batches end; then another batch may be due (schedule_due_).
void FastEngine::fill_pipeline(core::SimTime limit, bool pause_at_completion) {
  while (num_in_flight_ < depth_) {
    if (jump_ && num_in_flight_ + 1 == depth_) {
      const std::int64_t most = scheduler_.repeatable_batches();
      if (most > 0 && take_run(most, limit, pause_at_completion)) {
        return;
      }
    }
    Batch& batch = in_flight(num_in_flight_);
    const core::SimTime newest_end = num_in_flight_ == 0 ? now_ : in_flight(num_in_flight_ - 1).end;
    const bool formed = scheduler_.schedule(batch, now_, newest_end);
    note_peak();
    if (!scheduler_.load_starts().empty()) [[unlikely]] {
      report_loads();
    }
    if (formed) {
      if (!launch(batch)) [[unlikely]] {
        past_horizon_ = true;
        return;
      }
      if (inputs_.options.kv_transfer) [[unlikely]] {
        report_prefills(batch);
      }
    } else if (num_in_flight_ > 0 || !scheduler_.preempted_in_last_call()) {
      return;
    }
  }
}

/// The line for a batch of decodes with at most one whole prompt; null if the model has none.
StepLines::Line* FastEngine::line_of(const Batch& batch, core::Tokens context) {
  if (batch.items.empty()) {
    return lines_.at(batch.num_decodes, context);
  }
  const domain::PrefillChunk& chunk = batch.prefills.front();
  if (batch.prefills.size() > 1 || chunk.past > core::Tokens(0) || !chunk.samples) {
    return nullptr;
  }
  return lines_.at(batch.num_decodes, chunk.new_tokens.value(), context);
}

/// Puts a batch in flight. Returns false, and changes nothing, if it would end after the horizon.
bool FastEngine::launch(Batch& batch) {
  const core::Tokens context =
      std::max(batch.decode_context - spared(batch.shared_context), core::Tokens(0));
  RIDGELINE_CHECK(num_in_flight_ < depth_, "engine: a batch enters where there is room in flight");
  batch.start = num_in_flight_ == 0 ? now_ : in_flight(num_in_flight_ - 1).end;
  const core::Duration room = inputs_.horizon - batch.start;
  const auto sequences = batch.num_decodes + static_cast<std::int64_t>(batch.items.size());
  const core::Duration front = inputs_.host.front(sequences);
  core::Duration gpu;
  core::Duration period;
  const core::Duration stall =
      batch.items.empty() ? core::Duration() : first_use_.take(batch.view().num_tokens());
  StepLines::Line* const line = stall > core::Duration() ? nullptr : line_of(batch, context);
  if (line != nullptr) [[likely]] {
    gpu = line->gpu(context);
    period = step_period(gpu, line->cpu, front, hides_host_);
    if (period > room) [[unlikely]] {
      return false;
    }
    line->count(1, context);
    if (inputs_.options.log_steps) {
      domain::StepTime time;
      put_time_on_line(lines_.step_of(*line), context, gpu, period, time);
      time.cpu = line->cpu;
      log_step(batch, period, time);
    }
  } else {
    domain::StepTime time = time_off_lines(batch);
    time.add(domain::Bottleneck::kOverhead, stall);
    gpu = time.gpu();
    period = step_period(gpu, time.cpu, front, hides_host_);
    if (period > room) [[unlikely]] {
      return false;
    }
    time.add(domain::Bottleneck::kOverhead, period - gpu);
    totals_.step_time.add(time);
    busy_off_lines_ += period;
    if (inputs_.options.log_steps) {
      log_step(batch, period, time);
    }
  }
  RIDGELINE_CHECK(gpu >= core::Duration(), "step-time model: a step takes no negative time");
  ++num_in_flight_;
  totals_.busy += period;
  batch.end = batch.start + period;
  return true;
}

/// The time of a batch without a line: the GPU's and the host's.
domain::StepTime FastEngine::time_off_lines(const Batch& batch) const {
  domain::StepTime time = inputs_.model.predict(batch.view());
  time.cpu =
      inputs_.host.of(batch.num_decodes + static_cast<std::int64_t>(batch.items.size()), time.cpu);
  return time;
}

std::int64_t FastEngine::complete_oldest() {
  const Batch& batch = in_flight(0);
  hold_blocks_until(batch.end);
  std::swap(in_flight_[0], in_flight_[1]);
  --num_in_flight_;
  if (batch.continues_run && batch.num_decodes - batch.wasted_decodes == held_gaps_.requests) {
    ++held_gaps_.count;
  } else {
    hand_over_gaps();
    scheduler_.report_gaps(batch, now_, inputs_.sink);
  }
  if (inputs_.tokens != nullptr) [[unlikely]] {
    hand_over_tokens(batch);
  }
  if (inputs_.first_tokens != nullptr && !batch.items.empty()) [[unlikely]] {
    scheduler_.report_first_tokens(batch, now_, *inputs_.first_tokens);
  }
  // The buffer stays valid: no batch is formed before update() returns.
  const std::int64_t ended = scheduler_.update(batch, now_, inputs_.sink);
  // A prefill that samples ends its request, or the next batch decodes it.
  if (ended > 0 || batch.num_decodes > batch.wasted_decodes) [[likely]] {
    batches_without_tokens_ = 0;
  } else if (++batches_without_tokens_ == kMostStepsWithoutTokens) [[unlikely]] {
    end_without_progress(inputs_.options.scheduler, state(now_));
  }
  return ended;
}

void FastEngine::hand_over_gaps() {
  if (held_gaps_.count > 0) {
    RIDGELINE_CHECK(held_gaps_.requests > 0, "token gaps: requests that a run's gaps belong to");
    inputs_.sink.on_token_gaps(held_gaps_);
    held_gaps_ = kNoGaps;
  }
}

/// Up to `most` batches of the decodes, as long as there are free blocks. None where not even one
/// batch can be formed, or none is on a line.
std::optional<Decodes> FastEngine::next_decodes(std::int64_t most) {
  const DecodeSet& decodes = scheduler_.decodes();
  const std::int64_t first = scheduler_.num_batches();
  most = decodes.batches_within(scheduler_.cache().num_free(), first, most);
  if (most == 0) {
    return std::nullopt;
  }
  const core::Tokens shared = scheduler_.shared_context();
  const core::Tokens saved = spared(shared);
  const core::Tokens context = decodes.context(first) - saved;
  StepLines::Line* const line =
      context >= core::Tokens(0) ? lines_.at(decodes.count(), context) : nullptr;
  if (line == nullptr) {
    return std::nullopt;
  }
  return Decodes{.most = most, .line = line, .context = context, .shared = shared, .spared = saved};
}

/// The run from here, as far as next_decodes() and the horizon permit. None where not even one
/// batch can be formed.
std::optional<Run> FastEngine::plan_run(std::int64_t most,
                                        core::SimTime limit,
                                        bool pause_at_completion) {
  const std::optional<Decodes> decodes = next_decodes(most);
  if (!decodes) {
    return std::nullopt;
  }
  const Pace pace = pace_on(*decodes->line, decodes->context, decodes->most);
  const bool has_older = num_in_flight_ > 0;
  const core::SimTime start = has_older ? in_flight(0).end : now_;
  most = pace.batches_within(room_from(start), pace.batches);
  if (most == 0) [[unlikely]] {
    return std::nullopt;
  }
  if (has_older && (start >= limit ||
                    (pause_at_completion && scheduler_.request_ends_in(in_flight(0).number)))) {
    most = 1;
  }
  // A request may end with the last batch: complete_oldest() ends that one later.
  const std::int64_t ended = most > 1 ? pace.batches_within(limit - start, most - 1) : 0;
  const Run run{.line = decodes->line,
                .first = scheduler_.num_batches(),
                .decodes = scheduler_.decodes().count(),
                .context = decodes->context,
                .shared = decodes->shared,
                .spared = decodes->spared,
                .start = start,
                .period = pace.period,
                .growth = pace.growth,
                .ended = ended,
                .formed = std::min(most, ended + static_cast<std::int64_t>(depth_))};
  RIDGELINE_CHECK(run.ended >= 0 && run.ended < run.formed,
                  "run: its last batch is formed and stays in flight");
  return run;
}

/// Forms and ends a run. Precondition: the next `most` batches hold the same decodes unless a
/// request arrives. The run's batches that end before `limit` end here, and so does the batch in
/// flight before the run. The last batch never ends here: a request may end with it. Returns false,
/// and changes nothing, where not even one batch can be formed.
bool FastEngine::take_run(std::int64_t most, core::SimTime limit, bool pause_at_completion) {
  const std::optional<Run> planned = plan_run(most, limit, pause_at_completion);
  if (!planned) {
    return false;
  }
  const Run& run = *planned;
  const DecodeSet& decodes = scheduler_.decodes();
  const bool has_older = num_in_flight_ > 0;
  scheduler_.begin_forming_decodes();
  scheduler_.form_decodes(1, decodes.blocks_in(run.first));
  if (has_older && run.formed > 1) {
    note_peak();
    complete_oldest();
    scheduler_.form_decodes(1, decodes.blocks_in(run.first + 1));
  }
  if (run.ended > 0) {
    end_batches(run);
  }
  note_peak();
  scheduler_.enter_single_blocks_after_run();
  put_in_flight(run);
  count(run);
  if (inputs_.options.log_steps) {
    log_run(run);
  }
  schedule_due_ = num_in_flight_ < depth_;
  return true;
}

/// Ends the first run.ended batches of a run. As each batch ends, another one is formed.
void FastEngine::end_batches(const Run& run) {
  const DecodeSet& decodes = scheduler_.decodes();
  const std::int64_t next = scheduler_.num_batches();
  const std::int64_t later = run.first + run.formed - next;
  const core::Duration whole = run.length(run.ended);
  const DecodeSet::NewBlocks blocks = decodes.new_blocks(next, later);
  // A block taken at the end of the i-th batch is in use for the rest of the run's length.
  used_block_ticks_ +=
      static_cast<core::Int128>(whole.count()) * (scheduler_.cache().num_used() + blocks.number) -
      static_cast<core::Int128>(run.period.count()) * blocks.places -
      static_cast<core::Int128>(run.growth.count()) * blocks.pairs();
  if (later > 0) {
    scheduler_.form_decodes(later, blocks.number);
  }
  now_ = run.start + whole;
  scheduler_.end_decodes(run.ended, now_);
  hand_over_gaps();
  held_gaps_ = {
      .gap = run.period, .growth = run.growth, .count = run.ended, .requests = run.decodes};
}

void FastEngine::put_in_flight(const Run& run) {
  core::SimTime start = run.ended > 0 ? now_ : run.start;
  for (std::int64_t i = run.ended; i < run.formed; ++i) {
    RIDGELINE_CHECK(num_in_flight_ < depth_,
                    "engine: a batch enters where there is room in flight");
    Batch& batch = in_flight(num_in_flight_);
    ++num_in_flight_;
    batch.set_decodes(run.first + i, run.decodes);
    batch.continues_run = run.ended > 0;
    batch.decode_context = run.context + run.spared + core::Tokens(run.decodes * i);
    batch.shared_context = run.shared;
    batch.start = start;
    batch.end = start + run.period + run.growth * i;
    start = batch.end;
  }
}

void FastEngine::count(const Run& run) {
  const core::Tokens grown(run.decodes * sum_below(run.formed));
  run.line->count(run.formed, run.context * run.formed + grown);
  totals_.busy += in_flight(num_in_flight_ - 1).end - run.start;
  totals_.jumped_steps += run.ended;
}

std::unique_ptr<Engine> make_engine(const EngineInputs& inputs, bool jump) {
  if (!Scheduler::covers(inputs.options) || inputs.kv_history.kept > core::Duration() ||
      inputs.kv_events != nullptr) {
    return nullptr;
  }
  return std::make_unique<FastEngine>(inputs, jump);
}

}  // namespace ridgeline::engine::vllm::fast
