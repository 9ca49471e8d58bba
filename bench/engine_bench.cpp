// What the engine costs without the rest of the program: requests at a given load, single steps at
// a given batch, and the parts that each request passes. The reference engine stands beside it.
#include <cstdint>
#include <limits>
#include <memory>

#include <benchmark/benchmark.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/engine.hpp"
#include "engine/options.hpp"
#include "engine/vllm/fast/finish_ring.hpp"
#include "engine/vllm/fast/prefix_cache.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/kernel_model.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"

namespace {

using namespace ridgeline;  // NOLINT(google-build-using-namespace): a program of its own

constexpr std::int64_t kNoBudget = std::numeric_limits<std::int64_t>::max();

class NoSink final : public domain::RecordSink {
 public:
  void on_request(const domain::RequestRecord& record) override {
    benchmark::DoNotOptimize(record.last_token);
  }
  void on_steps(const domain::StepRecord& record) override { static_cast<void>(record); }
  void on_token_gaps(const domain::TokenGaps& gaps) override { benchmark::DoNotOptimize(gaps.gap); }
};

/// Qwen3-14B on one H100, 512 tokens in and 512 out.
class Instance {
 public:
  Instance(bool fast, bool jump, std::int64_t seats)
      : network_(model::find_model("qwen3-14b").value()),
        gpu_(hardware::find_gpu("h100").value()),
        model_({.network = network_, .gpu = gpu_, .execution = execution_},
               latency::kernel::builtin_constants()) {
    options_.max_num_seqs = seats;
    options_.max_num_batched_tokens = core::Tokens(8192);
    options_.num_gpu_blocks = core::Blocks(seats * 70);
    const engine::EngineInputs inputs{
        .options = options_, .model = model_, .host = host_, .sink = sink_};
    engine_ = fast ? engine::make_fast_engine(inputs, jump) : engine::make_reference_engine(inputs);
  }

  void submit(core::SimTime arrival) {
    domain::Request request;
    request.id = core::RequestId(next_id_++);
    request.arrival = arrival;
    request.prompt_tokens = core::Tokens(512);
    request.output_tokens = core::Tokens(512);
    request.max_tokens = request.output_tokens;
    engine_->advance(arrival, false, kNoBudget);
    engine_->submit(request, arrival);
  }
  engine::Engine& engine() { return *engine_; }

 private:
  model::ModelSpec network_;
  hardware::GpuSpec gpu_;
  latency::Execution execution_;
  latency::kernel::KernelModel model_;
  engine::EngineOptions options_;
  engine::HostTime host_;
  NoSink sink_;
  std::unique_ptr<engine::Engine> engine_;
  std::uint32_t next_id_ = 0;
};

/// One request; the argument is requests per 100 s of simulated time.
void requests(benchmark::State& state, bool fast) {
  Instance instance(fast, true, 256);
  const core::Duration between =
      core::Duration::ticks(100 * core::Duration::kTicksPerSecond / state.range(0));
  core::SimTime arrival;
  for (auto _ : state) {
    arrival += between;
    instance.submit(arrival);
  }
  state.SetItemsProcessed(state.iterations());
}
void fast_requests(benchmark::State& state) {
  requests(state, true);
}
void reference_requests(benchmark::State& state) {
  requests(state, false);
}
// At 0.1 a second simulated time has room for 900 000 requests.
constexpr std::int64_t kRequests = 800'000;
BENCHMARK(fast_requests)->Arg(10)->Arg(100)->Arg(600)->Arg(1000)->Iterations(kRequests);
BENCHMARK(reference_requests)->Arg(600)->Arg(1000)->Iterations(2000);

/// Steps one by one, with a batch of the argument's size; items are steps.
void steps_without_jump(benchmark::State& state) {
  Instance instance(true, false, state.range(0));
  for (std::int64_t i = 0; i < 2 * state.range(0); ++i) {
    instance.submit(core::SimTime());
  }
  std::int64_t before = instance.engine().totals().steps;
  std::int64_t steps = 0;
  constexpr std::int64_t kSegments = 64;
  for (auto _ : state) {
    if (instance.engine().advance(core::SimTime::never(), false, kSegments) ==
        engine::Pause::kIdle) {
      state.PauseTiming();
      steps += instance.engine().totals().steps - before;
      for (std::int64_t i = 0; i < 2 * state.range(0); ++i) {
        instance.submit(instance.engine().now());
      }
      before = instance.engine().totals().steps;
      state.ResumeTiming();
    }
  }
  steps += instance.engine().totals().steps - before;
  state.SetItemsProcessed(steps);
}
BENCHMARK(steps_without_jump)->Arg(1)->Arg(32)->Arg(256)->Arg(1024);

void finish_ring(benchmark::State& state) {
  engine::vllm::fast::FinishRing ring;
  std::int64_t batch = 0;
  for (auto _ : state) {
    ring.advance(batch);
    ring.add(7, batch + 500);
    benchmark::DoNotOptimize(ring.next_end(batch));
    ring.remove(7);
    ++batch;
  }
}
BENCHMARK(finish_ring);

class NoGrowingRequest final : public engine::vllm::fast::PrefixCache::Keyed {
 public:
  [[nodiscard]] std::int64_t keyed_blocks(engine::vllm::fast::PrefixCache::Owner) const override {
    return 0;
  }
};

/// A request of 64 blocks through the prefix cache; the argument is how many it shares.
void prefix_cache(benchmark::State& state) {
  constexpr std::int64_t kBlocks = 64;
  constexpr std::int64_t kBlockSize = 16;
  const NoGrowingRequest keyed;
  engine::vllm::fast::PrefixCache cache(
      {.num_gpu_blocks = core::Blocks(10'000), .block_size = core::Tokens(kBlockSize)}, keyed);
  engine::vllm::fast::PrefixCache::Table table;
  engine::vllm::fast::PrefixCache::Match match;
  domain::Request request;
  request.prompt_tokens = core::Tokens(kBlocks * kBlockSize + 1);
  if (state.range(0) > 0) {
    request.prompt = {{.content = 1, .length = core::Tokens(state.range(0) * kBlockSize)}};
  }
  std::uint32_t id = 0;
  for (auto _ : state) {
    request.id = core::RequestId(id++);
    table.chain = cache.take_chain();
    cache.assign(table.chain, request);
    cache.find(cache.chain(table.chain), kBlocks, kBlocks, match);
    cache.adopt(table, 0, match);
    cache.allocate(kBlocks - match.blocks);
    cache.set_keyed(table, 0, kBlocks);
    cache.release(table, 0, kBlocks, kBlocks);
    cache.drop_chain(table.chain);
  }
}
BENCHMARK(prefix_cache)->Arg(0)->Arg(32);

}  // namespace

BENCHMARK_MAIN();
