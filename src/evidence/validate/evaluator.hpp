#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/strict_map.hpp"

/// The measurements of inference-sim's evaluator: `combined_ground_truth.json`, and the parts that
/// the folders of its experiments share with it.
namespace ridgeline::evidence::validate {

inline constexpr std::string_view kEvaluatorFamily = "evaluator";

/// The evaluator served everything on one GPU and names it nowhere.
inline constexpr std::string_view kEvaluatorGpu = "H100";

/// One record for each point of each experiment's `qps_sweeps`.
[[nodiscard]] std::vector<Evidence> read_evaluator(const document::Node& document);

/// The server as `vllm_config` and exp-config.yaml have it.
void read_server_section(StrictMap& section, Evidence& evidence);

/// Lengths and shared prefix as guidellm's synthetic data has them (`prefix_tokens`,
/// `prompt_tokens[_stdev,_min,_max]`, `output_tokens[...]`). guidellm draws from a normal law and
/// takes a draw beyond a bound for the bound; without a deviation evenly between the bounds;
/// without those always the mean. The prefix comes before the prompt and is one text for all.
void read_synthetic_data(StrictMap& data, Evidence& evidence);

}  // namespace ridgeline::evidence::validate
