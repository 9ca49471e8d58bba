#pragma once

#include "lab/conform/decisions/decision_case.hpp"

/// One function per recorded system: runs a case's policy through ours and notes the first
/// difference. False where the policy is not known.
namespace ridgeline::conform {

[[nodiscard]] bool check_llm_d(DecisionCase& recorded);
[[nodiscard]] bool check_inference_sim(DecisionCase& recorded);
[[nodiscard]] bool check_dynamo(DecisionCase& recorded);
[[nodiscard]] bool check_data_parallel(DecisionCase& recorded);  ///< vLLM's, and SGLang's.
[[nodiscard]] bool check_sglang_gateway(DecisionCase& recorded);
[[nodiscard]] bool check_aibrix(DecisionCase& recorded);
[[nodiscard]] bool check_kthena(DecisionCase& recorded);
[[nodiscard]] bool check_production_stack(DecisionCase& recorded);
[[nodiscard]] bool check_autoscaler(DecisionCase& recorded);

}  // namespace ridgeline::conform
