// What predicting one step costs under V0 to V2. Each line: ns per predict(); kernel_ratio says how
// many times the kernel model's price that is. V2 reads the folder of kernel tables that
// RIDGELINE_BENCH_DATA names, and is left out without.
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"

namespace {

using ridgeline::core::Tokens;
using ridgeline::domain::PrefillChunk;
using ridgeline::domain::StepBatch;
using ridgeline::latency::StepTimeModel;

struct Deployment {
  ridgeline::model::ModelSpec network = ridgeline::model::find_model("llama-3.1-8b").value();
  ridgeline::hardware::GpuSpec gpu = ridgeline::hardware::find_gpu("h100").value();
  ridgeline::latency::Execution execution;
};

std::unique_ptr<StepTimeModel> model_of(const std::string& name) {
  static const Deployment kDeployment;
  const char* tables = std::getenv("RIDGELINE_BENCH_DATA");
  const bool needs = name.starts_with("v2");
  auto model = ridgeline::latency::make_step_time_model(
      name,
      {.network = kDeployment.network,
       .gpu = kDeployment.gpu,
       .execution = kDeployment.execution,
       .options = {.bench_data = needs && tables != nullptr ? tables : ""}});
  return model ? std::move(*model) : nullptr;
}

/// Contexts grow by one a step, as in a run.
class GrowingBatch {
 public:
  GrowingBatch(std::int64_t decodes, bool prompt) {
    for (std::int64_t i = 0; i < decodes; ++i) {
      lengths_.emplace_back(200 + 37 * i);
    }
    if (prompt) {
      prefills_.push_back({.past = Tokens(0), .new_tokens = Tokens(512)});
    }
  }
  StepBatch next() {
    Tokens sum;
    for (Tokens& length : lengths_) {
      length = length.value() < 8000 ? length + Tokens(1) : Tokens(200);
      sum += length;
    }
    return {.num_decodes = std::ssize(lengths_),
            .decode_context = sum,
            .decode_lengths = lengths_,
            .prefills = prefills_};
  }

 private:
  std::vector<Tokens> lengths_;
  std::vector<PrefillChunk> prefills_;
};

double ns_per_predict(const StepTimeModel& model, GrowingBatch batch) {
  constexpr std::int64_t kCalls = 100'000;
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < kCalls; ++i) {
    benchmark::DoNotOptimize(model.predict(batch.next()));
  }
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
  return spent.count() / static_cast<double>(kCalls);
}

void predict(benchmark::State& state, const char* name, bool prompt) {
  const auto model = model_of(name);
  if (model == nullptr) {
    state.SkipWithError("RIDGELINE_BENCH_DATA names no folder of tables");
    return;
  }
  GrowingBatch batch(state.range(0), prompt);
  for (auto _ : state) {
    benchmark::DoNotOptimize(model->predict(batch.next()));
  }
  const GrowingBatch fresh(state.range(0), prompt);
  state.counters["kernel_ratio"] =
      ns_per_predict(*model, fresh) / ns_per_predict(*model_of("kernel"), fresh);
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK_CAPTURE(predict, kernel_decode, "kernel", false)->Arg(1)->Arg(100);
BENCHMARK_CAPTURE(predict, v0_decode, "v0", false)->Arg(1)->Arg(100);
BENCHMARK_CAPTURE(predict, v1_decode, "v1", false)->Arg(1)->Arg(100);
BENCHMARK_CAPTURE(predict, v2_h29_decode, "v2-h29", false)->Arg(1)->Arg(100);
BENCHMARK_CAPTURE(predict, v2_h33_perreq_decode, "v2-h33-perreq", false)->Arg(1)->Arg(100);
BENCHMARK_CAPTURE(predict, v2_final_decode, "v2-final", false)->Arg(1)->Arg(100);
BENCHMARK_CAPTURE(predict, v1_mixed, "v1", true)->Arg(100);
BENCHMARK_CAPTURE(predict, v2_final_mixed, "v2-final", true)->Arg(100);

}  // namespace

BENCHMARK_MAIN();
