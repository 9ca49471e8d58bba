// The series of a run: the same from the reference, the fast engine that steps and the one that
// jumps, on any number of threads; its sums are the summary's; fewer windows are its neighbours
// added up.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/int128.hpp"
#include "core/result.hpp"
#include "domain/step.hpp"
#include "metrics/series.hpp"
#include "metrics/summary.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/simulation.hpp"

namespace ridgeline::sim {
namespace {

using rc::gen::element;
using rc::gen::inRange;

/// A scenario that rules may refuse.
std::vector<scenario::Override> random_run() {
  const std::string version =
      *element<std::string>("vllm@0.15", "vllm@0.15", "vllm@0.11", "sglang", "tensorrt-llm");
  std::vector<scenario::Override> all = {
      {"model", *element<std::string>("llama-3.1-8b", "llama-3.1-8b", "gpt-oss-20b")},
      {"gpu", *element<std::string>("h100", "a100-80gb")},
      {"engine.version", version},
      {"engine.max_num_seqs", fmt::format("{}", *inRange(1, 40))},
      {"engine.max_num_batched_tokens", *element<std::string>("512", "2048", "8192")},
      {"engine.max_model_len", "4096"},
      {"workload.num_prompts", fmt::format("{}", *inRange(1, 60))},
      {"workload.input_len", fmt::format("{}", *inRange(1, 1500))},
      {"workload.output_len", fmt::format("{}", *inRange(1, 300))},
      {"seed", fmt::format("{}", *inRange(0, 1000))},
  };
  if (*element(false, true)) {
    all.push_back({"engine.num_gpu_blocks", fmt::format("{}", *inRange(300, 1500))});
  }
  if (*element(false, true)) {
    all.push_back({"workload.prefix_len", fmt::format("{}", *inRange(1, 600))});
  }
  if (*inRange(0, 4) == 0) {
    all.push_back({"engine.pipeline_parallel_size", "2"});
  }
  if (*element(false, true)) {
    all.push_back({"slo.ttft", *element<std::string>("20ms", "100ms")});
    all.push_back({"slo.tpot", "10ms"});
  }
  if (*inRange(0, 3) == 0) {
    all.push_back({"workload.max_concurrency", fmt::format("{}", *inRange(1, 20))});
  } else {
    all.push_back({"workload.request_rate", *element<std::string>("0.01", "1", "10", "200")});
  }
  if (*inRange(0, 3) == 0) {
    all.push_back({"cluster.instances", fmt::format("{}", *inRange(2, 4))});
  }
  return all;
}

constexpr std::size_t kWindows = 128;

RunOutcome run(const scenario::Resolved& resolved, RunControls controls) {
  auto source = resolved.workload.open();
  RC_ASSERT(source.has_value());
  if (!controls.series_windows) {
    controls.series_windows = kWindows;
  }
  auto outcome = simulate(resolved, **source, controls);
  RC_ASSERT(outcome.has_value());
  return *std::move(outcome);
}

/// The sums of all windows are the run's.
void expect_sums(const metrics::Series& series, const metrics::Summary& summary) {
  metrics::Window all;
  for (const metrics::Window& window : series.windows) {
    all.add(window);
    if (window.running_max > 0) {
      RC_ASSERT(window.running_min <= window.running_max);
      RC_ASSERT(window.kv_tokens_min <= window.kv_tokens_max);
      const auto room = core::Int128{series.window.count()} * series.instances;
      RC_ASSERT(window.running <= room * window.running_max);
      RC_ASSERT(window.kv_tokens <= room * window.kv_tokens_max);
    }
  }
  RC_ASSERT(all.arrivals == summary.requests());
  RC_ASSERT(all.completions == summary.completed);
  RC_ASSERT(all.preemptions == summary.preemptions);
  RC_ASSERT(all.steps == summary.steps);
  for (std::size_t kind = 0; kind < domain::kNumBottlenecks; ++kind) {
    RC_ASSERT(all.busy[kind] == summary.time_by_bottleneck[kind].count());
  }
}

/// Windows of half the number are neighbours of these added up, or the same.
void expect_neighbours(const metrics::Series& many, const metrics::Series& few) {
  if (few.window == many.window) {
    RC_ASSERT(few.windows == many.windows);
    return;
  }
  RC_ASSERT(few.window == many.window * 2);
  for (std::size_t i = 0; i < few.windows.size(); ++i) {
    metrics::Window sum = many.windows[2 * i];
    if (2 * i + 1 < many.windows.size()) {
      sum.add(many.windows[2 * i + 1]);
    }
    RC_ASSERT(few.windows[i] == sum);
  }
}

void check_a_run() {
  auto loaded = scenario::load_scenario(std::nullopt, random_run(), scenario::Purpose::kRun);
  RC_PRE(loaded.has_value());
  const auto resolved = scenario::resolve(std::move(*loaded));
  RC_PRE(resolved.has_value());
  const RunOutcome reference = run(*resolved, {.core = engine::EngineCore::kReference});
  const RunOutcome stepping = run(*resolved, {.jump = false});
  const RunOutcome jumping = run(*resolved, {});
  RC_CLASSIFY(jumping.totals.jumped_steps > 0, "jumped");
  RC_CLASSIFY(jumping.totals.preemptions > 0, "preempted");
  RC_CLASSIFY(resolved->run.cluster.instances.has_value(), "fleet");
  RC_ASSERT(reference.digest == jumping.digest);
  RC_ASSERT(*stepping.series == *jumping.series);
  RC_ASSERT(*reference.series == *jumping.series);
  RC_ASSERT(*run(*resolved, {.threads = 2}).series == *jumping.series);
  expect_sums(*jumping.series, jumping.summary);
  expect_neighbours(*jumping.series, *run(*resolved, {.series_windows = kWindows / 2}).series);
}

RC_GTEST_PROP(Series, IsTheSameFromEveryEngine, ()) {
  check_a_run();
}

}  // namespace
}  // namespace ridgeline::sim
