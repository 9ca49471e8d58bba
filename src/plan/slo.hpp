#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "plan/target.hpp"

namespace ridgeline::plan {

/// What a plan's `slo` says.
struct Slo {
  Targets targets;
  std::optional<core::Duration> window = {};  ///< Over which a percentile is taken.
  std::optional<double> confidence = {};      ///< Key `confidence`.
  std::optional<std::string> preset = {};     ///< "mlperf/llama2-70b-interactive"
  core::Warnings warnings = {};
};

/// Reads `slo`: a preset's name, or a map of
///   {ttft: {p99: 500ms}, tpot: {p99: 50ms, mean: 30ms}, e2e: 8s, statistic: p95,
///    attainment: 0.99, window: 1h, confidence: 0.9}
/// A time by itself is of `statistic` (p99), or with `attainment` a limit of each request. Problems
/// are noted: a target without unit, `itl` (whose percentiles are of gaps, not of requests), a
/// metric with an attainment and a percentile.
[[nodiscard]] Slo read_slo(const document::Node& node, core::Errors& errors);

/// The presets: "mlperf/llama2-70b" and so on.
[[nodiscard]] std::vector<std::string> slo_presets();

}  // namespace ridgeline::plan
