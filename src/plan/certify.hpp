#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/result.hpp"
#include "domain/step.hpp"
#include "metrics/power_summary.hpp"
#include "plan/answer.hpp"
#include "plan/question.hpp"
#include "plan/target.hpp"
#include "scenario/resolve.hpp"
#include "workload/source.hpp"

namespace ridgeline::plan {

/// Windows of those that are not picked, and of the pick at least.
inline constexpr std::int64_t kWindows = 10;

struct CertifyOptions {
  double load = 0.0;          ///< Load of the whole system.
  std::int64_t windows = 10;  ///< In a row, on one warm server.
  std::int64_t window_requests = 10'000;
  double confidence = 0.9;  ///< Share of the windows that must meet every target.
  std::uint64_t seed = 0;   ///< Another than the race's.
  double trace_rate = 0.0;  ///< As ShareOptions.
  std::int64_t instances = 1;
};

/// What the windows say of a deployment with all its replicas, at the question's load.
struct Certification {
  Certificate certificate;
  std::vector<TargetResult> targets;  ///< One per target; none where it was cut short.
  std::array<double, domain::kNumBottlenecks> bottlenecks{};
  std::optional<metrics::PowerSummary> power = {};
  double output_tokens_per_second = 0.0;
  std::int64_t requests = 0;
  bool unstable = false;  ///< The queue grows throughout.
};

/// Runs windows one after the other; it stops when so many have failed that the rest cannot make
/// up for it. Nothing when interrupted.
[[nodiscard]] core::Result<std::optional<Certification>> certify(
    const scenario::Resolved& resolved,
    const Targets& targets,
    const CertifyOptions& options,
    const std::atomic<bool>& interrupt);

/// Certifies a run with that load already set, by the requests of `source`.
[[nodiscard]] core::Result<std::optional<Certification>> certify_run(
    const scenario::Resolved& run,
    workload::Source& source,
    const Targets& targets,
    const CertifyOptions& options,
    const std::atomic<bool>& interrupt);

/// The run that `run` makes of a scenario: all of its requests, from a cold start. Its numbers are
/// those that `run` prints; the certificate has no windows, and holds where every target is met.
/// Nothing when interrupted.
[[nodiscard]] core::Result<std::optional<Certification>> run_whole(
    const scenario::Resolved& run, const Targets& targets, const std::atomic<bool>& interrupt);

/// Takes the certificate of windows for a run, and where their statistics lie.
void take_windows(Certification& run, const Certification& windows);

/// Windows that certify a confidence where all of them pass: 29 certify 90 % (planner.md, section
/// 6).
[[nodiscard]] std::int64_t certifying_windows(double confidence);

/// That a trace has too few windows for that.
[[nodiscard]] core::Warning short_trace_warning(const Certificate& certificate, double confidence);

/// Requests of a window at a rate: those of the window stated, or of an hour, within 10,000 and
/// what the effort's budget holds (planner.md, section 1).
[[nodiscard]] std::int64_t usual_window(double rate,
                                        const std::optional<core::Duration>& window,
                                        Effort effort);

/// Lower end of the one-sided Clopper-Pearson interval: the least p at which `passed` or more of
/// `windows` have a probability of 1 - confidence.
[[nodiscard]] double clopper_pearson(std::int64_t passed, std::int64_t windows, double confidence);

}  // namespace ridgeline::plan
