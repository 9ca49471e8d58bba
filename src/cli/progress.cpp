#include "cli/progress.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/terminal.hpp"
#include "report/format.hpp"
#include "sim/simulation.hpp"

namespace ridgeline::cli {

namespace {

constexpr double kFirstLineS = 1.0;
constexpr double kLineEveryS = 0.1;
constexpr double kPlainEveryS = 10.0;

std::string describe(const sim::Progress& progress, double wall_s) {
  const double simulated_s = progress.now.to_seconds();
  const auto done = static_cast<double>(progress.done);
  std::string text = fmt::format(
      "simulated {}, {}", report::human_duration(simulated_s), report::grouped(progress.done));
  if (progress.total) {
    text += fmt::format(" of {}", report::grouped(*progress.total));
  }
  text += fmt::format(" requests, {}x", report::significant(simulated_s / wall_s));
  if (progress.total && progress.done > 0) {
    const double left_s = wall_s * (static_cast<double>(*progress.total) / done - 1.0);
    text += fmt::format(", {} left", report::human_duration(std::max(left_s, 0.0)));
  }
  return text;
}

}  // namespace

ProgressDisplay::ProgressDisplay(Mode mode, const Terminal& terminal)
    : mode_(mode),
      terminal_(terminal),
      start_(Clock::now()),
      next_s_(mode == Mode::kPlain ? kPlainEveryS : kFirstLineS) {}

double ProgressDisplay::wall_seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

void ProgressDisplay::update(const sim::Progress& progress) {
  if (mode_ == Mode::kNever) {
    return;
  }
  const double wall_s = wall_seconds();
  if (wall_s < next_s_) {
    return;
  }
  std::string text = describe(progress, wall_s);
  if (mode_ == Mode::kPlain) {
    next_s_ = wall_s + kPlainEveryS;
    text += '\n';
  } else {
    next_s_ = wall_s + kLineEveryS;
    const auto width = static_cast<std::size_t>(std::max(terminal_.columns - 1, 1));
    text = "\r\033[K" + text.substr(0, width);
    shown_ = true;
  }
  static_cast<void>(write_all(STDERR_FILENO, text));
}

void ProgressDisplay::finish() {
  if (shown_) {
    static_cast<void>(write_all(STDERR_FILENO, "\r\033[K"));
    shown_ = false;
  }
}

}  // namespace ridgeline::cli
