#include "cli/progress.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/common.hpp"
#include "cli/terminal.hpp"
#include "core/result.hpp"
#include "report/format.hpp"
#include "report/terminal_plot.hpp"
#include "sim/simulation.hpp"

namespace ridgeline::cli {

namespace {

constexpr double kFirstLineS = 1.0;
constexpr double kLineEveryS = 0.1;
constexpr double kPlainEveryS = 10.0;
/// A run as long as this shows its rates: so many, one per so many seconds.
constexpr double kRatesFromS = 5.0;
constexpr double kRateEveryS = 0.5;
constexpr std::size_t kRates = 24;

std::string time_left(double share_done, double wall_s) {
  const double left_s = wall_s * (1.0 / share_done - 1.0);
  return fmt::format(", {} left", report::human_duration(std::max(left_s, 0.0)));
}

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
    text += time_left(done / static_cast<double>(*progress.total), wall_s);
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
  if (const double wall_s = wall_seconds(); is_due(wall_s)) {
    const std::string rates = rates_line(progress, wall_s);
    show(describe(progress, wall_s), wall_s, rates);
  }
}

void ProgressDisplay::update(std::int64_t requests, std::optional<double> share) {
  const double wall_s = wall_seconds();
  if (!is_due(wall_s)) {
    return;
  }
  std::string text = report::counted(requests, "request");
  if (share && *share > 0.0) {
    constexpr double kPercent = 100.0;
    text += fmt::format(", {:.0f} %", kPercent * std::min(*share, 1.0));
    text += time_left(std::min(*share, 1.0), wall_s);
  }
  show(std::move(text), wall_s);
}

void ProgressDisplay::update(const verbs::Stage& stage) {
  const double wall_s = wall_seconds();
  if (stage.name != stage_) {
    stage_ = stage.name;
    stage_start_s_ = wall_s;
  }
  if (!is_due(wall_s)) {
    return;
  }
  std::string text = stage.name.empty()
                         ? fmt::format("{} of {} points", stage.found + stage.done, stage.all)
                         : fmt::format("{}: {} of {}", stage.name, stage.done, stage.all);
  if (const std::int64_t wanted = stage.all - stage.found; stage.done > 0 && wanted > 0) {
    text += time_left(static_cast<double>(stage.done) / static_cast<double>(wanted),
                      wall_s - stage_start_s_);
  }
  if (!stage.best.empty()) {
    text += fmt::format("; best so far {}", stage.best);
  }
  show(std::move(text), wall_s);
}

void ProgressDisplay::update(const observe::ObserveProgress& progress) {
  const double wall_s = wall_seconds();
  if (!is_due(wall_s)) {
    return;
  }
  std::string text = fmt::format("{}, {} sent",
                                 report::human_duration(progress.elapsed.to_seconds()),
                                 report::grouped(progress.sent));
  if (progress.total) {
    text += fmt::format(" of {}", report::grouped(*progress.total));
  }
  text += fmt::format(", {} in flight, {} done, {} failed",
                      report::grouped(progress.in_flight),
                      report::grouped(progress.done),
                      report::grouped(progress.failed));
  if (progress.ttft_p50_ms && progress.ttft_p99_ms && progress.lag_p99_ms) {
    text += fmt::format(", TTFT p50 {} p99 {} ms, lag p99 {} ms",
                        report::significant(*progress.ttft_p50_ms),
                        report::significant(*progress.ttft_p99_ms),
                        report::significant(*progress.lag_p99_ms));
  }
  show(std::move(text), wall_s);
}

std::string ProgressDisplay::rates_line(const sim::Progress& progress, double wall_s) {
  if (wall_s >= next_rate_s_ && progress.now > rated_.now) {
    next_rate_s_ = wall_s + kRateEveryS;
    rates_.push_back(static_cast<double>(progress.done - rated_.done) /
                     (progress.now - rated_.now).to_seconds());
    rated_ = progress;
    if (rates_.size() > kRates) {
      rates_.erase(rates_.begin());
    }
  }
  if (wall_s < kRatesFromS || rates_.empty()) {
    return {};
  }
  return fmt::format("  {} {} req/s",
                     report::sparkline(rates_, !terminal_.unicode),
                     report::significant(rates_.back()));
}

void ProgressDisplay::show(std::string text, double wall_s, std::string_view tail) {
  if (mode_ == Mode::kPlain) {
    next_s_ = wall_s + kPlainEveryS;
    text.append(tail) += '\n';
  } else {
    next_s_ = wall_s + kLineEveryS;
    const auto width = static_cast<std::size_t>(std::max(terminal_.columns - 1, 1));
    text = text.substr(0, width);
    if (text.size() + report::display_width(tail) <= width) {
      text += tail;
    }
    text.insert(0, "\r\033[K");
    shown_ = true;
  }
  static_cast<void>(write_all(STDERR_FILENO, text));
}

FlagSpec progress_flag() {
  return {.name = "progress",
          .value = "never|auto|plain",
          .help = "On standard error; auto shows it on a terminal only"};
}

core::Result<ProgressDisplay::Mode> progress_mode(const Arguments& arguments,
                                                  const Terminal& terminal) {
  using Mode = ProgressDisplay::Mode;
  static const std::array<std::string, 3> kModes = {"auto", "plain", "never"};
  const std::string mode = arguments.value("progress", "auto");
  if (std::ranges::find(kModes, mode) == kModes.end()) {
    return core::fail(bad_choice("progress", mode, kModes));
  }
  const bool line = mode == "auto" && terminal.is_terminal;
  return mode == "plain" ? Mode::kPlain : line ? Mode::kLine : Mode::kNever;
}

void ProgressDisplay::finish() {
  if (shown_) {
    static_cast<void>(write_all(STDERR_FILENO, "\r\033[K"));
    shown_ = false;
  }
}

}  // namespace ridgeline::cli
