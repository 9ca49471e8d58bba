#pragma once

#include "ridgeline.h"
#include "ridgeline/ridgeline.hpp"

namespace ridgeline::api {

/// The fields that the caller's header had, each whole; those behind are 0.
[[nodiscard]] rl_hooks known_fields(const rl_hooks* given);

/// Our own hooks that call `given`, which outlives them.
[[nodiscard]] Hooks hooks_of(const rl_hooks& given);

}  // namespace ridgeline::api
