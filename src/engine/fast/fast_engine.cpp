#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
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
#include "engine/engine.hpp"
#include "engine/fast/decode_set.hpp"
#include "engine/fast/scheduler.hpp"
#include "engine/options.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::engine {
namespace {

using fast::Batch;

/// first, first + growth, ...: the sum of the first `count` terms. A run is at most as long as
/// FinishRing sees, so that the sum stays far below the range of simulated time.
core::Duration series(core::Duration first, core::Duration growth, std::int64_t count) {
  return first * count + growth * (count * (count - 1) / 2);
}

/// A run of decode-only batches of one composition, from the oldest in flight on.
struct Run {
  const domain::AffineStep& step;
  core::Tokens context;  ///< Of the first batch, less what sharing spares.
  core::Tokens shared;   ///< domain::StepBatch::shared_context, of each.
  core::Tokens spared;
  std::int64_t growth = 0;  ///< Context per batch: the number of decodes.
  core::Duration cpu;       ///< Host time, the same for all.
  core::Duration period;    ///< Of the first batch.
  core::Duration period_growth;
  std::int64_t batches = 0;  ///< For how many this form holds.
};

/// The engine that users run: reference semantics (engine/reference/), batch by batch where the
/// batch changes and in closed form where it does not.
class FastEngine final : public Engine {
 public:
  FastEngine(const EngineInputs& inputs, bool jump)
      : inputs_(inputs),
        jump_(jump),
        async_(inputs.options.async_scheduling),
        scheduler_(inputs.options, {.decode_lengths = inputs.model.needs_decode_lengths()}),
        depth_(async_ ? 2 : 1) {}

  void submit(const domain::Request& request, core::SimTime queued) override;
  void abort(core::RequestId id, core::SimTime at) override;
  Pause advance(core::SimTime limit, bool pause_at_completion, std::int64_t max_segments) override;
  void drop_all() override;

  [[nodiscard]] core::SimTime now() const override { return now_; }
  [[nodiscard]] std::int64_t num_running() const override { return scheduler_.num_running(); }
  [[nodiscard]] std::int64_t num_waiting() const override { return scheduler_.num_waiting(); }
  [[nodiscard]] EngineTotals totals() const override;

 private:
  static constexpr std::size_t kMaxDepth = 2;

  Batch& in_flight(std::size_t i) { return *in_flight_[i]; }
  void fill_pipeline();
  void launch(Batch& batch);
  std::int64_t complete_oldest();
  void try_jump(core::SimTime limit);
  [[nodiscard]] std::optional<Run> run_ahead();
  [[nodiscard]] std::int64_t batches_before(const Run& run, std::int64_t most, core::SimTime limit);
  [[nodiscard]] static core::Int128 ticks_of(const fast::DecodeSet::NewBlocks& blocks,
                                             const Run& run,
                                             core::Duration whole);
  void take_run(const Run& run, std::int64_t count);
  void add_run_times(const Run& run, std::int64_t first, std::int64_t count, core::SimTime start);
  const domain::AffineStep* line(std::int64_t decodes, core::Tokens context);
  [[nodiscard]] core::Tokens spared(const Batch& batch) const {
    return batch.shared_context > core::Tokens(0)
               ? inputs_.model.spared_context(batch.shared_context)
               : core::Tokens(0);
  }
  [[nodiscard]] core::Duration host_time(std::int64_t sequences) const {
    return inputs_.host.per_step + inputs_.host.per_sequence * sequences;
  }

  EngineInputs inputs_;
  bool jump_;
  bool async_;
  fast::Scheduler scheduler_;
  std::size_t depth_;
  std::array<Batch, kMaxDepth> batches_;
  std::array<Batch*, kMaxDepth> in_flight_ = {&batches_[0], &batches_[1]};  ///< Oldest first.
  std::size_t num_in_flight_ = 0;
  core::SimTime now_;
  bool schedule_due_ = false;
  EngineTotals totals_;
  core::Int128 used_block_ticks_ = 0;
  std::vector<std::optional<domain::AffineStep>> lines_;  ///< By number of decodes.
};

void FastEngine::submit(const domain::Request& request, core::SimTime queued) {
  RIDGELINE_CHECK(queued >= now_, "request submitted in the past");
  if (const auto refused = scheduler_.refuse(request, queued)) {
    inputs_.sink.on_request(*refused);
    return;
  }
  scheduler_.add(request, queued);
  if (num_in_flight_ == 0 && !schedule_due_) {
    now_ = queued;
    schedule_due_ = true;
  }
}

void FastEngine::abort(core::RequestId id, core::SimTime at) {
  RIDGELINE_CHECK(at >= now_, "request aborted in the past");
  used_block_ticks_ +=
      static_cast<core::Int128>(scheduler_.cache().num_used()) * (at - now_).count();
  now_ = at;
  std::array<Batch*, kMaxDepth> batches{};
  for (std::size_t i = 0; i < num_in_flight_; ++i) {
    batches[i] = &in_flight(i);
  }
  scheduler_.abort(id, std::span(batches.data(), num_in_flight_), inputs_.sink);
}

Engine::Pause FastEngine::advance(core::SimTime limit,
                                  bool pause_at_completion,
                                  std::int64_t max_segments) {
  for (std::int64_t segments = 0;; ++segments) {
    if (schedule_due_) {
      if (now_ >= limit) {
        return Pause::kLimit;
      }
      schedule_due_ = false;
      fill_pipeline();
    }
    if (num_in_flight_ == 0) {
      RIDGELINE_CHECK(scheduler_.num_waiting() == 0, "requests wait although nothing runs");
      return Pause::kIdle;
    }
    if (jump_) {
      try_jump(limit);
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

/// The model's time for decodes alone, as a line through this context; nothing if it has none.
const domain::AffineStep* FastEngine::line(std::int64_t decodes, core::Tokens context) {
  const auto index = static_cast<std::size_t>(decodes);
  if (index >= lines_.size()) {
    lines_.resize(index + 1);
  }
  auto& kept = lines_[index];
  if (!kept || context < kept->lowest || context > kept->highest) {
    kept = inputs_.model.affine(decodes, context);
    if (kept && (context < kept->lowest || context > kept->highest)) {
      kept.reset();
    }
  }
  return kept ? &*kept : nullptr;
}

void FastEngine::fill_pipeline() {
  while (num_in_flight_ < depth_) {
    Batch& batch = in_flight(num_in_flight_);
    const core::SimTime newest_end = num_in_flight_ == 0 ? now_ : in_flight(num_in_flight_ - 1).end;
    const bool formed = scheduler_.schedule(batch, now_, newest_end);
    totals_.peak_used_blocks =
        std::max(totals_.peak_used_blocks, core::Blocks(scheduler_.cache().num_used()));
    if (formed) {
      launch(batch);
    } else if (num_in_flight_ > 0 || !scheduler_.preempted_in_last_call()) {
      return;
    }
  }
}

void FastEngine::launch(Batch& batch) {
  const core::Tokens context = std::max(batch.decode_context - spared(batch), core::Tokens(0));
  const domain::AffineStep* const known =
      batch.items.empty() ? line(batch.num_decodes, context) : nullptr;
  domain::StepTime time =
      known != nullptr ? known->at(context) : inputs_.model.predict(batch.view());
  time.cpu += host_time(batch.num_decodes + static_cast<std::int64_t>(batch.items.size()));
  const core::Duration gpu = time.gpu();
  const core::Duration period = async_ ? std::max(gpu, time.cpu) : gpu + time.cpu;
  time.add(domain::Bottleneck::kOverhead, period - gpu);
  batch.start = num_in_flight_ == 0 ? now_ : in_flight(num_in_flight_ - 1).end;
  batch.end = batch.start + period;
  ++num_in_flight_;
  if (inputs_.options.log_steps) {
    core::Tokens prefill_tokens;
    for (const auto& chunk : batch.prefills) {
      prefill_tokens += chunk.new_tokens;
    }
    inputs_.sink.on_steps({.first_step = batch.number,
                           .steps = 1,
                           .start = batch.start,
                           .period = period,
                           .period_growth = {},
                           .num_decodes = batch.num_decodes,
                           .decode_context = batch.decode_context,
                           .shared_context = batch.shared_context,
                           .num_prefills = static_cast<std::int64_t>(batch.prefills.size()),
                           .prefill_tokens = prefill_tokens,
                           .time = time,
                           .gpu_growth = {},
                           .growth_kind = domain::Bottleneck::kMemory,
                           .used_blocks = core::Blocks(scheduler_.cache().num_used())});
  }
  ++totals_.steps;
  totals_.busy += period;
  for (std::size_t kind = 0; kind < domain::kNumBottlenecks; ++kind) {
    totals_.step_time.by_bottleneck[kind] += time.by_bottleneck[kind];
  }
  totals_.step_time.cpu += time.cpu;
}

std::int64_t FastEngine::complete_oldest() {
  const Batch& batch = in_flight(0);
  used_block_ticks_ +=
      static_cast<core::Int128>(scheduler_.cache().num_used()) * (batch.end - now_).count();
  now_ = batch.end;
  std::swap(in_flight_[0], in_flight_[1]);
  --num_in_flight_;
  // The buffer stays valid: nothing is scheduled before the update is done.
  return scheduler_.update(batch, now_, inputs_.sink);
}

void FastEngine::try_jump(core::SimTime limit) {
  if (num_in_flight_ < depth_ || in_flight(0).end >= limit || in_flight(0).start != now_ ||
      scheduler_.last_end() != now_) {
    return;
  }
  const std::int64_t decodes = scheduler_.decodes().count();
  for (std::size_t i = 0; i < depth_; ++i) {
    const Batch& batch = in_flight(i);
    if (!batch.only_decodes || batch.num_decodes != decodes ||
        batch.shared_context != scheduler_.shared_context()) {
      return;
    }
  }
  constexpr std::int64_t kWorthwhile = 2;
  std::int64_t count = scheduler_.repeatable_batches(in_flight(0).number);
  if (count < kWorthwhile) {
    return;
  }
  const auto run = run_ahead();
  if (!run) {
    return;
  }
  count = std::min(count, run->batches);
  if (count >= kWorthwhile) {
    count = batches_before(*run, count, limit);
  }
  if (count >= kWorthwhile) {
    count = scheduler_.decodes().batches_within(
        scheduler_.cache().num_free(), scheduler_.num_batches(), count);
  }
  if (count >= kWorthwhile) {
    take_run(*run, count);
  }
}

std::optional<Run> FastEngine::run_ahead() {
  const Batch& first = in_flight(0);
  const std::int64_t decodes = first.num_decodes;
  const core::Tokens saved = spared(first);
  if (first.decode_context < saved) {
    return std::nullopt;
  }
  const domain::AffineStep* const step = line(decodes, first.decode_context - saved);
  if (step == nullptr) {
    return std::nullopt;
  }
  Run run{.step = *step,  // Kept in lines_, which does not change while the run is looked at.
          .context = first.decode_context - saved,
          .shared = first.shared_context,
          .spared = saved,
          .growth = decodes,
          .cpu = step->base.cpu + host_time(decodes),
          .period = first.end - first.start,
          .period_growth = {},
          .batches = 0};
  std::int64_t highest = step->highest.value();
  const core::Duration gpu = step->at(run.context).gpu();
  if (!async_ || gpu >= run.cpu) {
    run.period_growth = step->slope * decodes;
  } else if (step->slope.count() > 0) {
    // Host-bound until the GPU's time has grown past it.
    const std::int64_t spare = (run.cpu - gpu).count() / step->slope.count();
    highest = std::min(highest, run.context.value() + spare);
  }
  // The form must hold for the batches in flight after the jump, too.
  run.batches = (highest - run.context.value()) / decodes - static_cast<std::int64_t>(depth_) + 1;
  return run;
}

std::int64_t FastEngine::batches_before(const Run& run, std::int64_t most, core::SimTime limit) {
  const auto ends_before = [&](std::int64_t count) {
    return series(run.period, run.period_growth, count) < limit - now_;
  };
  if (ends_before(most)) {
    return most;
  }
  // The root of growth/2 k^2 + (period - growth/2) k = limit - now, put right by exact sums.
  const auto growth = static_cast<double>(run.period_growth.count());
  const double linear = static_cast<double>(run.period.count()) - growth / 2;
  const auto span = static_cast<double>((limit - now_).count());
  const double root = 2 * span / (linear + std::sqrt(linear * linear + 2 * growth * span));
  std::int64_t count = root < static_cast<double>(most) ? static_cast<std::int64_t>(root) : most;
  while (count > 0 && !ends_before(count)) {
    --count;
  }
  while (ends_before(count + 1)) {
    ++count;
  }
  return count;
}

/// Adds the times of batches first, first + 1, ... of a run to the totals (and to the log).
void FastEngine::add_run_times(const Run& run,
                               std::int64_t first,
                               std::int64_t count,
                               core::SimTime start) {
  const core::Tokens context = run.context + core::Tokens(run.growth * first);
  const core::Duration period = run.period + run.period_growth * first;
  domain::StepTime time = run.step.at(context);
  const core::Duration exposed = period - time.gpu();
  const core::Duration slope = run.step.slope * run.growth;
  const auto total = [&](core::Duration of_first, core::Duration growth) {
    return series(of_first, growth, count);
  };
  for (std::size_t kind = 0; kind < domain::kNumBottlenecks; ++kind) {
    const bool grows = kind == static_cast<std::size_t>(run.step.slope_kind);
    totals_.step_time.by_bottleneck[kind] +=
        total(time.by_bottleneck[kind], grows ? slope : core::Duration());
  }
  totals_.step_time.add(domain::Bottleneck::kOverhead, total(exposed, run.period_growth - slope));
  totals_.step_time.cpu += run.cpu * count;
  totals_.busy += total(period, run.period_growth);
  totals_.steps += count;
  if (inputs_.options.log_steps) {
    time.add(domain::Bottleneck::kOverhead, exposed);
    time.cpu = run.cpu;
    inputs_.sink.on_steps({.first_step = totals_.steps - count,
                           .steps = count,
                           .start = start,
                           .period = period,
                           .period_growth = run.period_growth,
                           .num_decodes = run.growth,
                           .decode_context = context + run.spared,
                           .shared_context = run.shared,
                           .num_prefills = 0,
                           .prefill_tokens = {},
                           .time = time,
                           .gpu_growth = slope,
                           .growth_kind = run.step.slope_kind,
                           .used_blocks = core::Blocks(scheduler_.cache().num_used())});
  }
}

/// Blocks taken when the i-th batch of a run ends are held until the run does: the sum of those
/// times.
core::Int128 FastEngine::ticks_of(const fast::DecodeSet::NewBlocks& blocks,
                                  const Run& run,
                                  core::Duration whole) {
  return static_cast<core::Int128>(whole.count()) * blocks.number -
         static_cast<core::Int128>(run.period.count()) * blocks.places -
         static_cast<core::Int128>(run.period_growth.count()) *
             ((blocks.squares - blocks.places) / 2);
}

void FastEngine::take_run(const Run& run, std::int64_t count) {
  const auto at = [&](std::int64_t batches) {
    return now_ + series(run.period, run.period_growth, batches);
  };
  const auto depth = static_cast<std::int64_t>(depth_);
  const core::Duration whole = series(run.period, run.period_growth, count);
  const auto blocks = scheduler_.decodes().new_blocks(scheduler_.num_batches(), count);
  used_block_ticks_ += static_cast<core::Int128>(whole.count()) * scheduler_.cache().num_used() +
                       ticks_of(blocks, run, whole);
  scheduler_.jump(count, blocks.number, now_ + whole);
  totals_.peak_used_blocks =
      std::max(totals_.peak_used_blocks, core::Blocks(scheduler_.cache().num_used()));
  inputs_.sink.on_token_gaps(
      {.gap = run.period, .growth = run.period_growth, .count = count, .requests = run.growth});
  // The batches in flight were launched already; those that follow them are new.
  add_run_times(run, depth, count, at(depth));
  for (std::int64_t i = 0; i < depth; ++i) {
    Batch& batch = in_flight(static_cast<std::size_t>(i));
    batch.number += count;
    batch.decode_context += core::Tokens(run.growth * count);
    batch.start = at(count + i);
    batch.end = at(count + i + 1);
  }
  now_ = at(count);
  totals_.jumped_steps += count;
}

EngineTotals FastEngine::totals() const {
  EngineTotals totals = totals_;
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
  scheduler_.drain(inputs_.sink);
}

}  // namespace

std::unique_ptr<Engine> make_fast_engine(const EngineInputs& inputs, bool jump) {
  if (!fast::Scheduler::covers(inputs.options)) {
    return make_reference_engine(inputs);
  }
  return std::make_unique<FastEngine>(inputs, jump);
}

}  // namespace ridgeline::engine
