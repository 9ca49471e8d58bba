#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/validate.hpp"
#include "verbs/measured_files.hpp"
#include "verbs/verb.hpp"

/// What `validate` can be asked to group its errors by, and which models to compare.
namespace ridgeline::verbs {

struct AskedGroups {
  std::vector<std::string> models = {};  ///< `--compare`: two or more.
  std::vector<std::string> by = {};      ///< Axes, crossed.
  std::optional<evidence::validate::Figure> metric = {};
  std::int64_t max_prompts = 0;   ///< 0: all.
  std::string vllm_version = {};  ///< The original evaluator's word for --engine-version.
  std::int64_t derived_e2e = 0;   ///< Found out by apply_groups().
};

[[nodiscard]] std::vector<Parameter> group_parameters();
/// Takes them; problems are the request's.
[[nodiscard]] AskedGroups take_groups(Request& request);
/// Changes the records and the what-ifs accordingly.
void apply_groups(AskedGroups& asked, MeasuredJob& job);
/// The rows of the axes that were asked for.
void add_asked(const AskedGroups& asked, evidence::validate::Validation& validation);

/// The records predicted by each model, and which is nearer on what.
[[nodiscard]] core::Result<Reply> compared_validations(const AskedGroups& asked,
                                                       const MeasuredJob& measured,
                                                       Host& host);

}  // namespace ridgeline::verbs
