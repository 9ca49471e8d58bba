#pragma once

#include <atomic>

namespace ridgeline::cli {

/// While it lives, the first Ctrl-C (or SIGTERM) sets a flag instead of ending the process; the
/// second ends it.
class InterruptGuard {
 public:
  InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard();

  [[nodiscard]] static const std::atomic<bool>& flag();
};

/// A closed pipe becomes an error of write() instead of the end of the process.
void ignore_broken_pipes();

}  // namespace ridgeline::cli
