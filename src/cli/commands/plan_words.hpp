#pragma once

#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/common.hpp"
#include "core/result.hpp"
#include "plan/question.hpp"

namespace ridgeline::cli {

/// What `plan` opens with.
[[nodiscard]] Opening plan_opening();

/// The words of AIConfigurator in ours: --system, --total-gpus, --isl, --osl, --prefix, --ttft and
/// --tpot in milliseconds, --target-request-rate, --target-concurrency, --backend.
void take_aiconfigurator_words(Arguments& arguments, core::Errors& errors);

/// Routing policies that a plan may take; none: any.
struct Routers {
  std::vector<std::string> names = {};
  std::string of = {};  ///< Whose they are: "vllm, kubernetes"
};

/// The question of a file and flags.
[[nodiscard]] core::Result<plan::Question> read_plan(const Arguments& arguments,
                                                     const Routers& routers);

}  // namespace ridgeline::cli
