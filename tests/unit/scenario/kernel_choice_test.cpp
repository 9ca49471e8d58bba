#include "scenario/kernel_choice.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "latency/step_time_model.hpp"
#include "scenario/scenario.hpp"
#include "unit/scenario/resolving.hpp"

namespace ridgeline::scenario {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The settings that are said to be without effect.
std::vector<std::string> ignored(const std::string& model,
                                 const std::string& gpu,
                                 std::vector<Override> more) {
  const auto found = resolved(with(model, gpu, std::move(more)));
  std::vector<std::string> messages;
  EXPECT_TRUE(found.has_value());
  if (found) {
    for (const auto& warning : (*found)->warnings) {
      if (warning.code == "W-ignored-setting") {
        messages.push_back(warning.message);
      }
    }
  }
  return messages;
}

TEST(KernelChoice, IsWhatTheSectionSays) {
  EngineSection engine;
  EXPECT_EQ(kernel_choice(engine).moe_backend, latency::MoeBackend::kAuto);
  engine.moe_backend = "marlin";
  engine.fuse_allreduce_rms = true;
  engine.float32_matmul_precision = "high";
  const latency::KernelChoice choice = kernel_choice(engine);
  EXPECT_EQ(choice.moe_backend, latency::MoeBackend::kMarlin);
  EXPECT_TRUE(choice.fuse_allreduce_rms);
  EXPECT_TRUE(choice.fp32_as_tf32);
}

TEST(KernelChoice, WarnsOfWhatChangesNoStep) {
  EXPECT_THAT(ignored("llama-3.1-8b", "h100", {{.path = "engine.moe_backend", .text = "marlin"}}),
              ElementsAre(HasSubstr("no experts")));
  EXPECT_THAT(
      ignored("llama-3.1-8b", "b200", {{.path = "engine.fuse_allreduce_rms", .text = "true"}}),
      ElementsAre(HasSubstr("one GPU")));
  EXPECT_THAT(ignored("llama-3.1-70b",
                      "a100-80gb",
                      {{.path = "engine.fuse_allreduce_rms", .text = "true"},
                       {.path = "engine.tensor_parallel_size", .text = "4"}}),
              ElementsAre(HasSubstr("before Hopper")));
  EXPECT_THAT(
      ignored(
          "qwen3-30b-a3b", "h100", {{.path = "engine.float32_matmul_precision", .text = "high"}}),
      ElementsAre(HasSubstr("FP32")));
  EXPECT_THAT(
      ignored("llama-3.1-8b", "h100", {{.path = "engine.cudagraph_mode", .text = "PIECEWISE"}}),
      ElementsAre(HasSubstr("PIECEWISE")));
}

TEST(KernelChoice, SaysNothingOfWhatDoes) {
  EXPECT_THAT(ignored("gpt-oss-120b", "h200", {{.path = "engine.moe_backend", .text = "marlin"}}),
              IsEmpty());
  EXPECT_THAT(ignored("minimax-m2.5",
                      "b200",
                      {{.path = "engine.fuse_allreduce_rms", .text = "true"},
                       {.path = "engine.float32_matmul_precision", .text = "high"},
                       {.path = "engine.tensor_parallel_size", .text = "4"}}),
              IsEmpty());
}

}  // namespace
}  // namespace ridgeline::scenario
