#include "latency/kernel/context_parallel_model.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/all_reduce.hpp"
#include "latency/kernel/calibration.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/kernel/kernel_model.hpp"
#include "latency/kernel/plan.hpp"
#include "latency/lookup_log.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::latency::kernel {

ContextParallelModel::ContextParallelModel(const ModelInputs& inputs, const Constants& constants)
    : ranks_(inputs.execution.sharding.prefill_context_parallel_size),
      calibration_(calibrate(constants, inputs.gpu)),
      link_(hardware::over_link(inputs.gpu, ranks_ * inputs.execution.sharding.tensor_parallel_size)
                .gpu),
      layers_(inputs.network.num_layers()),
      kv_(model::kv_bytes_per_token_per_rank(inputs.network, inputs.execution.sharding)),
      rank_(inputs, constants) {}

std::vector<domain::PrefillChunk> ContextParallelModel::share(
    const domain::StepBatch& batch) const {
  std::vector<domain::PrefillChunk> shares;
  for (const domain::PrefillChunk& chunk : batch.prefills) {
    const std::int64_t tokens = chunk.new_tokens.value();
    const std::int64_t own = (tokens + ranks_ - 1) / ranks_;
    // own * (past' + own / 2) = own * (past + tokens / 2)
    shares.push_back({.past = chunk.past + core::Tokens((tokens - own) / 2),
                      .new_tokens = core::Tokens(own),
                      .samples = chunk.samples});
  }
  return shares;
}

Cost ContextParallelModel::gathering(const domain::StepBatch& batch) const {
  core::Tokens tokens;
  for (const domain::PrefillChunk& chunk : batch.prefills) {
    tokens += chunk.new_tokens;
  }
  const AllReduceConstants& constants = calibration_.all_reduce.values;
  // A rank receives each layer's keys and values that the others computed.
  const core::Bytes received = kv_ * tokens * (real(ranks_ - 1) / real(ranks_));
  constexpr double kOwnLink = 1.0;
  const core::Seconds layer =
      nccl(received / real(layers_), core::Bytes(), kOwnLink, constants, link_);
  return {.time = layer * real(layers_),
          .flops = {},
          .bytes = received,
          .kind = domain::Bottleneck::kNetwork,
          .losing = {}};
}

domain::StepTime ContextParallelModel::predict(const domain::StepBatch& batch) const {
  if (batch.prefills.empty()) {
    return rank_.predict(batch);
  }
  const std::vector<domain::PrefillChunk> shares = share(batch);
  domain::StepBatch own = batch;
  own.prefills = shares;
  domain::StepTime time = rank_.predict(own);
  time.add(domain::Bottleneck::kNetwork, all_calls(gathering(batch).time, 1));
  return time;
}

domain::StepTime ContextParallelModel::predict_logged(const domain::StepBatch& batch,
                                                      LookupLog& log) const {
  const std::vector<domain::PrefillChunk> shares = share(batch);
  domain::StepBatch own = batch;
  own.prefills = shares;
  static_cast<void>(rank_.predict_logged(own, log));
  return predict(batch);
}

std::optional<domain::AffineStep> ContextParallelModel::affine(std::int64_t num_decodes,
                                                               core::Tokens context) const {
  return rank_.affine(num_decodes, context);
}

Explanation ContextParallelModel::explain(const domain::StepBatch& batch) const {
  if (batch.prefills.empty()) {
    return rank_.explain(batch);
  }
  const std::vector<domain::PrefillChunk> shares = share(batch);
  domain::StepBatch own = batch;
  own.prefills = shares;
  Explanation result = rank_.explain(own);
  const Cost cost = gathering(batch);
  result.parts.push_back({.name = "gather_kv",
                          .phase = "prefill",
                          .shape = fmt::format("over {} ranks", ranks_),
                          .calls = layers_,
                          .flops = {},
                          .bytes = cost.bytes,
                          .time = cost.time,
                          .bottleneck = cost.kind,
                          .source = calibration_.all_reduce.source,
                          .distance = std::nullopt});
  result.total = predict(batch);
  settle_rounding(result);
  return result;
}

}  // namespace ridgeline::latency::kernel
