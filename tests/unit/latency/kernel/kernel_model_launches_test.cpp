#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "domain/step.hpp"
#include "latency/kernel/kernel_model.hpp"
#include "latency/step_time_model.hpp"
#include "model/catalogue.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "unit/latency/kernel_fixtures.hpp"

namespace ridgeline::latency::kernel {
namespace {

/// MiniMax-M2.5 on eight H200: experts in FP8 blocks, a router in FP32.
struct Served {
  model::ModelSpec network = model::find_model("minimax-m2.5").value();
  hardware::GpuSpec gpu = hardware::find_gpu("h200").value();
  Execution execution{.sharding = {.tensor_parallel_size = 8, .expert_parallel = true},
                      .cuda_graph_sizes = fixtures::graph_sizes()};
  ModelOptions options = {};

  [[nodiscard]] std::unique_ptr<StepTimeModel> make() const {
    return make_kernel_model(
               {.network = network, .gpu = gpu, .execution = execution, .options = options})
        .value();
  }
  [[nodiscard]] double milliseconds(std::int64_t decodes, std::int64_t prompt) const {
    const domain::PrefillChunk chunk{
        .past = {}, .new_tokens = core::Tokens(prompt), .samples = true};
    domain::StepBatch batch;
    batch.num_decodes = decodes;
    batch.decode_context = core::Tokens(decodes * 1000);
    if (prompt > 0) {
      batch.prefills = {&chunk, 1};
    }
    return make()->predict(batch).gpu().to_milliseconds();
  }
};

TEST(Launches, BoundAStepWithPromptsThatNoGraphHolds) {
  const Served served;
  // 62 layers of 28 kernels at 30 us, and 350 us of their experts.
  EXPECT_NEAR(served.milliseconds(0, 600), 73.9, 0.5);
  // The GPU's own work is longer, so that the host's hides.
  EXPECT_GT(served.milliseconds(0, 8192), 100.0);
}

/// vLLM fuses by itself from 0.17 on, unless the pass is switched off.
TEST(Launches, AVersionThatFusesByItselfObeysTheSetting) {
  Served served;
  served.execution.engine = "vllm@0.17";
  const double fused = served.milliseconds(64, 0);
  served.execution.kernels.fuse_allreduce_rms = true;
  EXPECT_EQ(served.milliseconds(64, 0), fused);
  served.execution.kernels.fuse_allreduce_rms = false;
  EXPECT_GT(served.milliseconds(64, 0), fused);
}

TEST(Launches, ALargerGraphHoldsTheStep) {
  Served served;
  const double launched = served.milliseconds(0, 600);
  for (std::int64_t size = 528; size <= 2048; size += 16) {
    served.execution.cuda_graph_sizes.push_back(size);
  }
  EXPECT_LT(served.milliseconds(0, 600), 0.6 * launched);
}

TEST(Launches, GraphsOfDecodesAloneHoldNoPrompts) {
  Served served;
  const double decodes = served.milliseconds(8, 0);
  const double in_pieces = served.milliseconds(8, 100);
  served.execution.graphs_hold_prompts = false;
  EXPECT_EQ(served.milliseconds(8, 0), decodes);
  EXPECT_GT(served.milliseconds(8, 100), 2.0 * in_pieces);
}

TEST(Launches, TakeNoTimeWhereTheKernelsOfADenseNetworkTakeMore) {
  Served served;
  served.network = model::find_model("llama-3.1-8b").value();
  served.execution.sharding = {};
  const double launched = served.milliseconds(8, 600);
  served.options.settings = {{.key = "host_launch_us", .value = document::Node::real(0.0, {})}};
  EXPECT_EQ(served.milliseconds(8, 600), launched);
  served.options.settings = {{.key = "host_launch_us", .value = document::Node::real(90.0, {})}};
  EXPECT_GT(served.milliseconds(8, 600), launched);
}

}  // namespace
}  // namespace ridgeline::latency::kernel
