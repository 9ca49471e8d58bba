#pragma once

#include <string>

#include "routing/registry.hpp"

namespace ridgeline::routing {

/// Makes the routing policy of that name.
inline auto maker_of(const std::string& name) {
  return find_router(name).value()->make;
}

}  // namespace ridgeline::routing
