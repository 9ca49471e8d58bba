#pragma once

#include "core/time.hpp"

namespace ridgeline::engine {

/// What of a prefix cache is asked for: what it held when all before `as_of` had happened, and of
/// that only what had come there at `since` or later. Zero: everything.
struct KvLook {
  core::SimTime as_of;
  core::SimTime since = {};
};

/// What an engine keeps so that it can be asked.
struct KvHistory {
  core::Duration kept = {};  ///< How long ago `as_of` may be. Zero: there is no history.
  bool keeps_ages = false;   ///< `since` may be asked for.
};

}  // namespace ridgeline::engine
