#pragma once

#include "cli/arguments.hpp"
#include "core/result.hpp"
#include "scenario/resolve.hpp"
#include "serve/settings.hpp"

namespace ridgeline::cli {

/// What the flags of `serve` say, and what follows from the deployment.
[[nodiscard]] core::Result<serve::Settings> serve_settings(const Arguments& arguments,
                                                           const scenario::Resolved& resolved);

}  // namespace ridgeline::cli
