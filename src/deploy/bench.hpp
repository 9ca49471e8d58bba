#pragma once

#include <string>

#include "deploy/layout.hpp"

namespace ridgeline::deploy {

/// bench.sh: the commands of vLLM's client that would check the prediction, at the scenario's rate
/// and at the capacity where that is known; what of the workload the client cannot send is said in
/// it. Empty where the workload is a trace.
[[nodiscard]] std::string bench_text(const Input& input, const Layout& layout);

}  // namespace ridgeline::deploy
