#include "scenario/kernel_choice.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/time.hpp"
#include "engine/first_use.hpp"
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
  engine.fuse_attn_quant = true;
  engine.float32_matmul_precision = "high";
  const latency::KernelChoice choice = kernel_choice(engine);
  EXPECT_EQ(choice.moe_backend, latency::MoeBackend::kMarlin);
  EXPECT_EQ(choice.fuse_allreduce_rms, true);
  EXPECT_TRUE(choice.fuse_attn_quant);
  EXPECT_TRUE(choice.fp32_as_tf32);
}

TEST(KernelChoice, ExpertsOfSomeFormatsAreCompiledOnFirstUse) {
  const std::vector<Override> cold = {{.path = "serving.first_use_stalls", .text = "true"},
                                      {.path = "engine.tensor_parallel_size", .text = "2"}};
  const auto stall = [&](const std::string& model, const std::string& gpu) {
    const auto found = resolved(with(model, gpu, cold));
    EXPECT_TRUE(found.has_value()) << model;
    return found ? (*found)->engine.first_use.stall : core::Duration();
  };
  EXPECT_EQ(stall("mixtral-8x7b", "h100"), engine::kFirstUseStall);
  EXPECT_EQ(stall("qwen3-30b-a3b-fp8", "h200"), engine::kFirstUseStall);
  EXPECT_EQ(stall("qwen3-30b-a3b-fp8", "b200"), core::Duration());
  EXPECT_EQ(stall("gpt-oss-20b", "h100"), core::Duration()) << "Marlin and others are built before";
  EXPECT_THAT(ignored("llama-3.1-8b", "h100", cold), ElementsAre(HasSubstr("first_use_stalls")));
  const auto warm = resolved(with("mixtral-8x7b", "h100", {cold[1]}));
  ASSERT_TRUE(warm.has_value());
  EXPECT_EQ((*warm)->engine.first_use, engine::FirstUseStalls{});
}

TEST(KernelChoice, RunsEagerlyWithoutGraphs) {
  EngineSection engine;
  EXPECT_FALSE(runs_eagerly(engine));
  engine.cudagraph_mode = "NONE";
  EXPECT_TRUE(runs_eagerly(engine));
  engine = {};
  engine.enforce_eager = true;
  EXPECT_TRUE(runs_eagerly(engine));
}

TEST(KernelChoice, GraphsOfDecodesAreInPiecesByVersionAndMode) {
  const auto in_pieces = [](std::vector<Override> more) {
    const auto found = resolved(with("llama-3.1-8b", "h100", std::move(more)));
    EXPECT_TRUE(found.has_value());
    return found && (*found)->execution.graphs_in_pieces;
  };
  EXPECT_FALSE(in_pieces({}));
  EXPECT_TRUE(in_pieces({{.path = "engine.cudagraph_mode", .text = "PIECEWISE"}}));
  EXPECT_TRUE(in_pieces({{.path = "engine.version", .text = "vllm@0.10"}}));
  EXPECT_FALSE(in_pieces({{.path = "engine.version", .text = "vllm@0.11"}}));
  EXPECT_FALSE(in_pieces({{.path = "engine.version", .text = "vllm@0.10"},
                          {.path = "engine.cudagraph_mode", .text = "FULL_AND_PIECEWISE"}}));
}

TEST(KernelChoice, WarnsOfWhatChangesNoStep) {
  EXPECT_THAT(ignored("llama-3.1-8b", "h100", {{.path = "engine.moe_backend", .text = "marlin"}}),
              ElementsAre(HasSubstr("no experts")));
  EXPECT_THAT(
      ignored("llama-3.1-8b", "b200", {{.path = "engine.fuse_allreduce_rms", .text = "true"}}),
      ElementsAre(HasSubstr("one GPU")));
  EXPECT_THAT(ignored("llama-3.1-8b", "b200", {{.path = "engine.fuse_attn_quant", .text = "true"}}),
              ElementsAre(HasSubstr("after attention")));
  EXPECT_THAT(
      ignored(
          "llama-3.1-8b-fp8", "a100-80gb", {{.path = "engine.fuse_attn_quant", .text = "true"}}),
      ElementsAre(HasSubstr("after attention")));
  EXPECT_THAT(
      ignored("llama-3.1-8b-fp8", "b200", {{.path = "engine.fuse_attn_quant", .text = "true"}}),
      IsEmpty());
  EXPECT_THAT(ignored("llama-3.1-70b",
                      "a100-80gb",
                      {{.path = "engine.fuse_allreduce_rms", .text = "true"},
                       {.path = "engine.tensor_parallel_size", .text = "4"}}),
              ElementsAre(HasSubstr("before Hopper")));
  EXPECT_THAT(
      ignored(
          "qwen3-30b-a3b", "h100", {{.path = "engine.float32_matmul_precision", .text = "high"}}),
      ElementsAre(HasSubstr("FP32")));
  EXPECT_THAT(ignored("llama-3.1-8b",
                      "h100",
                      {{.path = "engine.cudagraph_mode", .text = "PIECEWISE"},
                       {.path = "engine.enforce_eager", .text = "true"}}),
              ElementsAre(HasSubstr("enforce_eager")));
}

TEST(KernelChoice, OfFusedAllReducesIsTheVersionsUnlessStated) {
  EngineSection engine;
  EXPECT_FALSE(kernel_choice(engine).fuse_allreduce_rms.has_value());
  engine.fuse_allreduce_rms = false;
  EXPECT_EQ(kernel_choice(engine).fuse_allreduce_rms, false);
}

TEST(KernelChoice, DeepGemmIsForFp8InBlocks) {
  EngineSection engine;
  EXPECT_FALSE(kernel_choice(engine).deep_gemm.has_value());
  engine.use_deep_gemm = false;
  engine.moe_backend = "deep_gemm";
  EXPECT_EQ(kernel_choice(engine).deep_gemm, false);
  EXPECT_EQ(kernel_choice(engine).moe_backend, latency::MoeBackend::kDeepGemm);
  EXPECT_THAT(ignored("llama-3.1-8b", "h100", {{.path = "engine.use_deep_gemm", .text = "true"}}),
              ElementsAre(HasSubstr("no dense product")));
  EXPECT_THAT(
      ignored("qwen3-30b-a3b", "h100", {{.path = "engine.moe_backend", .text = "deep_gemm"}}),
      ElementsAre(HasSubstr("FP8 in blocks")));
}

/// What DeepGEMM's time is taken from where no table of it is at hand.
TEST(KernelChoice, ADeepGemmThatWasNotMeasuredIsSaid) {
  const auto said = [](const std::string& gpu, const std::string& path, const std::string& text) {
    const auto found = resolved(with("qwen3-30b-a3b-fp8", gpu, {{.path = path, .text = text}}));
    EXPECT_TRUE(found.has_value());
    std::vector<std::string> messages;
    for (const auto& warning : (*found)->warnings) {
      if (warning.code == "W-unmeasured-kernel") {
        messages.push_back(warning.message);
      }
    }
    return messages;
  };
  EXPECT_THAT(said("h100", "engine.moe_backend", "deep_gemm"), ElementsAre(HasSubstr("experts")));
  EXPECT_THAT(said("b200", "engine.use_deep_gemm", "true"), ElementsAre(HasSubstr("on b200")));
  EXPECT_THAT(said("h100", "engine.use_deep_gemm", "true"), IsEmpty());
}

TEST(KernelChoice, SymmetricMemoryIsForRanksThatHaveALimit) {
  const std::vector<Override> alone = {{.path = "engine.allreduce_use_symm_mem", .text = "true"}};
  EXPECT_THAT(ignored("llama-3.1-8b", "h100", alone), ElementsAre(HasSubstr("one GPU")));
  std::vector<Override> eight = alone;
  eight.push_back({.path = "engine.tensor_parallel_size", .text = "8"});
  EXPECT_THAT(ignored("llama-3.1-70b", "a100-80gb", eight), ElementsAre(HasSubstr("Hopper")));
  const auto found = resolved(with("llama-3.1-70b", "h100", eight));
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE((*found)->execution.kernels.symm_mem_all_reduce);
  std::vector<std::string> codes;
  for (const auto& warning : (*found)->warnings) {
    codes.push_back(warning.code);
  }
  EXPECT_THAT(codes, testing::Contains("W-unmeasured-kernel"));
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
