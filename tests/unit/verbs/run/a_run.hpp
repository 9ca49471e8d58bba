#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "document/document.hpp"
#include "metrics/timeline.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/simulation.hpp"
#include "verbs/run/make_result.hpp"
#include "verbs/run/result_tree.hpp"
#include "verbs/run/run_result.hpp"
#include "workload/source.hpp"

namespace ridgeline::verbs::fixtures {

/// A small run with its series; `more` settings win.
inline RunResult a_run(const std::vector<scenario::Override>& more = {}) {
  std::vector<scenario::Override> all = {{"model", "llama-3.1-8b"},
                                         {"gpu", "h100"},
                                         {"workload.request_rate", "20"},
                                         {"workload.num_prompts", "200"},
                                         {"workload.input_len", "512"},
                                         {"workload.output_len", "64"},
                                         {"slo.ttft", "50ms"},
                                         {"slo.tpot", "8ms"}};
  for (const scenario::Override& own : more) {
    std::erase_if(all, [&](const scenario::Override& one) { return one.path == own.path; });
    all.push_back(own);
  }
  auto loaded = scenario::load_scenario(std::nullopt, all, scenario::Purpose::kRun);
  RIDGELINE_CHECK(loaded.has_value(), "a scenario of a test");
  const auto resolved = scenario::resolve(std::move(*loaded));
  RIDGELINE_CHECK(resolved.has_value(), "a scenario of a test");
  auto source = resolved->workload.open();
  RIDGELINE_CHECK(source.has_value(), "a workload of a test");
  const auto outcome =
      sim::simulate(*resolved, **source, {.series_windows = metrics::Timeline::kUsualWindows});
  RIDGELINE_CHECK(outcome.has_value(), "a run of a test");
  return run_result(*resolved, *outcome, {.wall_time_s = 0.5, .host = "h", .engine_core = "fast"});
}

inline const document::Node& a_result() {
  static const document::Node kResult = result_tree(a_run());
  return kResult;
}

/// How often `part` is in `text`.
inline int count(const std::string& text, const std::string& part) {
  int number = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++number;
  }
  return number;
}

}  // namespace ridgeline::verbs::fixtures
