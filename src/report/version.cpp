#include "report/version.hpp"

#include <string_view>

namespace ridgeline::report {

std::string_view version() {
  return RIDGELINE_VERSION;
}

}  // namespace ridgeline::report
