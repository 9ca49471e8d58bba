#include "latency/kernel/plan.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "latency/kernel/calibration.hpp"
#include "latency/kernel/constants.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "unit/latency/kernel_fixtures.hpp"

namespace ridgeline::latency::kernel {
namespace {

using core::Duration;

class PlanOnH100 : public testing::Test {
 protected:
  [[nodiscard]] Plan plan(const model::ModelSpec& network, std::int64_t ranks) const {
    return make_plan(network, {.tensor_parallel_size = ranks}, calibration_, gpu_);
  }

  const hardware::GpuSpec gpu_ = fixtures::gpu("h100");
  const Calibration calibration_ = calibrate(first_constants(), gpu_);
};

std::vector<std::string> names(const Plan& plan) {
  std::vector<std::string> all;
  for (const RowOperator& op : plan.rows) {
    all.push_back(op.name);
  }
  return all;
}

TEST_F(PlanOnH100, OneRankExchangesNothing) {
  EXPECT_THAT(names(plan(fixtures::llama_2_7b(), 1)),
              testing::ElementsAre("qkv_proj",
                                   "o_proj",
                                   "gate_up_proj",
                                   "down_proj",
                                   "elementwise",
                                   "launch_gaps",
                                   "lm_head",
                                   "sampling"));
}

/// A norm of queries and one of keys in each layer; the first constants know of none.
TEST_F(PlanOnH100, NormsBetweenAMixersGemmsAreKernels) {
  const auto network = model::find_model("qwen3-8b");
  ASSERT_TRUE(network.has_value());
  EXPECT_THAT(names(plan(*network, 1)), testing::Not(testing::Contains("qk_norm")));
  const Calibration calibration = calibrate(builtin_constants(), gpu_);
  const Plan made = make_plan(*network, {.tensor_parallel_size = 1}, calibration, gpu_);
  const auto norm = std::ranges::find(made.rows, "qk_norm", &RowOperator::name);
  ASSERT_NE(norm, made.rows.end());
  EXPECT_EQ(norm->calls, 2 * network->num_layers());
  EXPECT_EQ(norm->cost(1).time, calibration.step.norm);
  EXPECT_EQ(norm->cost(500).time, calibration.step.norm);
  // Norms of the hidden row are element-wise kernels.
  EXPECT_THAT(names(made), testing::Not(testing::Contains("layer_norm")));
}

/// Eight ranks that hold one latent: each reads an eighth of the context for the heads of all.
TEST_F(PlanOnH100, RanksThatDealOutTheContextReadAShareOfIt) {
  const auto network = model::find_model("deepseek-v3");
  ASSERT_TRUE(network.has_value());
  const auto attention = [&](std::int64_t ranks) {
    return make_plan(*network,
                     {.tensor_parallel_size = 8, .decode_context_parallel_size = ranks},
                     calibration_,
                     gpu_)
        .attention.front();
  };
  const AttentionOperator whole = attention(1);
  const AttentionOperator shared = attention(8);
  // Sixteen heads wait for the memory, 128 for the products: a share of eight has the same
  // products.
  EXPECT_LT(shared.slope(1), whole.slope(1));
  EXPECT_GT(shared.slope(1) * 8, whole.slope(1));
  EXPECT_GT(shared.base(1, 1), whole.base(1, 1));
  const DecodeCall call{.sequences = 4, .tokens = 4, .context = 80'000, .pairs = 80'004};
  EXPECT_NEAR(shared.decode_cost(call).time.value() * static_cast<double>(shared.calls),
              shared.decode(call).to_seconds(),
              1e-6);
}

/// Four copies of two ranks are one node of eight, four of four are two nodes.
TEST_F(PlanOnH100, CopiesOfAttentionExchangeOverTheLinkThatReachesThem) {
  const auto source = [this](std::int64_t ranks) {
    const Plan made =
        make_plan(fixtures::llama_4_scout_fp8(),
                  {.tensor_parallel_size = ranks, .data_parallel_size = 4, .expert_parallel = true},
                  calibration_,
                  gpu_);
    return std::ranges::find(made.rows, "dispatch", &RowOperator::name)->source;
  };
  EXPECT_THAT(source(2), testing::HasSubstr("NVLink"));
  EXPECT_THAT(source(4), testing::HasSubstr("network"));
}

/// The expert kernels were measured with routing inside.
TEST_F(PlanOnH100, TheRouterIsPartOfTheExperts) {
  const auto all = names(plan(fixtures::llama_4_scout_fp8(), 2));
  EXPECT_THAT(all, testing::Contains("experts"));
  EXPECT_THAT(all, testing::Not(testing::Contains("router")));
}

TEST_F(PlanOnH100, CallsAreLayers) {
  for (const RowOperator& op : plan(fixtures::llama_31_70b(), 4).rows) {
    const bool once = op.name == "lm_head" || op.name == "sampling" || op.name == "logits_exchange";
    EXPECT_EQ(op.calls, once ? 1 : op.name == "all_reduce" ? 160 : 80) << op.name;
    EXPECT_EQ(op.rows == model::Rows::kSampled, once) << op.name;
  }
}

TEST_F(PlanOnH100, AttentionIsALineInIntegers) {
  const Plan all = plan(fixtures::llama_31_70b(), 4);
  ASSERT_EQ(all.attention.size(), 1U);
  const AttentionOperator& op = all.attention.front();
  EXPECT_EQ(op.position, 1U);  // after qkv_proj
  EXPECT_EQ(op.calls, 80);
  // 80 layers * 2 KV heads * 128 * 4 bytes / (0.936 * 3.35e12) = 26.1257 ns
  EXPECT_EQ(op.per_context_token, Duration::ticks(26126));
  EXPECT_EQ(op.floor(10), Duration::microseconds(640));
  const DecodeCall call{.sequences = 10, .tokens = 10, .context = 7000, .pairs = 7010.0};
  EXPECT_EQ(op.decode(call), op.base(10, 10) + Duration::ticks(26126 * 7000));
}

TEST_F(PlanOnH100, TheCrossingIsWhereTheLineMeetsTheFloor) {
  const auto crossing = [](std::int64_t base, std::int64_t slope) {
    return AttentionOperator::crossing(
        Duration::ticks(1000), Duration::ticks(base), Duration::ticks(slope));
  };
  EXPECT_EQ(crossing(1000, 7), 0);
  EXPECT_EQ(crossing(5000, 7), 0);
  EXPECT_EQ(crossing(999, 7), 1);
  EXPECT_EQ(crossing(986, 7), 2);  // 986 + 2 * 7 = 1000
  EXPECT_EQ(crossing(985, 7), 3);
  EXPECT_GT(crossing(999, 0), kMaxContext);
}

TEST_F(PlanOnH100, TheFloorMayGrowWithTheSequences) {
  AttentionOperator op = plan(fixtures::llama_31_70b(), 4).attention.front();
  op.fixed_floor = Duration::microseconds(10);
  op.floor_per_sequence = core::microseconds(2.0);
  EXPECT_EQ(op.floor(0), Duration::microseconds(10));
  EXPECT_EQ(op.floor(7), Duration::microseconds(24));  // 10 + 7 * 2
}

TEST(AllCalls, RoundsOnceAndEndsWithSimulatedTime) {
  EXPECT_EQ(all_calls(core::Seconds(0.4e-12), 3), Duration::ticks(1));  // 1.2 ps
  EXPECT_EQ(all_calls(core::Seconds(25'000.0), 80), Duration::seconds(2'000'000));
  EXPECT_EQ(all_calls(core::Seconds(1e9), 80), Duration::max());
}

/// What a call of an operator takes, for tests that change the network, the GPU or the constants.
class PricedCalls : public testing::Test {
 protected:
  PricedCalls(const char* network, std::int64_t ranks, std::string gpu)
      : network_(model::find_model(network).value()), gpu_(std::move(gpu)), ranks_(ranks) {}

  [[nodiscard]] double microseconds(const std::string& name,
                                    std::int64_t rows,
                                    const KernelChoice& choice = {}) const {
    const hardware::GpuSpec gpu = hardware::find_gpu(gpu_).value();
    const Calibration calibration = calibrate(constants_, gpu);
    const Plan plan =
        make_plan(network_, {.tensor_parallel_size = ranks_}, calibration, gpu, choice);
    const auto found = std::ranges::find(plan.rows, name, &RowOperator::name);
    return found == plan.rows.end() ? 0.0 : core::as_microseconds(found->cost(rows).time);
  }

  model::ModelSpec network_;
  std::string gpu_;
  Constants constants_ = builtin_constants();

 private:
  std::int64_t ranks_;
};

/// MiniMax-M2.5 on four GPUs: many experts, an FP32 router, norms over the whole width.
class PlanOfManyExperts : public PricedCalls {
 protected:
  PlanOfManyExperts() : PricedCalls("minimax-m2.5", 4, "h200") {}
};

TEST_F(PlanOfManyExperts, AnAllReduceWithTheNormSparesItUpToItsLimit) {
  const KernelChoice fused{.fuse_allreduce_rms = true};
  constants_.step.fused_norm = core::microseconds(2.5);
  // Four ranks of Hopper: up to 2 MiB, 341 rows of 3,072 in 16 bit.
  EXPECT_NEAR(microseconds("all_reduce", 341) - microseconds("all_reduce", 341, fused), 2.5, 1e-9);
  EXPECT_EQ(microseconds("all_reduce", 342), microseconds("all_reduce", 342, fused));
  gpu_ = "b200";
  EXPECT_LT(microseconds("all_reduce", 5000, fused), microseconds("all_reduce", 5000));
  EXPECT_EQ(microseconds("all_reduce", 6000, fused), microseconds("all_reduce", 6000));
  gpu_ = "a100-80gb";
  EXPECT_EQ(microseconds("all_reduce", 8, fused), microseconds("all_reduce", 8));
}

/// FlashInfer's all-reduce begins halfway between vLLM's own on Blackwell and that of all GPUs.
TEST_F(PlanOfManyExperts, OnBlackwellTheFusedExchangeBeginsLaterThanElsewhere) {
  gpu_ = "b200";
  const KernelChoice fused{.fuse_allreduce_rms = true};
  constants_.step.fused_norm = core::microseconds(1.0);
  const auto start = [&](const char* column) {
    const auto found = std::ranges::find(constants_.columns, column, &Column::name);
    return core::as_microseconds(found->all_reduce->one_shot);
  };
  const double before = microseconds("all_reduce", 1, fused);
  const auto own = std::ranges::find(constants_.columns, "b200", &Column::name);
  own->all_reduce->one_shot = own->all_reduce->one_shot + core::microseconds(2.0);
  EXPECT_GT(start("b200"), start("generic"));
  EXPECT_NEAR(microseconds("all_reduce", 1, fused), before + 1.0, 1e-9);
}

/// Products whose rows the kernel before them writes quantised: after an all-reduce with its norm,
/// and after attention.
class PlanOfFp8 : public PricedCalls {
 protected:
  PlanOfFp8() : PricedCalls("llama-3.1-70b-fp8", 2, "b200") {}
};

TEST_F(PlanOfFp8, FusedKernelsSpareTheQuantisationOfRows) {
  const double spared = core::as_microseconds(constants_.step.fused_quantisation);
  ASSERT_GT(spared, 0.0);
  const auto saved = [&](const char* name, std::int64_t rows, const KernelChoice& choice) {
    return microseconds(name, rows) - microseconds(name, rows, choice);
  };
  const KernelChoice exchange{.fuse_allreduce_rms = true};
  EXPECT_NEAR(saved("qkv_proj", 8, exchange), spared, 1e-9);
  EXPECT_NEAR(saved("gate_up_proj", 8, exchange), spared, 1e-9);
  EXPECT_EQ(saved("o_proj", 8, exchange), 0.0);
  EXPECT_EQ(saved("down_proj", 8, exchange), 0.0);
  // Two ranks of Blackwell: up to 64 MiB, 4,096 rows of 8,192 in 16 bit.
  EXPECT_NEAR(saved("qkv_proj", 4096, exchange), spared, 1e-9);
  EXPECT_EQ(saved("qkv_proj", 4097, exchange), 0.0);
  const KernelChoice attention{.fuse_attn_quant = true};
  EXPECT_NEAR(saved("o_proj", 100'000, attention), spared, 1e-9);
  EXPECT_EQ(saved("qkv_proj", 8, attention), 0.0);
}

TEST_F(PlanOfFp8, OtherFormatsAreQuantisedByAKernelOfTheirOwn) {
  const KernelChoice both{.fuse_allreduce_rms = true, .fuse_attn_quant = true};
  for (const char* name : {"llama-3.1-70b", "qwen3-30b-a3b-fp8"}) {
    network_ = model::find_model(name).value();
    EXPECT_EQ(microseconds("qkv_proj", 8), microseconds("qkv_proj", 8, both)) << name;
    EXPECT_EQ(microseconds("o_proj", 8), microseconds("o_proj", 8, both)) << name;
  }
  // A GPU without an all-reduce that knows the norm.
  network_ = model::find_model("llama-3.1-70b-fp8").value();
  gpu_ = "l40s";
  EXPECT_EQ(microseconds("qkv_proj", 8), microseconds("qkv_proj", 8, both));
}

TEST_F(PlanOfManyExperts, NcclExchangesAllWithoutTheKernelsOfVllm) {
  const KernelChoice off{.disable_custom_all_reduce = true};
  EXPECT_GT(microseconds("all_reduce", 8, off), 2.0 * microseconds("all_reduce", 8));
  // From 8 MiB on, 1,366 rows, it is NCCL's turn anyway.
  EXPECT_GT(microseconds("all_reduce", 1365, off), microseconds("all_reduce", 1365));
  EXPECT_EQ(microseconds("all_reduce", 1366, off), microseconds("all_reduce", 1366));
}

TEST_F(PlanOfManyExperts, SymmetricMemoryTakesWhatNcclWould) {
  const KernelChoice symmetric{.symm_mem_all_reduce = true};
  EXPECT_EQ(microseconds("all_reduce", 8, symmetric), microseconds("all_reduce", 8));
  // 8 MiB, 1,366 rows, and more go by NCCL without.
  EXPECT_LT(microseconds("all_reduce", 1366, symmetric), microseconds("all_reduce", 1366));
}

/// DeepGEMM's set for FP8 in blocks; where it is not known, and for sides that it does not take,
/// the kernel that there is without it.
TEST_F(PlanOfManyExperts, DeepGemmMultipliesWhatItFits) {
  const KernelChoice deep{.deep_gemm = true};
  EXPECT_LT(microseconds("qkv_proj", 16, deep), microseconds("qkv_proj", 16));
  EXPECT_NE(microseconds("o_proj", 4096, deep), microseconds("o_proj", 4096));
  EXPECT_EQ(microseconds("lm_head", 16, deep), microseconds("lm_head", 16));
  EXPECT_EQ(microseconds("experts", 16, deep), microseconds("experts", 16));
  gpu_ = "b200";
  EXPECT_EQ(microseconds("qkv_proj", 16, deep), microseconds("qkv_proj", 16));
}

TEST_F(PlanOfManyExperts, RoutingWithoutItsKernelIsSmallOnes) {
  EXPECT_EQ(microseconds("routing", 8), 0.0);
  constants_.step.unfused_routing = core::microseconds(20.0);
  // And 20 passes over 256 scores of 4 bytes a token, at 4.8e12 bytes a second.
  EXPECT_NEAR(microseconds("routing", 4096), 20.0 + 17.4763, 0.001);
}

TEST_F(PlanOfManyExperts, NormsOverTheWholeWidthMayBeSeveralKernels) {
  const double one = microseconds("q_norm", 8);
  constants_.step.wide_norm_kernels = 2;
  EXPECT_DOUBLE_EQ(microseconds("q_norm", 8), 2.0 * one);
}

TEST_F(PlanOfManyExperts, UnevenExpertsComputeLonger) {
  constants_.step.uneven_experts = 1.0;
  const double even = microseconds("experts", 8192);
  constants_.step.uneven_experts = 2.0;
  EXPECT_GT(microseconds("experts", 8192), 1.6 * even);
  EXPECT_LT(microseconds("experts", 8192), 2.0 * even);
  constants_.step.uneven_experts = 1.0;
  constants_.step.uneven_coarse_experts = 2.0;
  EXPECT_EQ(microseconds("experts", 8192), even);
}

}  // namespace
}  // namespace ridgeline::latency::kernel
