#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "latency/accuracy/bands.hpp"
#include "metrics/series.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::verbs {

/// How a run went on this machine: the only part of a result that may differ between two runs of
/// one scenario.
struct RunInfo {
  std::string version;  ///< Ridgeline's version.
  double wall_time_s = 0.0;
  std::optional<std::string> host;
  std::string engine_core;             ///< "fast" or "reference".
  double requests_per_second = 0.0;    ///< Simulated requests per second of wall time.
  std::optional<double> jumped_share;  ///< Steps in closed form, of all; nothing without steps.
  std::optional<double> simulated_per_wall;  ///< Simulated seconds per second of wall time; nothing
                                             ///< where one of the two is none.
};

/// A deployment of several data-parallel ranks, of which the summary covers one. Rates are in
/// requests and tokens per second, nothing where the run has none.
struct Deployment {
  std::int64_t data_parallel_size = 1;
  std::int64_t loaded_ranks =
      1;  ///< That get requests: no more than there are clients or requests.
  std::optional<double> request_rate;       ///< Arrivals at all ranks.
  std::optional<double> rank_request_rate;  ///< At the simulated one.
  std::optional<std::int64_t> requests;     ///< That all ranks get, where that is known.
  std::int64_t rank_requests = 0;
  std::optional<double> request_throughput;  ///< All ranks together, as are the next.
  std::optional<double> output_throughput;
  std::optional<double> total_token_throughput;
  std::optional<double> goodput;
};

/// Everything a report shows. Plain data, filled by the caller that ran the simulation.
struct RunResult {
  /// What was run, in short pieces for a person: "llama-3.1-8b on H100", "8 req/s (Poisson)", "seed
  /// 1".
  std::vector<std::string> headline;
  std::string command = {};  ///< That repeats the run, on one line.
  /// Settings that are not defaults, by path: the value, and where it came from.
  std::vector<std::pair<std::string, std::string>> stated = {};
  RunInfo run_info;
  document::Node config;  ///< The fully resolved scenario.
  metrics::Summary summary;
  std::optional<metrics::Series> series;  ///< Where it was asked for.
  /// Where it was: what a reader asks first (results/findings.hpp), a decode step and a prompt's
  /// step of its means (results/mean_steps.hpp), and what lies in a GPU's memory.
  std::optional<document::Node> findings = {};
  std::optional<document::Node> mean_steps = {};
  std::optional<document::Node> gpu_memory = {};
  std::optional<Deployment> deployment;  ///< Where it has more than one data-parallel rank.
  /// How far such predictions were off on measured servers: one per metric that has a band.
  std::vector<accuracy::ExpectedError> expected_errors;
  std::string bound =
      {};  ///< Why the times are bounds (scenario::bound_text()); they have no errors.
  core::Warnings warnings;  ///< Without those for absent numbers, which the machine formats add.
  std::string digest;
  bool partial = false;  ///< Interrupted: covers what happened until then.
};

}  // namespace ridgeline::verbs
