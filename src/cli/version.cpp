#include "cli/version.hpp"

#include <string_view>

namespace ridgeline::cli {

std::string_view version() {
  return RIDGELINE_VERSION;
}

}  // namespace ridgeline::cli
