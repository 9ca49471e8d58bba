#include "engine/slowed_model.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/int128.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"

namespace ridgeline::engine {

core::Duration SlowedModel::stretched(core::Duration time) const {
  const core::Int128 ticks =
      static_cast<core::Int128>(time.count()) * slowdown_.thousandths / Slowdown::kWhole;
  return core::Duration::ticks(
      static_cast<std::int64_t>(std::min<core::Int128>(ticks, core::Duration::max().count())));
}

domain::StepTime SlowedModel::stretched(const domain::StepTime& time) const {
  domain::StepTime longer;
  for (std::size_t kind = 0; kind < domain::kNumBottlenecks; ++kind) {
    longer.by_bottleneck[kind] = stretched(time.by_bottleneck[kind]);
  }
  longer.cpu = stretched(time.cpu);
  return longer;
}

std::optional<domain::AffineStep> SlowedModel::stretched(
    std::optional<domain::AffineStep> line) const {
  if (line && slowdown_ != Slowdown()) {
    line->base = stretched(line->base);
    line->slope = stretched(line->slope);
  }
  return line;
}

std::optional<domain::AffineStep> SlowedModel::affine(std::int64_t num_decodes,
                                                      core::Tokens context) const {
  return stretched(model_.affine(num_decodes, context));
}

std::optional<domain::AffineStep> SlowedModel::affine_with_prompt(std::int64_t num_decodes,
                                                                  core::Tokens prompt,
                                                                  core::Tokens context) const {
  return stretched(model_.affine_with_prompt(num_decodes, prompt, context));
}

/// The line that an engine may have asked for in place of predict().
std::optional<domain::AffineStep> SlowedModel::line_of(const domain::StepBatch& batch,
                                                       core::Tokens context) const {
  if (batch.prefills.empty()) {
    return affine(batch.num_decodes, context);
  }
  const domain::PrefillChunk& chunk = batch.prefills.front();
  const bool is_whole = batch.prefills.size() == 1 && chunk.past == core::Tokens(0) &&
                        chunk.samples && chunk.drafts == 0;
  return is_whole ? affine_with_prompt(batch.num_decodes, chunk.new_tokens, context) : std::nullopt;
}

domain::StepTime SlowedModel::predict(const domain::StepBatch& batch) const {
  const domain::StepTime time = model_.predict(batch);
  if (slowdown_ == Slowdown()) {
    return time;
  }
  // Rounded as on the line, where there is one.
  const core::Tokens context =
      std::max(batch.decode_context - model_.spared_context(batch.shared_context), core::Tokens(0));
  const auto line = line_of(batch, context);
  return line && context >= line->lowest && context <= line->highest ? line->at(context)
                                                                     : stretched(time);
}

std::vector<core::Duration> SlowedModel::stages(const domain::StepBatch& batch) const {
  std::vector<core::Duration> stages = model_.stages(batch);
  if (slowdown_ == Slowdown()) {
    return stages;
  }
  // The last takes what rounding leaves, so that they sum to the step's time.
  core::Duration left = predict(batch).gpu();
  for (core::Duration& stage : stages) {
    stage = std::min(stretched(stage), left);
    left -= stage;
  }
  stages.back() += left;
  return stages;
}

}  // namespace ridgeline::engine
