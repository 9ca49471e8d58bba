// What a plan of a thousand points costs, beside measuring the capacity of each of them, and what
// its formulas cost per point.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <stdexcept>
#include <utility>

#include <benchmark/benchmark.h>

#include "plan/bounds.hpp"
#include "plan/capacity_measure.hpp"
#include "plan/demand.hpp"
#include "plan/fluid.hpp"
#include "plan/planner.hpp"
#include "plan/points.hpp"
#include "plan/question.hpp"
#include "plan/space.hpp"

namespace {

using namespace ridgeline;  // NOLINT(google-build-using-namespace): a program of its own

/// Two networks on three GPUs at four widths, with 42 settings each: 1,008 points; 20 requests/s of
/// 1,000 tokens in and 250 out, so that requests queue.
plan::Question thousand_points() {
  plan::QuestionWords words;
  words.overrides = {
      {.path = "model", .text = "llama-3.1-8b,qwen3-14b"},
      {.path = "gpu", .text = "h100,h200,l40s"},
      {.path = "engine.tensor_parallel_size", .text = "1,2,4,8"},
      {.path = "engine.max_num_batched_tokens", .text = "1024,2048,3072,4096,6144,8192,16384"},
      {.path = "engine.max_num_seqs", .text = "32,64,96,128,256,512"},
      {.path = "workload.request_rate", .text = "20"},
      {.path = "workload.input_len",
       .text = "{distribution: lognormal, mean: 1000, std: 1000, max: 8000}"},
      {.path = "workload.output_len", .text = "250"},
      {.path = "slo.ttft", .text = "800ms"},
      {.path = "slo.tpot", .text = "40ms"}};
  words.objective = "gpus";
  auto read = plan::read_question(words);
  if (!read) {
    throw std::runtime_error(read.error().front().message);
  }
  return std::move(*read);
}

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// Counters: points, CPU seconds of the plan, and how many times as long a capacity of every point
/// at 32,000 requests would take, by each 50th of those that no bound refuses.
void plan_1000(benchmark::State& state) {
  const plan::Question question = thousand_points();
  const std::atomic<bool> interrupt = false;
  double planned = 0.0;
  double measured = 0.0;
  double points = 0.0;
  for (auto _ : state) {
    const double start = cpu_seconds();
    const auto answer = plan::plan(question, {.jobs = 1}, interrupt);
    planned += cpu_seconds() - start;
    points = static_cast<double>(answer.value().search.points);

    auto space = plan::Space::read(question).value();
    const auto looked =
        plan::look_at_points(question, space, 1, [](std::int64_t, std::int64_t) {}, interrupt);
    const auto& open = looked.value().open;
    constexpr std::size_t kStride = 50;
    const double before = cpu_seconds();
    std::size_t taken = 0;
    for (std::size_t i = 0; i < open.size(); i += kStride, ++taken) {
      const plan::SpacePoint point =
          space.point(looked.value().candidates[open[i].candidate].ordinal);
      benchmark::DoNotOptimize(
          plan::capacity_measure().find(space.resolve(point).value().resolved, interrupt));
    }
    measured +=
        (cpu_seconds() - before) * static_cast<double>(open.size()) / static_cast<double>(taken);
  }
  state.counters["points"] = points;
  state.counters["plan_cpu_s"] = planned / static_cast<double>(state.iterations());
  state.counters["brute_over_plan"] = measured / planned;
}
BENCHMARK(plan_1000)->Iterations(1)->Unit(benchmark::kSecond);

/// One point of the question, resolved: what its formulas read.
class Point {
 public:
  Point()
      : question_(thousand_points()),
        space_(plan::Space::read(question_).value()),
        resolved_(space_.resolve(space_.point(0)).value().resolved),
        demand_(plan::demand_of(resolved_).value()) {}
  [[nodiscard]] plan::FluidInputs inputs() const {
    return {.deployment = *resolved_.deployment,
            .model = *resolved_.deployment->latency,
            .demand = demand_};
  }
  [[nodiscard]] const plan::Targets& targets() const { return question_.slo.targets; }

 private:
  plan::Question question_;
  plan::Space space_;
  scenario::Resolved resolved_;
  plan::Demand demand_;
};

void bounds(benchmark::State& state) {
  const Point point;
  for (auto _ : state) {
    benchmark::DoNotOptimize(plan::bounds_of(point.inputs(), point.targets()));
  }
}
BENCHMARK(bounds)->Unit(benchmark::kMicrosecond);

void fluid_estimate(benchmark::State& state) {
  const Point point;
  for (auto _ : state) {
    benchmark::DoNotOptimize(plan::fluid_capacity(point.inputs(), point.targets()));
  }
}
BENCHMARK(fluid_estimate)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
