// What predicting one step costs. Each line: ns per predict() with its parts remembered, and how
// many times faster that is than computing every kernel again (recompute_ratio).
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/kernel_model.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/lookup.hpp"
#include "latency/measured/make_tables.hpp"
#include "latency/measured/measured_kernels.hpp"
#include "latency/step_time_model.hpp"
#include "latency/table/table_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"

namespace {

using ridgeline::core::Tokens;
using ridgeline::domain::PrefillChunk;
using ridgeline::domain::StepBatch;
using ridgeline::latency::kernel::KernelModel;

struct Setup {
  ridgeline::model::ModelSpec network;
  ridgeline::hardware::GpuSpec gpu;
  ridgeline::latency::Execution execution;
  std::unique_ptr<KernelModel> model;
};

/// Llama-3.1-70B over four H100, with vLLM's default capture sizes.
const Setup& setup() {
  static Setup made;
  if (made.model == nullptr) {
    made.network = ridgeline::model::find_model("llama-3.1-70b").value();
    made.gpu = ridgeline::hardware::find_gpu("h100").value();
    made.execution.sharding.tensor_parallel_size = 4;
    made.execution.cuda_graph_sizes = {1, 2, 4};
    for (std::int64_t size = 8; size <= 512; size += size < 256 ? 8 : 16) {
      made.execution.cuda_graph_sizes.push_back(size);
    }
    made.model = std::make_unique<KernelModel>(
        ridgeline::latency::ModelInputs{
            .network = made.network, .gpu = made.gpu, .execution = made.execution},
        ridgeline::latency::kernel::builtin_constants());
  }
  return made;
}

template <class Call>
double ns_per_call(std::int64_t calls, const Call& call) {
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < calls; ++i) {
    benchmark::DoNotOptimize(call(i));
  }
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
  return spent.count() / static_cast<double>(calls);
}

/// Decodes come and go and contexts grow, as in a run; the chunks stay.
void predict(benchmark::State& state, const std::vector<PrefillChunk>& chunks) {
  const KernelModel& model = *setup().model;
  const std::int64_t decodes = state.range(0);
  const auto batch = [&](std::int64_t step) {
    const std::int64_t count = decodes - (step & 7) * decodes / 16;
    return StepBatch{.num_decodes = count,
                     .decode_context = Tokens(count * 700 + step % 4096),
                     .decode_lengths = {},
                     .prefills = chunks};
  };
  std::int64_t step = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(model.predict(batch(step++)));
  }
  constexpr std::int64_t kRemembered = 200'000;
  constexpr std::int64_t kPlain = 2'000;
  const double remembered =
      ns_per_call(kRemembered, [&](std::int64_t i) { return model.predict(batch(i)); });
  const double plain =
      ns_per_call(kPlain, [&](std::int64_t i) { return model.recompute(batch(i)); });
  state.counters["recompute_ratio"] = plain / remembered;
}

void decode_only(benchmark::State& state) {
  predict(state, {});
}
BENCHMARK(decode_only)->Arg(1)->Arg(32)->Arg(256);

void mixed(benchmark::State& state) {
  predict(state,
          {{.past = Tokens(1024), .new_tokens = Tokens(512)},
           {.past = Tokens(0), .new_tokens = Tokens(900)}});
}
BENCHMARK(mixed)->Arg(32)->Arg(256);

/// The closed form that lets the engine skip steps.
void affine(benchmark::State& state) {
  const KernelModel& model = *setup().model;
  std::int64_t step = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(model.affine(state.range(0), Tokens(22'400 + step++)));
  }
}
BENCHMARK(affine)->Arg(32);

/// The `table` model on tables made for the same deployment.
const ridgeline::latency::table::TableModel& table_model() {
  static std::unique_ptr<ridgeline::latency::table::TableModel> made;
  if (made == nullptr) {
    namespace tables = ridgeline::latency::measured;
    const Setup& base = setup();
    made = std::make_unique<ridgeline::latency::table::TableModel>(
        ridgeline::latency::ModelInputs{
            .network = base.network, .gpu = base.gpu, .execution = base.execution},
        measured::measured_from(
            measured::made_kernel_tables(base.gpu,
                                         {.heads = {{64, 8, 128}}, .tensor_parallel_sizes = {4}})
                .value(),
            base.gpu));
  }
  return *made;
}

void table_decode_only(benchmark::State& state) {
  const auto& model = table_model();
  const std::int64_t decodes = state.range(0);
  const auto batch = [&](std::int64_t step) {
    const std::int64_t count = decodes - (step & 7) * decodes / 16;
    return StepBatch{.num_decodes = count,
                     .decode_context = Tokens(count * 700 + step % 4096),
                     .decode_lengths = {},
                     .prefills = {}};
  };
  std::int64_t step = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(model.predict(batch(step++)));
  }
  constexpr std::int64_t kRemembered = 200'000;
  constexpr std::int64_t kPlain = 20'000;
  const double remembered =
      ns_per_call(kRemembered, [&](std::int64_t i) { return model.predict(batch(i)); });
  const double plain =
      ns_per_call(kPlain, [&](std::int64_t i) { return model.recompute(batch(i)); });
  state.counters["recompute_ratio"] = plain / remembered;
}
BENCHMARK(table_decode_only)->Arg(1)->Arg(32)->Arg(256);

/// One look-up of the published models; the ratio is to a scan of the file's rows for the nearest.
void look_up_decode(benchmark::State& state) {
  namespace tables = ridgeline::latency::measured;
  static const auto made = measured::made_kernel_tables(
                               setup().gpu, {.heads = {{64, 8, 128}}, .tensor_parallel_sizes = {4}})
                               .value();
  const measured::DecodeTable& table = made.decode.front();
  const measured::LookupOptions options{.mode = measured::LookupMode::kInterpolate};
  std::int64_t step = 0;
  for (auto _ : state) {
    ++step;
    benchmark::DoNotOptimize(
        measured::look_up_decode(table, 1 + (step & 255), 100 + step % 100'000, options));
  }
  constexpr std::int64_t kCalls = 100'000;
  const double indexed = ns_per_call(kCalls, [&](std::int64_t i) {
    return measured::look_up_decode(table, 1 + (i & 255), 100 + i % 100'000, options);
  });
  const double scanned = ns_per_call(kCalls, [&](std::int64_t i) {
    return measured::look_up_decode(
        table, 1 + (i & 255), 100 + i % 100'000, {.mode = measured::LookupMode::kFloor});
  });
  state.counters["scan_ratio"] = scanned / indexed;
}
BENCHMARK(look_up_decode);

/// What a sweep pays per point: constants are read once, the plan and the empty memory each time.
void construct(benchmark::State& state) {
  const Setup& made = setup();
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        KernelModel({.network = made.network, .gpu = made.gpu, .execution = made.execution},
                    ridgeline::latency::kernel::builtin_constants()));
  }
}
BENCHMARK(construct);

}  // namespace

BENCHMARK_MAIN();
