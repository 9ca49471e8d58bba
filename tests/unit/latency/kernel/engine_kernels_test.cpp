#include "latency/kernel/engine_kernels.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "latency/kernel/constants.hpp"

namespace ridgeline::latency::kernel {
namespace {

using testing::HasSubstr;

constexpr std::string_view kOwn = R"(
engines:
  - name: one
    best_8bit_tiles: true
    fuses_all_reduce: true
    fused_quantisation: [gemm_8bit_block]
    overlapped_us: {hopper: 2}
    uneven_experts: 2
    step: {host_launch_us: 7}
)";
constexpr std::string_view kSets = R"(
kernels:
  - name: own/attention
    columns:
      - name: h200
        architecture: hopper
        decode_attention: {floor_us: 1.5, fixed_us: 3, kv_head_wave_us: 0, bandwidth_efficiency: 0.5}
)";

const Column& column_of(const Constants& constants, std::string_view name) {
  return *std::ranges::find(constants.columns, name, &Column::name);
}

Constants own_constants() {
  const auto engines = read_engine_kernels(kOwn, "own.yaml");
  EXPECT_TRUE(engines.has_value()) << core::to_string(engines.error().front());
  const auto sets = read_kernel_sets(kSets, "sets.yaml");
  EXPECT_TRUE(sets.has_value()) << core::to_string(sets.error().front());
  return with_kernels(builtin_constants(), engines->front(), sets->front().columns).value();
}

std::string problem_of(std::string_view from, std::string_view to) {
  std::string text(kOwn);
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const auto engines = read_engine_kernels(text, "own.yaml");
  if (!engines) {
    return core::to_string(engines.error().front());
  }
  const auto constants = with_kernels(builtin_constants(), engines->front());
  return constants ? std::string("none") : core::to_string(constants.error().front());
}

TEST(EngineKernels, QuantisationThatIsFusedTakesNoLaunch) {
  const Column& plain = column_of(builtin_constants(), "h100");
  const Constants own = own_constants();
  EXPECT_GT(plain.gemm_8bit_block->fixed, plain.gemm_16bit->fixed);
  EXPECT_EQ(column_of(own, "h100").gemm_8bit_block->fixed,
            column_of(own, "h100").gemm_16bit->fixed);
}

TEST(EngineKernels, AKernelBeforeHidesAPartOfWhatIsFixed) {
  const Column& plain = column_of(builtin_constants(), "h100");
  const Column& own = column_of(own_constants(), "h100");
  EXPECT_NEAR(
      (plain.experts_16bit_fine->fixed - own.experts_16bit_fine->fixed).value(), 2e-6, 1e-12);
  EXPECT_NEAR((plain.decode_attention->floor - own.decode_attention->floor).value(), 2e-6, 1e-12);
  // A launch never takes less than a microsecond, and other architectures stay.
  EXPECT_EQ(own.gemm_16bit->fixed.value(), 1e-6);
  const Column& before = column_of(builtin_constants(), "a100-80gb");
  EXPECT_EQ(column_of(own_constants(), "a100-80gb").gemm_16bit->fixed, before.gemm_16bit->fixed);
}

TEST(EngineKernels, ColumnsTilesExpertsAndStepsAreItsOwn) {
  const Constants& plain = builtin_constants();
  const Constants own = own_constants();
  EXPECT_DOUBLE_EQ(column_of(own, "h200").decode_attention->fixed.value(), 1e-6);
  EXPECT_EQ(column_of(own, "h200").decode_attention->bandwidth_efficiency, 0.5);
  EXPECT_TRUE(column_of(plain, "h200").gemm_8bit->tiles_by_rows.has_value());
  EXPECT_FALSE(column_of(own, "h200").gemm_8bit->tiles_by_rows.has_value());
  EXPECT_EQ(own.step.uneven_experts, 2.0);
  EXPECT_DOUBLE_EQ(core::as_microseconds(own.step.host_launch), 7.0);
  EXPECT_EQ(own.step.host_experts, plain.step.host_experts);
}

TEST(EngineKernels, EnginesThatAreNotNamedHaveTheTables) {
  EXPECT_LT(column_of(constants_of_engine("vllm@0.24"), "b200").experts_8bit_block->fixed,
            column_of(builtin_constants(), "b200").experts_8bit_block->fixed);
  EXPECT_EQ(&constants_of_engine(""), &builtin_constants());
  EXPECT_NE(&constants_of_engine("sglang"), &builtin_constants());
  EXPECT_TRUE(fuses_all_reduce("tensorrt-llm"));
  EXPECT_FALSE(fuses_all_reduce("vllm"));
}

TEST(EngineKernels, AVersionTakesTheLastEntryThatIsNotAboveIt) {
  EXPECT_EQ(kernels_of("vllm@0.15.1"), kernels_of("vllm@0.16"));
  EXPECT_NE(kernels_of("vllm@0.16.0"), kernels_of("vllm@0.17.0"));
  EXPECT_EQ(kernels_of("vllm@0.18.1"), kernels_of("vllm@0.17"));
  EXPECT_EQ(kernels_of("vllm@1.2"), kernels_of("vllm@0.24"));
  EXPECT_EQ(kernels_of("vllm@0.7"), nullptr);
  EXPECT_EQ(kernels_of("vllm@next"), nullptr);
}

TEST(EngineKernels, VersionsOfVllmFuseRouteAndTakeExpertsOfTheirOwn) {
  EXPECT_FALSE(fuses_all_reduce("vllm@0.16"));
  EXPECT_TRUE(fuses_all_reduce("vllm@0.17"));
  EXPECT_GT(constants_of_engine("vllm@0.16").step.unfused_routing, core::Seconds());
  EXPECT_EQ(constants_of_engine("vllm@0.17").step.unfused_routing, core::Seconds());
  EXPECT_EQ(constants_of_engine("vllm@0.19").step.wide_norm_kernels, 2);
  EXPECT_EQ(constants_of_engine("vllm@0.20").step.wide_norm_kernels, 1);
  const Column& triton = column_of(constants_of_engine("vllm@0.18"), "b200");
  const Column& trtllm = column_of(constants_of_engine("vllm@0.19"), "b200");
  EXPECT_LT(trtllm.experts_8bit_block->fixed, triton.experts_8bit_block->fixed);
  // The other sets of the columns come with 0.24.
  EXPECT_EQ(trtllm.gemm_nvfp4->fixed, triton.gemm_nvfp4->fixed);
  EXPECT_EQ(trtllm.experts_nvfp4->fixed, triton.experts_nvfp4->fixed);
}

TEST(EngineKernels, DeepGemmIsTakenFromTheVersionWhoseTablesNameIt) {
  EXPECT_FALSE(takes_deep_gemm("vllm@0.22"));
  EXPECT_TRUE(takes_deep_gemm("vllm@0.24"));
  EXPECT_TRUE(takes_deep_gemm("vllm@0.27.1"));
  EXPECT_TRUE(takes_deep_gemm("sglang"));
}

TEST(EngineKernels, ClassesOfNetworksThatTheEngineNamesTakeKernelsOfTheirOwn) {
  const Column& named = column_of(constants_of_engine("sglang", "deepseek_v3"), "b200");
  const Column& others = column_of(constants_of_engine("sglang", "minimax_m2"), "b200");
  EXPECT_NE(named.experts_8bit_block->fixed, others.experts_8bit_block->fixed);
  EXPECT_EQ(named.experts_nvfp4->fixed, others.experts_nvfp4->fixed);
  EXPECT_EQ(&constants_of_engine("sglang", "minimax_m2"), &constants_of_engine("sglang", "llama"));
  // Only GPUs that have TRT-LLM's experts.
  EXPECT_EQ(
      column_of(constants_of_engine("sglang", "deepseek_v3"), "h200").experts_8bit_block->fixed,
      column_of(constants_of_engine("sglang", "llama"), "h200").experts_8bit_block->fixed);
}

TEST(EngineKernels, SetsAreReadStrictly) {
  const auto unknown = read_kernel_sets("kernels: [{name: a, columns: [], rows: 1}]", "sets.yaml");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_THAT(core::to_string(unknown.error().front()), HasSubstr("rows"));
  EXPECT_FALSE(read_kernel_sets("columns: []", "sets.yaml").has_value());
}

TEST(EngineKernels, AFileIsReadStrictly) {
  EXPECT_THAT(problem_of("[gemm_8bit_block]", "[gemm_fp4]"), HasSubstr("expected gemm_8bit"));
  EXPECT_THAT(problem_of("hopper: 2", "hopper: 200"), HasSubstr("overlapped_us.hopper"));
  EXPECT_THAT(problem_of("uneven_experts: 2", "kernels: [1]"), HasSubstr("list of names"));
  EXPECT_THAT(problem_of("uneven_experts: 2", "uneven_experts: 0.5"), HasSubstr("uneven_experts"));
  EXPECT_THAT(problem_of("host_launch_us", "host_launches_us"), HasSubstr("did you mean"));
  EXPECT_THAT(problem_of("engines:", "motors:"), HasSubstr("engines"));
}

}  // namespace
}  // namespace ridgeline::latency::kernel
