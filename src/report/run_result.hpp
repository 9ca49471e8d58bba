#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/document.hpp"
#include "core/result.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::report {

/// How a run went on this machine: the only part of a result that may differ between two runs of
/// one scenario.
struct RunInfo {
  std::string version;  ///< Of Ridgeline.
  double wall_time_s = 0.0;
  std::optional<std::string> host;
  std::string engine_core;             ///< "fast" or "reference".
  double requests_per_second = 0.0;    ///< Simulated requests per second of wall time.
  std::optional<double> jumped_share;  ///< Steps in closed form, of all; nothing without steps.
  std::optional<double> simulated_per_wall;  ///< Simulated seconds per second of wall time; nothing
                                             ///< where the summary has no duration.
};

/// Everything a report shows. Plain data; whoever ran the simulation fills it.
struct RunResult {
  /// What was run, in short pieces for a person: "llama-3.1-8b on H100", "8 req/s (Poisson)", "seed
  /// 1".
  std::vector<std::string> headline;
  RunInfo run_info;
  core::Node config;  ///< The fully resolved scenario.
  metrics::Summary summary;
  core::Warnings warnings;  ///< Without those for absent numbers, which the machine formats add.
  std::string digest;
  bool partial = false;  ///< Interrupted: covers what happened until then.
};

}  // namespace ridgeline::report
