#pragma once

#include <stdexcept>
#include <string>

#include "routing/registry.hpp"

namespace ridgeline::routing {

/// Makes the routing policy of that name.
inline auto maker_of(const std::string& name) {
  const auto found = find_router(name);
  if (!found) {
    throw std::invalid_argument(found.error().front().message);
  }
  return (*found)->make;
}

}  // namespace ridgeline::routing
