#include "scenario/accuracy_question.hpp"

#include <cmath>
#include <string>

#include "accuracy/bands.hpp"
#include "model/operators.hpp"
#include "model/weight_format.hpp"
#include "scenario/deployment.hpp"
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

bool is_closed_loop(const WorkloadSection& workload) {
  const bool paced = workload.request_rate && std::isfinite(*workload.request_rate);
  return !workload.trace && !paced;
}

}  // namespace ridgeline::scenario
