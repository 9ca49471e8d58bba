#pragma once

#include <span>
#include <string>

#include "document/document.hpp"
#include "report/palette.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {

/// One run by one of the step-time models that are compared.
struct ComparedRun {
  std::string model;  ///< "kernel"
  RunResult result;
};

/// Latencies, throughput and bottleneck, a column per model, and the last answer's ratio to the
/// first model's. Warnings of all runs follow, each once.
[[nodiscard]] std::string run_comparison_table(std::span<const ComparedRun> runs,
                                               const report::TextStyle& style);
/// {schema_version, models: [result, ...]}: each as `run --format json` has it.
[[nodiscard]] document::Node run_comparison_tree(std::span<const ComparedRun> runs);
/// One line of names, then a row per run; the column config.latency.name says which.
[[nodiscard]] std::string run_comparison_csv(std::span<const ComparedRun> runs);

}  // namespace ridgeline::verbs
