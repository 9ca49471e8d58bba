// Instances side by side in one process, on one step-time model.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/rng.hpp"
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
#include "support/drive.hpp"
#include "support/recording_sink.hpp"

namespace ridgeline::engine {
namespace {

constexpr std::size_t kInstances = 64;
constexpr std::uint32_t kRequests = 6400;

/// Llama-3.1-8B on one H100 each, with few enough KV blocks that requests are preempted.
class ManyInstances : public testing::Test {
 protected:
  ManyInstances()
      : network_(model::find_model("llama-3.1-8b").value()),
        gpu_(hardware::find_gpu("h100").value()),
        model_({.network = network_, .gpu = gpu_, .execution = execution_},
               latency::kernel::builtin_constants()) {
    options_.max_num_seqs = 16;
    options_.num_gpu_blocks = core::Blocks(400);
    path_.frontend = core::Duration::microseconds(100);
    core::RngStream random(7, 0, "requests");
    core::SimTime at;
    for (std::uint32_t id = 0; id < kRequests; ++id) {
      domain::Request request;
      request.id = core::RequestId(id);
      at += core::Duration::microseconds(static_cast<std::int64_t>(random.below(2000)));
      request.arrival = at;
      request.prompt_tokens = core::Tokens(1 + static_cast<std::int64_t>(random.below(900)));
      request.output_tokens = core::Tokens(1 + static_cast<std::int64_t>(random.below(300)));
      request.max_tokens = request.output_tokens;
      requests_.push_back(request);
    }
  }

  /// What each instance reports when request i goes to instance i modulo their number.
  /// `all_advance`: at each arrival every instance is advanced, not only the chosen one.
  std::vector<test::RecordingSink> run_together(bool all_advance) {
    std::vector<test::RecordingSink> sinks(kInstances);
    std::vector<std::unique_ptr<Instance>> instances;
    for (std::size_t i = 0; i < kInstances; ++i) {
      instances.push_back(instance(sinks[i], i));
    }
    for (const domain::Request& request : requests_) {
      const std::size_t chosen = request.id.value() % kInstances;
      for (std::size_t i = 0; i < kInstances; ++i) {
        if (all_advance || i == chosen) {
          instances[i]->advance(request.arrival, false, test::kNoBudget);
        }
      }
      instances[chosen]->submit(request);
    }
    for (const auto& one : instances) {
      one->advance(core::SimTime::never(), false, test::kNoBudget);
    }
    return sinks;
  }

  test::RecordingSink run_alone(std::size_t number) {
    test::RecordingSink sink;
    const auto one = instance(sink, number);
    for (const domain::Request& request : requests_) {
      if (request.id.value() % kInstances == number) {
        one->submit(request);
      }
    }
    one->advance(core::SimTime::never(), false, test::kNoBudget);
    return sink;
  }

 private:
  std::unique_ptr<Instance> instance(test::RecordingSink& sink, std::size_t number) {
    return std::make_unique<Instance>(InstanceInputs{
        .engine = {.options = options_, .model = model_, .host = host_, .sink = sink},
        .path = path_,
        .id = core::InstanceId(static_cast<std::uint32_t>(number))});
  }

  model::ModelSpec network_;
  hardware::GpuSpec gpu_;
  latency::Execution execution_;
  latency::kernel::KernelModel model_;
  EngineOptions options_;
  HostTime host_;
  RequestPath path_;
  std::vector<domain::Request> requests_;
};

TEST_F(ManyInstances, GiveTheRecordsOfAsManySeparateRuns) {
  const auto lazily = run_together(false);
  const auto all = run_together(true);
  std::int64_t preemptions = 0;
  for (std::size_t i = 0; i < kInstances; ++i) {
    const test::RecordingSink alone = run_alone(i);
    ASSERT_EQ(alone.requests.size(), kRequests / kInstances);
    EXPECT_EQ(alone.requests, lazily[i].requests);
    EXPECT_EQ(alone.gaps, lazily[i].gaps);
    EXPECT_EQ(alone.requests, all[i].requests);
    EXPECT_EQ(alone.gaps, all[i].gaps);
    for (const domain::RequestRecord& record : alone.requests) {
      preemptions += record.preemptions;
    }
  }
  EXPECT_GT(preemptions, 0);
}

}  // namespace
}  // namespace ridgeline::engine
