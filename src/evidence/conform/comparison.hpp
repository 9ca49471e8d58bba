#pragma once

#include <optional>

#include "document/document.hpp"
#include "engine/probe.hpp"
#include "engine/profiles.hpp"
#include "evidence/conform/conform.hpp"
#include "evidence/conform/recording.hpp"

namespace ridgeline::evidence::conform {

/// Replays a recording through a probe and holds it against one result: its trace record by record,
/// then its totals and its table of requests. Keys that neither README nor we know are left alone.
/// Requires a result that read_recording has checked.
[[nodiscard]] std::optional<Difference> compare(const document::Node& result,
                                                const Recording& recording,
                                                const engine::Profile& profile,
                                                engine::SchedulerProbe& probe);

}  // namespace ridgeline::evidence::conform
