#pragma once

#include <chrono>
#include <cstdint>

#include "cli/terminal.hpp"
#include "sim/simulation.hpp"

namespace ridgeline::cli {

/// How far a run is, on standard error: on a terminal one line that is rewritten, from the first
/// second on; plain, a line every ten seconds.
class ProgressDisplay {
 public:
  enum class Mode : std::uint8_t { kNever, kLine, kPlain };

  ProgressDisplay(Mode mode, const Terminal& terminal);

  void update(const sim::Progress& progress);
  /// Takes the line away again.
  void finish();
  /// Seconds since the start.
  [[nodiscard]] double wall_seconds() const;

 private:
  using Clock = std::chrono::steady_clock;

  Mode mode_;
  Terminal terminal_;
  Clock::time_point start_;
  double next_s_;
  bool shown_ = false;
};

}  // namespace ridgeline::cli
