#include "core/version.hpp"

#include <string_view>

namespace ridgeline::core {

std::string_view version() {
  return RIDGELINE_VERSION;
}

}  // namespace ridgeline::core
