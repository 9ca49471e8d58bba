#pragma once

#include <string_view>

namespace ridgeline::core {

/// Reports a broken invariant of ours on standard error and aborts.
[[noreturn]] void check_failed(const char* condition,
                               const char* file,
                               int line,
                               std::string_view context);

}  // namespace ridgeline::core

/// Always on: a wrong answer is worse than none.
#define RIDGELINE_CHECK(condition, context)                                       \
  do {                                                                            \
    if (!(condition)) [[unlikely]] {                                              \
      ::ridgeline::core::check_failed(#condition, __FILE__, __LINE__, (context)); \
    }                                                                             \
  } while (false)

/// Costly checks, on where assertions are (developer and sanitizer builds).
#ifdef NDEBUG
#define RIDGELINE_DCHECK(condition, context) static_cast<void>(0)
#else
#define RIDGELINE_DCHECK(condition, context) RIDGELINE_CHECK(condition, context)
#endif
