#pragma once

#include <atomic>

#include "cli/exit_code.hpp"

namespace ridgeline::cli {

/// From here on SIGINT, SIGTERM, SIGHUP and SIGXFSZ remove the outputs that are not complete, say
/// so on standard error and end the process with 128 and the signal's number. A SIGHUP that is
/// ignored (nohup) stays so.
void handle_signals();

/// While it lives, the first SIGINT, SIGTERM or SIGHUP sets a flag instead; the second ends the
/// process as above.
class InterruptGuard {
 public:
  InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard();

  [[nodiscard]] static const std::atomic<bool>& flag();
  /// 128 and the number of the signal that set the flag: 130 for Ctrl-C.
  [[nodiscard]] static ExitCode exit_code();
};

/// A closed pipe becomes an error of write() instead of the end of the process.
void ignore_broken_pipes();

}  // namespace ridgeline::cli
