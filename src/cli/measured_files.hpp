#pragma once

#include <vector>

#include "cli/arguments.hpp"
#include "cli/common.hpp"
#include "core/result.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/prediction.hpp"

namespace ridgeline::cli {

/// --histories and --threads, of the verbs that simulate measured runs.
[[nodiscard]] std::vector<FlagSpec> measured_flags();

/// What such a verb was asked for: the records of its files, and how to predict them.
struct MeasuredJob {
  std::vector<evidence::validate::Evidence> evidence;
  evidence::validate::PredictOptions options;
};
[[nodiscard]] core::Result<MeasuredJob> read_measured(const Arguments& arguments);

/// On standard error: what of the files was left out or contradicts itself, each problem once.
void warn_of_files(const std::vector<evidence::validate::Evidence>& evidence,
                   const Manners& manners);

}  // namespace ridgeline::cli
