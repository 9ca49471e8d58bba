#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {

/// The measured runs of a folder that inference-sim's evaluator keeps of an experiment: the server
/// by exp-config.yaml and vllm.log, requests and a client's times by guidellm-results.json, the
/// server's own times by traces.json, what the texts were made of by profile.yaml. Or those of all
/// such folders below. Fails where there is none.
[[nodiscard]] core::Result<std::vector<Evidence>> read_experiments(const std::string& folder);

}  // namespace ridgeline::evidence::validate
