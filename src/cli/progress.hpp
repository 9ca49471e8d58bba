#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/terminal.hpp"
#include "core/result.hpp"
#include "observe/observation.hpp"
#include "sim/simulation.hpp"
#include "verbs/host.hpp"

namespace ridgeline::cli {

/// How far a run is, on standard error: on a terminal one line that is rewritten, from the first
/// second on; plain, a line every ten seconds.
class ProgressDisplay {
 public:
  enum class Mode : std::uint8_t { kNever, kLine, kPlain };

  ProgressDisplay(Mode mode, const Terminal& terminal);

  void update(const sim::Progress& progress);
  /// Requests of a workload that is read or written, and how much of it that is where it is known.
  void update(std::int64_t requests, std::optional<double> share);
  /// Points of a sweep, stages of a plan.
  void update(const verbs::Stage& stage);
  /// A measurement of a server.
  void update(const observe::ObserveProgress& progress);
  /// Takes the line away again.
  void finish();
  /// Seconds since the start.
  [[nodiscard]] double wall_seconds() const;

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool is_due(double wall_s) const {
    return mode_ != Mode::kNever && wall_s >= next_s_;
  }
  void show(std::string text, double wall_s, std::string_view tail = {});
  /// Takes a value of rates_ where one is due; the last ones as a line, once the run is long.
  [[nodiscard]] std::string rates_line(const sim::Progress& progress, double wall_s);

  Mode mode_;
  Terminal terminal_;
  Clock::time_point start_;
  double next_s_;
  bool shown_ = false;
  /// A run's requests done per simulated second, a value per kRateEveryS; and where the last one
  /// was taken.
  std::vector<double> rates_;
  sim::Progress rated_;
  double next_rate_s_ = 0.0;
  std::string stage_;  ///< Stage of a plan, and when it began.
  double stage_start_s_ = 0.0;
};

/// --progress auto|plain|never, and what it says: by itself a line, on a terminal.
[[nodiscard]] FlagSpec progress_flag();
[[nodiscard]] core::Result<ProgressDisplay::Mode> progress_mode(const Arguments& arguments,
                                                                const Terminal& terminal);

}  // namespace ridgeline::cli
