#include "plan/scaled_model.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/int128.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/step_time_model.hpp"
#include "plan/operator_class.hpp"

namespace ridgeline::plan {
namespace {

/// `time` with its parts in proportion, so that they sum to `total`.
domain::StepTime stretched_to(const domain::StepTime& time, core::Duration total) {
  domain::StepTime result;
  result.cpu = time.cpu;
  const core::Duration before = time.gpu();
  core::Duration left = total;
  std::size_t largest = 0;
  for (std::size_t kind = 0; kind < domain::kNumBottlenecks; ++kind) {
    if (time.by_bottleneck[kind] > time.by_bottleneck[largest]) {
      largest = kind;
    }
    if (before > core::Duration()) {
      const core::Int128 ticks = static_cast<core::Int128>(time.by_bottleneck[kind].count()) *
                                 total.count() / before.count();
      result.by_bottleneck[kind] = core::Duration::ticks(static_cast<std::int64_t>(ticks));
      left -= result.by_bottleneck[kind];
    }
  }
  result.by_bottleneck[largest] += left;
  return result;
}

}  // namespace

core::Duration ScaledModel::scaled_total(const domain::StepBatch& batch,
                                         core::Duration total) const {
  const TimeByClass times = parts_.of(batch);
  double more = 0.0;  // What is not scaled keeps the model's own rounding.
  for (std::size_t kind = 0; kind < times.size(); ++kind) {
    more += (scales_[kind] - 1.0) * times[kind];
  }
  return more >= 0.0 ? core::Duration::saturating_sum(
                           total, core::Duration::saturating(core::Seconds(more)))
                     : total - std::min(core::Duration::saturating(core::Seconds(-more)), total);
}

domain::AffineStep ScaledModel::scaled_line(const domain::AffineStep& line,
                                            domain::StepBatch batch) const {
  batch.decode_context = line.lowest;
  const core::Duration total = scaled_total(batch, line.at(line.lowest).gpu());
  domain::AffineStep scaled = line;
  // Context is read by attention alone.
  scaled.slope = core::Duration::saturating(
      core::Seconds(line.slope.to_seconds() *
                    scales_[static_cast<std::size_t>(OperatorClass::kDecodeAttention)]));
  const core::Duration reading =
      core::Duration::saturating_product(scaled.slope, line.lowest.value());
  scaled.base = stretched_to(line.base, total - std::min(reading, total));
  return scaled;
}

std::optional<domain::AffineStep> ScaledModel::affine(std::int64_t num_decodes,
                                                      core::Tokens context) const {
  const auto line = model_.affine(num_decodes, context);
  if (!line) {
    return std::nullopt;
  }
  domain::StepBatch batch;
  batch.num_decodes = num_decodes;
  return scaled_line(*line, batch);
}

std::optional<domain::AffineStep> ScaledModel::affine_with_prompt(std::int64_t num_decodes,
                                                                  core::Tokens prompt,
                                                                  core::Tokens context) const {
  const auto line = model_.affine_with_prompt(num_decodes, prompt, context);
  if (!line) {
    return std::nullopt;
  }
  const std::array<domain::PrefillChunk, 1> chunks = {
      domain::PrefillChunk{.past = core::Tokens(0), .new_tokens = prompt}};
  domain::StepBatch batch;
  batch.num_decodes = num_decodes;
  batch.prefills = chunks;
  return scaled_line(*line, batch);
}

std::optional<domain::AffineStep> ScaledModel::line_of(const domain::StepBatch& batch,
                                                       core::Tokens context) const {
  if (batch.prefills.empty()) {
    return affine(batch.num_decodes, context);
  }
  const domain::PrefillChunk& chunk = batch.prefills.front();
  const bool is_whole = batch.prefills.size() == 1 && chunk.past == core::Tokens(0) &&
                        chunk.samples && chunk.drafts == 0;
  return is_whole ? affine_with_prompt(batch.num_decodes, chunk.new_tokens, context) : std::nullopt;
}

domain::StepTime ScaledModel::predict(const domain::StepBatch& batch) const {
  const core::Tokens context =
      std::max(batch.decode_context - model_.spared_context(batch.shared_context), core::Tokens(0));
  const auto line = line_of(batch, context);
  if (line && context >= line->lowest && context <= line->highest) {
    return line->at(context);
  }
  const domain::StepTime time = model_.predict(batch);
  return stretched_to(time, scaled_total(batch, time.gpu()));
}

std::vector<core::Duration> ScaledModel::stages(const domain::StepBatch& batch) const {
  std::vector<core::Duration> stages = model_.stages(batch);
  const core::Duration before = model_.predict(batch).gpu();
  const core::Duration total = predict(batch).gpu();
  core::Duration left = total;
  // The last takes what rounding leaves, so that they sum to the step's time.
  for (core::Duration& stage : stages) {
    if (before > core::Duration()) {
      const core::Int128 ticks =
          static_cast<core::Int128>(stage.count()) * total.count() / before.count();
      stage = std::min(core::Duration::ticks(static_cast<std::int64_t>(ticks)), left);
    }
    left -= stage;
  }
  stages.back() += left;
  return stages;
}

latency::Explanation ScaledModel::explain(const domain::StepBatch& batch) const {
  latency::Explanation step = model_.explain(batch);
  step.total = predict(batch);
  for (latency::OperatorTime& part : step.parts) {
    part.time = part.time * scale_of(part);
  }
  latency::settle_rounding(step);
  return step;
}

}  // namespace ridgeline::plan
