#include "core/check.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <fmt/core.h>

namespace ridgeline::core {

void check_failed(const char* condition, const char* file, int line, std::string_view context) {
  fmt::print(
      stderr, "ridgeline: internal error: {} at {}:{}: {}\n", condition, file, line, context);
  std::abort();
}

}  // namespace ridgeline::core
