#include "latency/kernel/pipeline_model.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/all_to_all.hpp"
#include "latency/kernel/calibration.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/kernel_model.hpp"
#include "latency/kernel/plan.hpp"
#include "latency/lookup_log.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {

PipelineModel::PipelineModel(const ModelInputs& inputs, const Constants& constants)
    : calibration_(calibrate(constants, inputs.gpu)), width_(inputs.network.hidden_size) {
  const model::Sharding& sharding = inputs.execution.sharding;
  // A rank sends to its like in the next stage: as far away as a stage has ranks.
  const std::int64_t span = 2 * sharding.tensor_parallel_size * sharding.data_parallel_size;
  link_ = hardware::over_link(inputs.gpu, span).gpu;
  Execution execution = inputs.execution;
  execution.sharding.pipeline_parallel_size = 1;
  for (const model::ModelSpec& stage :
       model::pipeline_stages(inputs.network, sharding.pipeline_parallel_size)) {
    stages_.push_back(std::make_unique<KernelModel>(
        ModelInputs{
            .network = stage, .gpu = inputs.gpu, .execution = execution, .options = inputs.options},
        constants));
  }
}

core::Duration PipelineModel::sending(std::size_t stage, std::int64_t tokens) const {
  if (stage + 1 == stages_.size() || tokens == 0) {
    return {};
  }
  return all_calls(point_to_point(tokens, width_, calibration_.all_reduce.values, link_).time, 1);
}

domain::StepTime PipelineModel::of_stage(std::size_t stage, const domain::StepBatch& batch) const {
  domain::StepTime time = stages_[stage]->predict(batch);
  time.add(domain::Bottleneck::kNetwork, sending(stage, batch.num_tokens().value()));
  return time;
}

domain::StepTime PipelineModel::predict(const domain::StepBatch& batch) const {
  domain::StepTime total;
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    total.add(of_stage(stage, batch), 1);
  }
  return total;
}

domain::StepTime PipelineModel::predict_logged(const domain::StepBatch& batch,
                                               LookupLog& log) const {
  static_cast<void>(stages_.front()->predict_logged(batch, log));
  return predict(batch);
}

std::vector<core::Duration> PipelineModel::stages(const domain::StepBatch& batch) const {
  std::vector<core::Duration> times;
  times.reserve(stages_.size());
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    times.push_back(of_stage(stage, batch).gpu());
  }
  return times;
}

std::optional<domain::AffineStep> PipelineModel::affine(std::int64_t num_decodes,
                                                        core::Tokens context) const {
  std::optional<domain::AffineStep> sum;
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    auto line = stages_[stage]->affine(num_decodes, context);
    if (!line) {
      return std::nullopt;
    }
    line->base.add(domain::Bottleneck::kNetwork, sending(stage, num_decodes));
    if (!sum) {
      sum = line;
      continue;
    }
    const bool flat = line->slope == core::Duration();
    if (!flat && sum->slope != core::Duration() && line->slope_kind != sum->slope_kind) {
      return std::nullopt;
    }
    sum->slope_kind = flat ? sum->slope_kind : line->slope_kind;
    sum->base.add(line->base, 1);
    sum->slope = core::Duration::saturating_sum(sum->slope, line->slope);
    sum->lowest = std::max(sum->lowest, line->lowest);
    sum->highest = std::min(sum->highest, line->highest);
  }
  return sum && is_in_range(*sum) ? sum : std::nullopt;
}

Explanation PipelineModel::explain(const domain::StepBatch& batch) const {
  Explanation result;
  result.total = predict(batch);
  const std::int64_t tokens = batch.num_tokens().value();
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    Explanation part = stages_[stage]->explain(batch);
    for (OperatorTime& op : part.parts) {
      op.source += fmt::format(", stage {}", stage + 1);
      result.parts.push_back(std::move(op));
    }
    std::move(part.hidden.begin(), part.hidden.end(), std::back_inserter(result.hidden));
    if (const core::Duration sent = sending(stage, tokens); sent > core::Duration()) {
      result.parts.push_back(
          {.name = "send_to_next_stage",
           .phase = "step",
           .shape = fmt::format("{}x{}", tokens, width_),
           .calls = 1,
           .flops = {},
           .bytes = point_to_point(tokens, width_, calibration_.all_reduce.values, link_).bytes,
           .time = core::Seconds(sent.to_seconds()),
           .bottleneck = domain::Bottleneck::kNetwork,
           .source = fmt::format("{}, stage {}", calibration_.all_reduce.source, stage + 1),
           .distance = std::nullopt});
    }
  }
  settle_rounding(result);
  return result;
}

std::vector<ModelSetting> PipelineModel::settings() const {
  return stages_.front()->settings();
}

}  // namespace ridgeline::latency::kernel
