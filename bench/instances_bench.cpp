// What a request costs when 64 instances share a process and a step-time model, beside what it
// costs on an instance alone. Both are measured in turn within one run, so that the ratio does not
// depend on how busy the machine is.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/instance.hpp"
#include "engine/options.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/kernel_model.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"

namespace {

using namespace ridgeline;  // NOLINT(google-build-using-namespace): a program of its own

constexpr std::int64_t kNoBudget = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kInstances = 64;
/// In all, however many instances share them.
constexpr std::uint32_t kRequests = 512'000;

class NoSink final : public domain::RecordSink {
 public:
  void on_request(const domain::RequestRecord& record) override {
    benchmark::DoNotOptimize(record.last_token);
  }
  void on_steps(const domain::StepRecord& record) override { static_cast<void>(record); }
  void on_token_gaps(const domain::TokenGaps& gaps) override { benchmark::DoNotOptimize(gaps.gap); }
};

/// Which instances are advanced when a request arrives.
enum class Advance : std::uint8_t {
  kChosen,  ///< Only the one that gets the request.
  kAll,     ///< All, as for a router that asks each for its state.
};

/// Llama-3.1-8B on one H100 each, 512 tokens in and 256 out, one step-time model for all.
class Fleet {
 public:
  explicit Fleet(std::int64_t requests_per_s)
      : between_(core::Duration::ticks(core::Duration::kTicksPerSecond / requests_per_s)),
        network_(model::find_model("llama-3.1-8b").value()),
        gpu_(hardware::find_gpu("h100").value()),
        model_({.network = network_, .gpu = gpu_, .execution = execution_},
               latency::kernel::builtin_constants()) {
    options_.max_num_seqs = 256;
    options_.max_num_batched_tokens = core::Tokens(8192);
    options_.num_gpu_blocks = core::Blocks(25'000);
  }

  /// Nanoseconds per request: kRequests in turn to so many instances, each at the same rate.
  [[nodiscard]] double run(std::size_t num_instances, Advance advance) const {
    NoSink sink;
    std::vector<std::unique_ptr<engine::Instance>> instances;
    for (std::size_t i = 0; i < num_instances; ++i) {
      instances.push_back(std::make_unique<engine::Instance>(engine::InstanceInputs{
          .engine = {.options = options_, .model = model_, .host = host_, .sink = sink},
          .path = path_,
          .id = core::InstanceId(static_cast<std::uint32_t>(i))}));
    }
    const auto start = std::chrono::steady_clock::now();
    core::SimTime arrival;
    for (std::uint32_t id = 0; id < kRequests; ++id) {
      arrival += core::Duration::ticks(between_.count() / static_cast<std::int64_t>(num_instances));
      const std::size_t chosen = id % num_instances;
      for (std::size_t i = 0; i < num_instances; ++i) {
        if (advance == Advance::kAll || i == chosen) {
          instances[i]->advance(arrival, false, kNoBudget);
        }
      }
      instances[chosen]->submit(request(id, arrival));
    }
    for (const auto& instance : instances) {
      instance->advance(core::SimTime::never(), false, kNoBudget);
    }
    const std::chrono::duration<double, std::nano> passed =
        std::chrono::steady_clock::now() - start;
    return passed.count() / kRequests;
  }

 private:
  static domain::Request request(std::uint32_t id, core::SimTime arrival) {
    domain::Request request;
    request.id = core::RequestId(id);
    request.arrival = arrival;
    request.prompt_tokens = core::Tokens(512);
    request.output_tokens = core::Tokens(256);
    request.max_tokens = request.output_tokens;
    return request;
  }

  core::Duration between_;  ///< Between arrivals at one instance.
  model::ModelSpec network_;
  hardware::GpuSpec gpu_;
  latency::Execution execution_;
  latency::kernel::KernelModel model_;
  engine::EngineOptions options_;
  engine::HostTime host_;
  engine::RequestPath path_;
};

/// The argument is requests per second and instance. Counters: ns per request on one instance, on
/// 64 of which one is advanced, on 64 of which all are, and these two over the first.
void instances_beside_one(benchmark::State& state) {
  const Fleet fleet(state.range(0));
  double alone = 0.0;
  double chosen = 0.0;
  double all = 0.0;
  for (auto _ : state) {
    alone += fleet.run(1, Advance::kChosen);
    chosen += fleet.run(kInstances, Advance::kChosen);
    all += fleet.run(kInstances, Advance::kAll);
  }
  const auto runs = static_cast<double>(state.iterations());
  state.counters["alone_ns"] = alone / runs;
  state.counters["of_64_ns"] = chosen / runs;
  state.counters["ratio"] = chosen / alone;
  state.counters["all_64_ns"] = all / runs;
  state.counters["all_ratio"] = all / alone;
}
BENCHMARK(instances_beside_one)->Arg(8)->Arg(30)->Iterations(3)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
