#pragma once

#include <string>

#include "core/result.hpp"
#include "scenario/scenario.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {

// One file each.
Verb run_verb();
Verb replay_verb();
Verb step_verb();
Verb explain_verb();
Verb list_verb();
Verb schema_verb();
Verb steps_verb();
Verb report_verb();
Verb trace_verb();
Verb convert_verb();
Verb kernels_check_verb();
Verb kernels_fit_verb();
Verb kernels_lookup_verb();
Verb kernels_make_verb();
Verb kernels_plan_verb();
Verb validate_verb();
Verb calibrate_verb();
Verb sweep_verb();
Verb deploy_verb();
Verb plan_verb();
Verb upgrade_verb();

// Parts of verbs in files of their own.
/// `run` with `compare`: the same requests by each of several step-time models, side by side.
[[nodiscard]] core::Result<Reply> compared_runs(Request& request,
                                                Host& host,
                                                scenario::Purpose purpose);
/// `list models` with `path`: the networks of a folder, read or refused.
[[nodiscard]] core::Result<Reply> list_folder(const std::string& folder);

}  // namespace ridgeline::verbs
