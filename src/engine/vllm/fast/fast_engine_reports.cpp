// What the engine reports, and what ends requests from outside.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/int128.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/step.hpp"
#include "engine/engine.hpp"
#include "engine/leg.hpp"
#include "engine/loop/pace.hpp"
#include "engine/options.hpp"
#include "engine/vllm/fast/decode_set.hpp"
#include "engine/vllm/fast/fast_engine.hpp"
#include "engine/vllm/fast/scheduler_runs.hpp"
#include "engine/vllm/fast/step_lines.hpp"

namespace ridgeline::engine::vllm::fast {

/// AffineStep::at() with the rest of the period as overhead. Plain sums: the step's times lie
/// within simulated time.
void FastEngine::put_time_on_line(const domain::AffineStep& step,
                                  core::Tokens context,
                                  core::Duration gpu,
                                  core::Duration period,
                                  domain::StepTime& time) {
  const core::Duration grown = step.slope * context.value();
  for (std::size_t kind = 0; kind < domain::kNumBottlenecks; ++kind) {
    time.by_bottleneck[kind] = step.base.by_bottleneck[kind];
  }
  time.by_bottleneck[static_cast<std::size_t>(step.slope_kind)] += grown;
  time.by_bottleneck[static_cast<std::size_t>(domain::Bottleneck::kOverhead)] += period - gpu;
}

void FastEngine::log_step(const Batch& batch, core::Duration period, const domain::StepTime& time) {
  inputs_.sink.on_steps(domain::StepRecord::of_one(batch.number,
                                                   batch.view(),
                                                   batch.start,
                                                   period,
                                                   time,
                                                   core::Blocks(scheduler_.cache().num_used())));
}

EngineTotals FastEngine::totals() const {
  RIDGELINE_CHECK(used_block_ticks_ >= 0, "engine: blocks are in use for some time");
  EngineTotals totals = totals_;
  totals.steps = scheduler_.num_batches();
  const domain::StepTime on_lines = lines_.total();
  totals.step_time.add(on_lines);
  totals.step_time.by_bottleneck[static_cast<std::size_t>(domain::Bottleneck::kOverhead)] +=
      totals_.busy - busy_off_lines_ - on_lines.gpu();
  totals.preemptions = scheduler_.num_preemptions();
  const std::int64_t unit =
      inputs_.options.profile.prefix_stats_in_blocks ? inputs_.options.block_size.value() : 1;
  totals.prefix_queries = core::Tokens(scheduler_.prefix_counts().queries * unit);
  totals.prefix_hits = core::Tokens(scheduler_.prefix_counts().hits * unit);
  totals.used_block_seconds = static_cast<double>(used_block_ticks_) * 1e-12;
  return totals;
}

void FastEngine::drop_all() {
  num_in_flight_ = 0;
  schedule_due_ = false;
  hand_over_gaps();
  scheduler_.drain(domain::Outcome::kUnfinished, core::SimTime::never(), inputs_.sink);
}

void FastEngine::fail_all(core::SimTime at) {
  hold_blocks_until(at);
  num_in_flight_ = 0;
  schedule_due_ = false;
  hand_over_gaps();
  scheduler_.drain(domain::Outcome::kFailed, at, inputs_.sink);
}

void FastEngine::stall(core::SimTime from, core::SimTime until) {
  const core::Duration delay = until - from;
  hand_over_gaps();
  for (std::size_t i = 0; i < num_in_flight_; ++i) {
    Batch& batch = in_flight(i);
    batch.end = core::SimTime::saturating_sum(batch.end, delay);
    batch.continues_run = false;  // The gap before its tokens is longer.
    past_horizon_ = past_horizon_ || batch.end > inputs_.horizon;
  }
  hold_blocks_until(until);
}

InstanceState FastEngine::state(core::SimTime at) const {
  RIDGELINE_CHECK(at >= now_ && at <= next_instant(), "state asked for an instant not reached");
  return {.at = at,
          .running = scheduler_.num_running(),
          .waiting = scheduler_.num_waiting(),
          .queued_prompt_tokens = scheduler_.queued_prompt_tokens(),
          .used_blocks = core::Blocks(scheduler_.cache().num_used()),
          .free_blocks = core::Blocks(scheduler_.cache().num_free())};
}

void FastEngine::abort(core::RequestId id, core::SimTime at) {
  RIDGELINE_CHECK(at >= now_, "request aborted in the past");
  hold_blocks_until(at);
  std::array<Batch*, kMaxDepth> batches{};
  for (std::size_t i = 0; i < num_in_flight_; ++i) {
    batches[i] = &in_flight(i);
  }
  scheduler_.abort(id, std::span(batches.data(), num_in_flight_), inputs_.sink);
  if (scheduler_.num_waiting() > 0) {
    wake(at);  // For blocks that it held without a seat.
  }
}

void FastEngine::finish_load(LoadId id, core::SimTime at, bool arrived) {
  RIDGELINE_CHECK(at >= now_, "KV arrived in the past");
  hold_blocks_until(at);
  scheduler_.finish_load(id.request, arrived);
  wake(at);
}

void FastEngine::release_blocks(core::RequestId id, core::SimTime at) {
  RIDGELINE_CHECK(at >= now_, "blocks released in the past");
  hold_blocks_until(at);
  scheduler_.release_blocks(id);
  wake(at);
}

void FastEngine::report_loads() {
  for (const LoadStart& load : scheduler_.load_starts()) {
    inputs_.loads->on_load_start(load, now_);
  }
}

void FastEngine::report_prefills(const Batch& batch) {
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    const Slot& slot = scheduler_.slot(batch.items[i].slot);
    const domain::PrefillChunk& chunk = batch.prefills[i];
    if (slot.reports_steps) {
      inputs_.loads->on_prefill_step({.request = slot.record.id,
                                      .before = chunk.past,
                                      .through = chunk.past + chunk.new_tokens,
                                      .start = batch.start,
                                      .end = batch.end},
                                     now_);
    }
  }
}

void FastEngine::hand_over_tokens(const Batch& batch) {
  scheduler_.list_tokens(batch, token_events_);
  if (!token_events_.empty()) {
    inputs_.tokens->on_tokens(now_, token_events_);
  }
}

void FastEngine::log_run(const Run& run) {
  const domain::AffineStep& step = lines_.step_of(*run.line);
  // Times in their place: a copy of what was just written would wait for it.
  domain::StepRecord& record = run_record_;
  record.first_step = run.first;
  record.steps = run.formed;
  record.start = run.start;
  record.period = run.period;
  record.period_growth = run.growth;
  record.num_decodes = run.decodes;
  record.decode_context = run.context + run.spared;
  record.shared_context = run.shared;
  record.gpu_growth = step.slope * run.decodes;
  record.growth_kind = step.slope_kind;
  record.used_blocks = core::Blocks(scheduler_.cache().num_used());
  put_time_on_line(step, run.context, run.line->gpu(run.context), run.period, record.time);
  record.time.cpu = run.line->cpu;
  inputs_.sink.on_steps(record);
}

}  // namespace ridgeline::engine::vllm::fast
