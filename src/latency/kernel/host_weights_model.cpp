#include "latency/kernel/host_weights_model.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/lookup_log.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::latency::kernel {

HostWeightsModel::HostWeightsModel(std::unique_ptr<StepTimeModel> step, const HostWeights& weights)
    : step_(std::move(step)),
      bytes_(weights.bytes),
      copy_(core::Duration::saturating(weights.bytes / weights.bandwidth)) {}

domain::StepTime HostWeightsModel::predict(const domain::StepBatch& batch) const {
  domain::StepTime time = step_->predict(batch);
  const core::Duration gpu = time.gpu();
  if (gpu > core::Duration() && gpu < copy_) {
    time.add(domain::Bottleneck::kMemory, copy_ - gpu);
  }
  return time;
}

std::optional<domain::AffineStep> HostWeightsModel::affine(std::int64_t num_decodes,
                                                           core::Tokens context) const {
  std::optional<domain::AffineStep> line = step_->affine(num_decodes, context);
  if (!line || line->at(line->lowest).gpu() >= copy_) {
    return line;
  }
  // Contexts at which the step takes as long as the copies.
  const std::int64_t slope = line->slope.count();
  const std::int64_t missing = (copy_ - line->base.gpu()).count();
  const std::optional<core::Tokens> crossing =
      slope > 0 ? std::optional(core::Tokens((missing + slope - 1) / slope)) : std::nullopt;
  if (crossing && context >= *crossing) {
    line->lowest = std::max(line->lowest, *crossing);
    return line;
  }
  if (slope > 0 && line->slope_kind != domain::Bottleneck::kMemory) {
    return std::nullopt;  // What grows is not what waits.
  }
  if (crossing) {
    line->highest = std::min(line->highest, *crossing - core::Tokens(1));
  }
  line->base.add(domain::Bottleneck::kMemory, copy_ - line->base.gpu());
  line->slope = core::Duration();
  return line;
}

domain::StepTime HostWeightsModel::predict_logged(const domain::StepBatch& batch,
                                                  LookupLog& log) const {
  static_cast<void>(step_->predict_logged(batch, log));
  return predict(batch);
}

Explanation HostWeightsModel::explain(const domain::StepBatch& batch) const {
  Explanation result = step_->explain(batch);
  const core::Duration gpu = result.total.gpu();
  result.total = predict(batch);
  const OperatorTime copy{.name = "host_weights",
                          .phase = "step",
                          .shape = fmt::format("{:.4g} GiB", core::as_gibibytes(bytes_)),
                          .calls = 1,
                          .flops = {},
                          .bytes = bytes_,
                          .time = core::Seconds((copy_ - std::min(gpu, copy_)).to_seconds()),
                          .bottleneck = domain::Bottleneck::kMemory,
                          .source = "what its copy takes beyond the step",
                          .distance = std::nullopt};
  result.parts.push_back(copy);
  settle_rounding(result);
  return result;
}

}  // namespace ridgeline::latency::kernel
