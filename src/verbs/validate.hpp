#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "evidence/validate/thresholds.hpp"
#include "evidence/validate/validate.hpp"
#include "verbs/measured_files.hpp"
#include "verbs/validate_groups.hpp"
#include "verbs/verb.hpp"

/// The steps of `validate`, for a program whose records have further findings.
namespace ridgeline::verbs {

struct ValidationJob {
  MeasuredJob measured = {};
  std::vector<evidence::validate::Threshold> thresholds = {};
  bool coverage = false;
  AskedGroups asked = {};
};
/// What is asked for; `fail_over` are the thresholds of that key.
[[nodiscard]] core::Result<ValidationJob> take_validation(Request& request,
                                                          const std::string& fail_over);

/// Reads a problem of the thresholds as one of the key `fail_over`.
[[nodiscard]] core::Error threshold_problem(const Request& request, core::Error error);

/// The tree in every format of the verb.
[[nodiscard]] Reply validation_reply(std::function<document::Node()> tree);
/// Ends the reply of a command line with what was missed, or that nothing was scored.
void fail_over(core::Errors missed,
               const evidence::validate::Validation& validation,
               const Request& request,
               Reply& reply);

}  // namespace ridgeline::verbs
