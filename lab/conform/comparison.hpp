#pragma once

#include <optional>

#include "document/document.hpp"
#include "engine/probe.hpp"
#include "engine/profiles.hpp"
#include "lab/conform/conform.hpp"
#include "lab/conform/recording.hpp"
#include "lab/conform/result_form.hpp"

namespace ridgeline::conform {

/// What compare() reads of a result.
extern const ResultForm kResultForm;

/// Replays a recording through a probe and holds it against one result: its trace record by record,
/// then its totals and its table of requests. Requires a result of kResultForm, and a probe that
/// can run the recording (can_run).
[[nodiscard]] std::optional<Difference> compare(const document::Node& result,
                                                const Recording& recording,
                                                const engine::Profile& profile,
                                                engine::SchedulerProbe& probe);

}  // namespace ridgeline::conform
