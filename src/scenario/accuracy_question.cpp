#include "scenario/accuracy_question.hpp"

#include <cmath>
#include <string>

#include <fmt/format.h>

#include "accuracy/bands.hpp"
#include "model/operators.hpp"
#include "model/weight_format.hpp"
#include "scenario/deployment.hpp"
#include "scenario/pools.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

accuracy::Question accuracy_question(const Deployment& deployment, bool closed_loop) {
  const std::string& version = deployment.section.engine.version;
  const model::DType format = model::main_weight_format(deployment.network);
  // The two 16-bit formats take the same time.
  return {deployment.gpu.name,
          model::has_experts(deployment.network) ? "experts" : "dense",
          model::name(format == model::DType::kFp16 ? model::DType::kBf16 : format),
          closed_loop ? "closed" : "open",
          version.substr(0, version.find('@'))};
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
  return why_bound(resolved).empty() ? "an estimate" : std::string(kBoundWords);
}

std::string bound_text(const std::string& why) {
  return why.empty() ? why : fmt::format("{}: {}", kBoundWords, why);
}

bool is_closed_loop(const WorkloadSection& workload) {
  const bool paced = workload.request_rate && std::isfinite(*workload.request_rate);
  return !workload.trace && !paced;
}

}  // namespace ridgeline::scenario
