#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "deploy/layout.hpp"
#include "deploy/targets.hpp"
#include "document/document.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::deploy {

/// The scenario of a deployment, which `ridgeline run` takes; its first line names the digest, if
/// any.
[[nodiscard]] File scenario_file(const scenario::Resolved& resolved, std::string_view digest = {});

/// The files of a deployment for all these targets: theirs, scenario.yaml (run, it gives the
/// prediction), prediction.json and, where the workload is no trace, bench.sh. Fails with all that
/// some target cannot express.
[[nodiscard]] core::Result<std::vector<File>> deployment_files(
    const Input& input, std::span<const Target* const> targets);

/// The routing policy for a scenario that states none: the first target's own, or the first of its
/// policies that all these targets have; "" where there is none.
[[nodiscard]] std::string_view common_router(std::span<const Target* const> targets);

}  // namespace ridgeline::deploy
