#include "scenario/accuracy_question.hpp"

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/basis.hpp"
#include "latency/accuracy/bands.hpp"
#include "model/operators.hpp"
#include "model/weight_format.hpp"
#include "scenario/deployment.hpp"
#include "scenario/pools.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

/// "deepseek-v3 TP8 EP"
std::string deployment_word(const Deployment& deployment) {
  const model::Sharding& sharding = deployment.execution.sharding;
  std::string text = fmt::format("{} TP{}", deployment.network.name, sharding.tensor_parallel_size);
  for (const auto& [name, size] : {std::pair(" PP", sharding.pipeline_parallel_size),
                                   std::pair(" DP", sharding.data_parallel_size)}) {
    text += size > 1 ? fmt::format("{}{}", name, size) : "";
  }
  return text + (sharding.expert_parallel ? " EP" : "");
}

}  // namespace

accuracy::Question accuracy_question(const Deployment& deployment, bool closed_loop) {
  const std::string& version = deployment.section.engine.version;
  const model::DType format = model::main_weight_format(deployment.network);
  // The two 16-bit formats take the same time.
  return {deployment.gpu.name,
          std::string(model::kind_of_layers(deployment.network)),
          model::name(format == model::DType::kFp16 ? model::DType::kBf16 : format),
          closed_loop ? "closed" : "open",
          version.substr(0, version.find('@')),
          deployment_word(deployment)};
}

std::vector<accuracy::ExpectedError> expected_errors(const Deployment& deployment,
                                                     bool closed_loop) {
  std::vector<accuracy::ExpectedError> errors;
  if (!why_bound(deployment).empty()) {
    return errors;
  }
  const accuracy::Question question = accuracy_question(deployment, closed_loop);
  for (std::size_t i = 0; i < accuracy::kNumMetrics; ++i) {
    if (auto error = accuracy::expected_error(
            accuracy::bands(), question, static_cast<accuracy::Metric>(i))) {
      errors.push_back(std::move(*error));
    }
  }
  return errors;
}

std::string why_bound(const Deployment& deployment) {
  return deployment.gpu.datasheet_only
             ? fmt::format("{} is priced by its datasheet alone", deployment.gpu.name)
             : std::string();
}

std::string why_bound(const Resolved& resolved) {
  for (const ResolvedPool& pool : resolved.pools) {
    if (std::string why = why_bound(*pool.deployment); !why.empty()) {
      return why;
    }
  }
  return why_bound(*resolved.deployment);
}

std::string basis_words(const Resolved& resolved) {
  return why_bound(resolved).empty() ? "an estimate" : std::string(document::kBoundWords);
}

std::string bound_text(const std::string& why) {
  return why.empty() ? why : fmt::format("{}: {}", document::kBoundWords, why);
}

bool is_closed_loop(const WorkloadSection& workload) {
  const bool paced = workload.request_rate && std::isfinite(*workload.request_rate);
  return !workload.trace && !paced;
}

}  // namespace ridgeline::scenario
