#pragma once

#include <vector>

#include "core/result.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/study.hpp"

/// What H5 left open: its three criteria on measured servers, and the controls that it did not run.
namespace ridgeline::studies::h5 {

/// The four ways to combine phases under the last V2, then pairs of controls, the weighted average
/// before the additive form.
[[nodiscard]] std::vector<Arm> measured_arms();

/// Scores them on the measured runs of the options: tables, statements and the verdict by the three
/// criteria. Where there are none, adds to what is skipped.
[[nodiscard]] core::Result<void> judge_on_servers(const Lab& lab, Outcome& out);

/// A run of one client under each form, as a statement: they cannot differ without mixed steps.
[[nodiscard]] core::Result<void> judge_one_client(const Lab& lab, Outcome& out);

/// Tables of what was found, how well it is supported and what follows, and of the study's own
/// facts; `out` is complete but for them.
void add_classification(Outcome& out);

}  // namespace ridgeline::studies::h5
