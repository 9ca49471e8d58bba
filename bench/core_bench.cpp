// What the parts of core cost. `ratio` counters compare with the C library in the same run, so that
// they do not depend on the machine's mood.
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/digest.hpp"
#include "core/distributions.hpp"
#include "core/math.hpp"
#include "core/rng.hpp"
#include "core/statistics/moments.hpp"
#include "core/statistics/quantile_sketch.hpp"
#include "core/statistics/quantiles.hpp"
#include "core/time.hpp"

namespace {

namespace core = ridgeline::core;
using core::RngStream;

// --- Mathematics -------------------------------------------------------------------------------

constexpr std::size_t kInputs = 1024;

struct Inputs {
  std::array<double, kInputs> x{};
  std::array<double, kInputs> y{};
};

Inputs make_inputs() {
  RngStream rng(1, 0, "bench inputs");
  Inputs inputs;
  for (std::size_t i = 0; i < kInputs; ++i) {
    inputs.x[i] = 10.0 * rng.uniform();
    inputs.y[i] = 10.0 * rng.uniform();
  }
  return inputs;
}

template <class Function>
double seconds_of(const Inputs& inputs, Function&& function) {
  const auto start = std::chrono::steady_clock::now();
  double sum = 0.0;
  for (std::size_t i = 0; i < kInputs; ++i) {
    sum += function(inputs.x[i], inputs.y[i]);
  }
  benchmark::DoNotOptimize(sum);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Times both functions in turns; the reported time is ours per call.
template <class Ours, class Theirs>
void compare(benchmark::State& state, Ours&& ours, Theirs&& theirs) {
  const Inputs inputs = make_inputs();
  double our_seconds = 0.0;
  double their_seconds = 0.0;
  for (auto _ : state) {
    const double seconds = seconds_of(inputs, ours);
    their_seconds += seconds_of(inputs, theirs);
    our_seconds += seconds;
    state.SetIterationTime(seconds);
  }
  const double calls = static_cast<double>(state.iterations()) * kInputs;
  state.counters["ns_per_call"] = our_seconds / calls * 1e9;
  state.counters["libm_ns"] = their_seconds / calls * 1e9;
  state.counters["ratio"] = our_seconds / their_seconds;
}

void log_against_libm(benchmark::State& state) {
  compare(
      state,
      [](double x, double) { return core::log(x); },
      [](double x, double) { return std::log(x); });
}
BENCHMARK(log_against_libm)->UseManualTime();

void exp_against_libm(benchmark::State& state) {
  compare(
      state,
      [](double x, double) { return core::exp(x); },
      [](double x, double) { return std::exp(x); });
}
BENCHMARK(exp_against_libm)->UseManualTime();

void pow_against_libm(benchmark::State& state) {
  compare(
      state,
      [](double x, double y) { return core::pow(x, y); },
      [](double x, double y) { return std::pow(x, y); });
}
BENCHMARK(pow_against_libm)->UseManualTime();

// --- Random numbers ----------------------------------------------------------------------------

template <class Draw>
void draws(benchmark::State& state, Draw draw) {
  RngStream rng(1, 0, "bench");
  for (auto _ : state) {
    benchmark::DoNotOptimize(draw(rng));
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK_CAPTURE(draws, u64, [](RngStream& rng) { return rng.next_u64(); });
BENCHMARK_CAPTURE(draws, uniform, [](RngStream& rng) { return rng.uniform(); });
BENCHMARK_CAPTURE(draws, below, [](RngStream& rng) { return rng.below(1000); });
BENCHMARK_CAPTURE(draws, exponential, [](RngStream& rng) { return core::exponential(rng, 1.0); });
BENCHMARK_CAPTURE(draws, normal, [](RngStream& rng) { return core::normal(rng, 0.0, 1.0); });
BENCHMARK_CAPTURE(draws, lognormal, [moments = core::log_moments_of(512.0, 256.0)](RngStream& rng) {
  return core::lognormal(rng, moments);
});
BENCHMARK_CAPTURE(draws, gamma, [](RngStream& rng) { return core::gamma(rng, 0.5, 2.0); });
BENCHMARK_CAPTURE(draws, weibull, [](RngStream& rng) { return core::weibull(rng, 1.5, 1.0); });
BENCHMARK_CAPTURE(draws, zipf, [zipf = core::Zipf(1'000'000, 1.1)](RngStream& rng) {
  return zipf.draw(rng);
});
BENCHMARK_CAPTURE(draws,
                  alias,
                  [table = *core::AliasTable::make(std::vector<double>(1000, 1.0))](
                      RngStream& rng) { return table.draw(rng); });

void new_stream_and_one_draw(benchmark::State& state) {
  std::uint64_t entity = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(RngStream(1, 0, "lengths", entity++).next_u64());
  }
}
BENCHMARK(new_stream_and_one_draw);

// --- Quantiles ---------------------------------------------------------------------------------

/// Token gaps as a busy engine reports them: many short runs that slowly grow.
std::vector<statistics::ArithmeticRun> make_runs(std::size_t count) {
  RngStream rng(1, 0, "runs");
  std::vector<statistics::ArithmeticRun> runs(count);
  for (auto& run : runs) {
    run = {
        .first = static_cast<std::int64_t>(15'000'000'000 * core::exp(core::normal(rng, 0.0, 0.1))),
        .growth = static_cast<std::int64_t>(rng.below(300'000)),
        .count = static_cast<std::int64_t>(1 + rng.below(20)),
        .repeat = static_cast<std::int64_t>(1 + rng.below(256))};
  }
  return runs;
}

void vector_quantiles(benchmark::State& state) {
  RngStream rng(1, 0, "values");
  std::vector<std::int64_t> values(1'000'000);
  for (auto& value : values) {
    value = static_cast<std::int64_t>(rng.below(1'000'000'000'000));
  }
  for (auto _ : state) {
    auto copy = values;
    benchmark::DoNotOptimize(statistics::quantiles(copy, std::array{0.5, 0.9, 0.95, 0.99}));
  }
  state.SetItemsProcessed(state.iterations() * 1'000'000);
}
BENCHMARK(vector_quantiles)->Unit(benchmark::kMillisecond);

void sketch_add(benchmark::State& state) {
  const auto runs = make_runs(100'000);
  for (auto _ : state) {
    statistics::QuantileSketch sketch;
    for (const auto& run : runs) {
      sketch.add(run);
    }
    benchmark::DoNotOptimize(sketch);
  }
  state.SetItemsProcessed(state.iterations() * 100'000);
}
BENCHMARK(sketch_add);

// --- Digest ------------------------------------------------------------------------------------

void digest_add(benchmark::State& state) {
  core::Digest digest;
  std::int64_t value = 0;
  for (auto _ : state) {
    digest.add(value++);
  }
  benchmark::DoNotOptimize(digest.hex());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(digest_add);

}  // namespace

BENCHMARK_MAIN();
