#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/calibration.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/kernel/decode_attention.hpp"
#include "latency/kernel/prefill_attention.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"
#include "unit/latency/kernel_fixtures.hpp"

namespace ridgeline::latency::kernel {
namespace {

constexpr model::Attention kMha32{.heads = 32, .kv_heads = 32, .head_dim = 128};
constexpr model::Attention kGqa28{.heads = 28, .kv_heads = 4, .head_dim = 128};

class AttentionOnH100 : public testing::Test {
 protected:
  [[nodiscard]] Cost decode(const DecodeCall& call, const model::Attention& shape) const {
    return decode_attention(call, shape, calibration_.decode_attention.values, gpu_);
  }
  [[nodiscard]] Cost prefill(const PrefillCall& call, const model::Attention& shape) const {
    return prefill_attention(
        call, shape, calibration_.prefill_attention.values, calibration_.attention, gpu_);
  }

  const hardware::GpuSpec gpu_ = fixtures::gpu("h100");
  const Calibration calibration_ = calibrate(first_constants(), gpu_);
};

DecodeCall batch(std::int64_t sequences, std::int64_t context_each) {
  return {.sequences = sequences,
          .tokens = sequences,
          .context = sequences * context_each,
          .pairs = static_cast<double>(sequences * (context_each + 1))};
}

TEST_F(AttentionOnH100, DecodeStreamsTheCache) {
  const Cost cost = decode(batch(32, 700), kMha32);
  // Cache: 32 sequences * 701 tokens = 22,432, each 32 heads * 128 * (K, V) * 2 bytes = 16,384:
  // 367,525,888 bytes. Queries and outputs: 32 * 32*128*4 = 524,288 bytes.
  EXPECT_DOUBLE_EQ(cost.bytes.value(), 367'525'888.0 + 524'288.0);
  // 17.53 + 0.661*32*32/132 + 368,050,176 / (0.936*3.35e6) us = 17.53 + 5.1278 + 117.3779
  EXPECT_NEAR(core::as_microseconds(cost.time), 140.0357, 1e-3);
  EXPECT_DOUBLE_EQ(cost.flops.value(), 4.0 * 32.0 * 128.0 * 22'432.0);
  EXPECT_EQ(cost.kind, domain::Bottleneck::kMemory);
}

TEST_F(AttentionOnH100, DecodeIsAdditiveInContext) {
  DecodeCall uneven = batch(2, 500);
  EXPECT_EQ(decode(uneven, kGqa28).time,
            decode({.sequences = 2, .tokens = 2, .context = 1000}, kGqa28).time);
}

TEST_F(AttentionOnH100, BeforeHopperABlockStreamsAWholeSequence) {
  const hardware::GpuSpec a100 = fixtures::gpu("a100-80gb");
  DecodeAttentionConstants constants;
  constants.bandwidth_efficiency = 1.0;
  constants.before_hopper = 0.8;
  constants.fixed = core::microseconds(20.0);
  constants.query_head_wave = core::microseconds(0.108);
  constants.unsplit = UnsplitDecode{.multiprocessor = core::BytesPerSecond(25e9)};
  const auto us =
      [&](std::int64_t sequences, const model::Attention& shape, const hardware::GpuSpec& gpu) {
        DecodeCall call = batch(sequences, 10'000);
        call.tokens = 0;  // the cache alone
        return core::as_microseconds(decode_attention(call, shape, constants, gpu).time);
      };
  // With 0.8 * 2.039e12 bytes a second; a block streams 10,000 * 512 bytes, at 25e9 a second 204.8
  // us, and each query head takes 0.001 us. One sequence of 32 heads: 32 blocks on 108
  // multiprocessors.
  EXPECT_NEAR(us(1, kMha32, a100), 20.032 + 204.8, 0.001);
  // Four are 128 blocks: some share a multiprocessor, longer than all of them take memory (401.8).
  EXPECT_NEAR(us(4, kMha32, a100), 20.128 + 409.6, 0.001);
  // Seven are 224, of which 216 run at once: 216 at full speed, 677.979 us, and the last 8.
  EXPECT_NEAR(us(7, kMha32, a100), 20.224 + 677.979 + 204.8, 0.001);
  // Shared KV heads are split over all multiprocessors, 4 * 10,000 * 512 bytes: 12.555 us; a second
  // kernel joins the parts.
  EXPECT_NEAR(us(1, kGqa28, a100), 40.028 + 12.555, 0.001);
  // From 0.8 * 216 = 173 blocks on they are not: 55 sequences are 220 blocks.
  EXPECT_NEAR(us(55, kGqa28, a100), 41.540 + 677.979 + 204.8, 0.001);
  // Hopper's kernel splits all: 32 * 10,000 * 512 bytes at 3.35e12, 48.908 us.
  EXPECT_NEAR(us(1, kMha32, gpu_), 20.0 + 0.108 * 32.0 / 132.0 + 48.907, 0.001);
}

TEST_F(AttentionOnH100, BeforeHopperDecodesBesidePromptsAreTilesOfTheirOwn) {
  const hardware::GpuSpec a100 = fixtures::gpu("a100-80gb");
  DecodeAttentionConstants constants;
  constants.bandwidth_efficiency = 1.0;
  constants.unsplit = UnsplitDecode{.multiprocessor = core::BytesPerSecond(25e9)};
  constexpr double kHalf = 0.5;
  const auto us = [&](bool is_mixed, double efficiency, const hardware::GpuSpec& gpu) {
    DecodeCall call = batch(20, 1000);
    call.tokens = 0;
    call.is_mixed = is_mixed;
    return core::as_microseconds(decode_attention(call, kGqa28, constants, gpu, efficiency).time);
  };
  // 20 sequences of 28 heads are 560 blocks, three waves of 216. A block computes 64 rows of 128:
  // 4 * 64 * 128 FLOPs a token at half of 312e12 / 108 are 22.6855 ns. Contexts of 1,000 tokens end
  // in the middle of a block of 128 keys, on average: 63.5 tokens more.
  EXPECT_NEAR(us(true, kHalf, a100), 3.0 * 22.6855 * 1.0635, 0.001);
  // Alone they read 20 * 4 * 1,000 * 512 bytes at 2.039e12.
  EXPECT_NEAR(us(false, kHalf, a100), 20.0884, 0.001);
  EXPECT_EQ(us(true, 0.0, a100), us(false, kHalf, a100));
  EXPECT_EQ(us(true, kHalf, gpu_), us(false, kHalf, gpu_));
}

TEST_F(AttentionOnH100, SmallHeadsPayForTheirExponentials) {
  AttentionConstants common = calibration_.attention;
  const auto seconds = [&](std::int64_t head_dim, bool exponentials) {
    common.exponentials = exponentials;
    PrefillAttentionConstants constants;
    constants.overlap_exponent = 1.0;
    PrefillCall call;
    call.add({.past = {}, .new_tokens = core::Tokens(8192), .samples = true});
    const model::Attention shape{.heads = 32, .kv_heads = 8, .head_dim = head_dim};
    return prefill_attention(call, shape, constants, common, gpu_).time.value();
  };
  // 989e12 FLOPs on 132 multiprocessors at 1.755 GHz are 4,269 a clock, those of 66.7 dimensions in
  // the sixteenth of a clock that an exponential takes: (64 + 66.7) / (128 + 66.7).
  EXPECT_NEAR(seconds(64, true) / seconds(128, true), 0.6713, 0.0002);
  EXPECT_NEAR(seconds(256, true) / seconds(128, true), 1.6574, 0.0002);
  EXPECT_DOUBLE_EQ(seconds(64, false) / seconds(128, false), 0.5);
  EXPECT_EQ(seconds(128, true), seconds(128, false));
}

TEST_F(AttentionOnH100, DecodeHasAFloor) {
  DecodeAttentionConstants constants = calibration_.decode_attention.values;
  constants.fixed = {};
  const Cost cost = decode_attention(batch(1, 10), kGqa28, constants, gpu_);
  EXPECT_DOUBLE_EQ(core::as_microseconds(cost.time), 8.0);
  ASSERT_TRUE(cost.losing.has_value());
  // 0.661*4/132 us + (11*2048 + 28*128*4) bytes / 3.1356e6 = 0.02003 + 0.01176 us
  EXPECT_NEAR(core::as_microseconds(cost.losing->time), 0.03179, 1e-5);
  EXPECT_EQ(cost.kind, domain::Bottleneck::kOverhead);
}

/// 17.53 us of launch: the bandwidth decides from some 55,000 tokens of 1,024 bytes on.
TEST_F(AttentionOnH100, DecodeOfLittleContextIsLaunching) {
  EXPECT_EQ(decode(batch(1, 10'000), kGqa28).kind, domain::Bottleneck::kOverhead);
  EXPECT_EQ(decode(batch(8, 10'000), kGqa28).kind, domain::Bottleneck::kMemory);
}

/// 132 multiprocessors of 25 GB/s work through 3.3 TB/s of an 8-bit cache: less than a memory of
/// 4.8 TB/s delivers, so that one of 14.4 TB/s changes nothing.
TEST_F(AttentionOnH100, EightBitCachesBeyondTheMultiprocessorsAreCompute) {
  model::Attention fp8 = kMha32;
  fp8.kv = model::DType::kFp8;
  hardware::GpuSpec wide = gpu_;
  const Calibration fitted = calibrate(builtin_constants(), gpu_);
  const auto kind_and_time = [&](double bandwidth) {
    wide.mem_bandwidth = core::BytesPerSecond(bandwidth);
    const Cost cost = decode_attention(batch(64, 2047), fp8, fitted.decode(fp8.kv).values, wide);
    return std::pair(cost.kind, cost.time);
  };
  EXPECT_EQ(kind_and_time(3.35e12).first, domain::Bottleneck::kMemory);
  EXPECT_EQ(kind_and_time(4.8e12).first, domain::Bottleneck::kCompute);
  EXPECT_EQ(kind_and_time(4.8e12), kind_and_time(14.4e12));
}

TEST_F(AttentionOnH100, Fp8CacheHalvesTheTraffic) {
  model::Attention fp8 = kMha32;
  fp8.kv = model::DType::kFp8;
  EXPECT_DOUBLE_EQ(kv_bytes(fp8).value(), kv_bytes(kMha32).value() / 2.0);
}

TEST_F(AttentionOnH100, MultiprocessorsBoundWhatIsStreamed) {
  DecodeAttentionConstants constants;
  constants.bandwidth_efficiency = 0.9;
  constants.multiprocessor = core::BytesPerSecond(25e9);
  hardware::GpuSpec gpu = gpu_;
  // 0.9 * 3.35e12 bytes a second are less than 132 * 25e9, and 0.9 * 4.8e12 are more.
  const double bytes = kv_bytes(kMha32).value();
  EXPECT_DOUBLE_EQ(decode_line(kMha32, constants, gpu).per_context_token.value(),
                   bytes / (0.9 * 3.35e12));
  gpu.mem_bandwidth = core::BytesPerSecond(4.8e12);
  EXPECT_DOUBLE_EQ(decode_line(kMha32, constants, gpu).per_context_token.value(),
                   bytes / (132.0 * 25e9));
}

TEST(AttentionOn8BitCaches, IsNotTwiceAsFastOnHopper) {
  // aiconfigurator's vLLM 0.14 tables, 64 sequences of 2,048 tokens, 64 query and 8 KV heads, us:
  // H100 185.8 in 16 bit and 119.7 in 8, H200 138.6 and 114.0. The constants are other versions'.
  const auto us = [](const std::string& name, model::DType kv) {
    const hardware::GpuSpec gpu = fixtures::gpu(name);
    const Calibration calibration = calibrate(builtin_constants(), gpu);
    model::Attention shape{.heads = 64, .kv_heads = 8, .head_dim = 128};
    shape.kv = kv;
    const Cost cost = decode_attention(batch(64, 2047), shape, calibration.decode(kv).values, gpu);
    return core::as_microseconds(cost.time);
  };
  constexpr double kNear = 0.06;
  EXPECT_NEAR(us("h100", model::DType::kBf16), 185.8, kNear * 185.8);
  EXPECT_NEAR(us("h100", model::DType::kFp8), 119.7, kNear * 119.7);
  EXPECT_NEAR(us("h200", model::DType::kBf16), 138.6, kNear * 138.6);
  EXPECT_NEAR(us("h200", model::DType::kFp8), 114.0, kNear * 114.0);
}

TEST(AttentionOn8BitCaches, TakesTheOtherSetWhereThereIsNone) {
  const Calibration a100 = calibrate(builtin_constants(), fixtures::gpu("a100-80gb"));
  EXPECT_EQ(&a100.decode(model::DType::kFp8), &a100.decode_attention);
  const Calibration h100 = calibrate(builtin_constants(), fixtures::gpu("h100"));
  EXPECT_EQ(&h100.decode(model::DType::kBf16), &h100.decode_attention);
  EXPECT_NE(&h100.decode(model::DType::kFp8), &h100.decode_attention);
}

TEST_F(AttentionOnH100, AShortChunkCountsItsCausalPairs) {
  DecodeCall call;
  call.add(fixtures::chunk(100, 3));
  // Three new tokens see 101, 102 and 103 keys.
  EXPECT_DOUBLE_EQ(call.pairs, 306.0);
  EXPECT_EQ(call.sequences, 1);
  EXPECT_EQ(call.tokens, 3);
  EXPECT_EQ(call.context, 100);
}

TEST_F(AttentionOnH100, PrefillIsComputeAboveAFloor) {
  PrefillCall call;
  call.add(fixtures::chunk(0, 2048));
  const Cost cost = prefill(call, kMha32);
  // Paid: 4*32*128*(2048^2/2 + 2048*782) = 6.0599e10 FLOPs at 0.681*989e12: 89.976 us. Last tile:
  // 65,536*(2048+782) FLOPs on one SM at 5.1024e12: 36.349 us, times 0.847 = 30.788. Together
  // 120.764; the floor of 12.9 us adds a factor (1 + (12.9/120.764)^4.35)^(1/4.35) = 1 + 1.4e-5.
  EXPECT_NEAR(core::as_microseconds(cost.time), 120.765, 2e-3);
  EXPECT_DOUBLE_EQ(cost.flops.value(), 4.0 * 32.0 * 128.0 * 2048.0 * 1024.0);
  EXPECT_EQ(cost.kind, domain::Bottleneck::kCompute);
}

TEST_F(AttentionOnH100, PrefillWithALongPastReadsTheCache) {
  PrefillCall call;
  call.add(fixtures::chunk(100'000, 17));
  const Cost cost = prefill(call, {.heads = 32, .kv_heads = 8, .head_dim = 128});
  // 17 queries against 4 bytes per KV head and element: 4*32*128*17*1e5 FLOPs / (1e5*8*128*4 bytes)
  // = 68, far left of 295; yet the stragglers' term decides the time (1,138 us against 143 us of
  // reading).
  EXPECT_EQ(cost.kind, domain::Bottleneck::kCompute);
  ASSERT_TRUE(cost.losing.has_value());
  // 100,017 * 8*128*4 bytes / (0.85*3.35e12)
  EXPECT_NEAR(core::as_microseconds(cost.losing->time), 143.87, 0.01);
  EXPECT_EQ(cost.losing->kind, domain::Bottleneck::kMemory);
}

TEST_F(AttentionOnH100, TheDecodeFloorMayGrowWithTheWaves) {
  DecodeAttentionConstants constants = calibration_.decode_attention.values;
  constants.fixed = {};
  constants.floor = core::microseconds(1.0);
  constants.kv_head_wave_floor = core::microseconds(3.0);
  // 1 + 3 * 1024 sequences * 4 heads / 132 SMs
  EXPECT_NEAR(
      core::as_microseconds(decode_attention(batch(1024, 10), kGqa28, constants, gpu_).time),
      94.0909,
      1e-3);
}

TEST_F(AttentionOnH100, PrefillMayPayForWhatEachTokenTouches) {
  const PrefillAttentionConstants constants{.floor = {},
                                            .compute_efficiency = 0.5,
                                            .startup_tokens = 0.0,
                                            .overlap_exponent = 1.0,
                                            .straggler_weight = 1.0,
                                            .straggler_exponent = 2.0,
                                            .fixed = core::microseconds(10.0),
                                            .query_traffic_factor = 2.0,
                                            .kv_traffic_factor = 3.0,
                                            .traffic_exponent = 1.0};
  PrefillCall call;
  call.add(fixtures::chunk(0, 2048));
  const Cost cost = prefill_attention(call, kMha32, constants, calibration_.attention, gpu_);
  // Work: 4*32*128*2048*1024 / (0.5*989e12) = 69.487 us. Longest tile: 65,536*2048 /
  // (0.5*989e12/132) = 35.828 us. Root of the squares: 78.180. Traffic: 2048*32*128*4 bytes *
  // (2 + 3) / 3.35e12 = 50.081 us, and 10 us fixed.
  EXPECT_NEAR(core::as_microseconds(cost.time), 138.26, 0.01);
}

/// With the longest tile joined by a soft maximum it is not paid for twice.
TEST_F(AttentionOnH100, SplittingAPromptCostsLittleWhenStragglersOverlap) {
  const PrefillAttentionConstants constants{.floor = {},
                                            .compute_efficiency = 0.65,
                                            .startup_tokens = 0.0,
                                            .overlap_exponent = 1.0,
                                            .straggler_weight = 0.5,
                                            .straggler_exponent = 2.0,
                                            .fixed = core::microseconds(10.0),
                                            .query_traffic_factor = 2.0,
                                            .kv_traffic_factor = 3.0,
                                            .traffic_exponent = 1.0};
  const auto time = [&](std::int64_t past, std::int64_t tokens) {
    PrefillCall call;
    call.add(fixtures::chunk(past, tokens));
    return prefill_attention(call, kMha32, constants, calibration_.attention, gpu_).time.value();
  };
  const double whole = time(0, 8192);
  EXPECT_LT(time(0, 4096) + time(4096, 4096), 1.02 * whole);
  EXPECT_GT(time(0, 4096) + time(4096, 4096), whole);
}

TEST_F(AttentionOnH100, SplittingAPromptKeepsItsWork) {
  PrefillCall whole;
  whole.add(fixtures::chunk(0, 8192));
  PrefillCall first;
  first.add(fixtures::chunk(0, 4096));
  PrefillCall second;
  second.add(fixtures::chunk(4096, 4096));
  EXPECT_DOUBLE_EQ(first.pairs + second.pairs, whole.pairs);
  // Time differs by the first half's own stragglers: 0.847*65,536*(4096+782)/5.1024e12 s = 53.07 us
  // on 1,071 us.
  const double split =
      core::as_microseconds(prefill(first, kMha32).time + prefill(second, kMha32).time);
  const double at_once = core::as_microseconds(prefill(whole, kMha32).time);
  EXPECT_NEAR(split - at_once, 53.07, 0.01);
}

/// Decode attention of an A100 over 2,048 tokens each with 32 query and 4 KV heads (Vidur's public
/// profile, medians): 216 blocks run at once, so that 54 sequences fill a wave and 108 two.
TEST(DecodeAttention, OneSequenceTooManyCostsAWaveAsMeasured) {
  const hardware::GpuSpec gpu = hardware::find_gpu("a100-80gb").value();
  const Calibration set = calibrate(builtin_constants(), gpu);
  const auto us = [&](std::int64_t sequences) {
    return core::as_microseconds(decode_attention(batch(sequences, 2048),
                                                  {.heads = 32, .kv_heads = 4, .head_dim = 128},
                                                  set.decode_attention.values,
                                                  gpu)
                                     .time);
  };
  // 128 and 191 us of 48 and 56 sequences, 271 and 339 us of 108 and 112. Streaming alone would
  // make it 1.17 and 1.04.
  EXPECT_NEAR(us(56) / us(48), 191.0 / 128.0, 0.2);
  EXPECT_NEAR(us(112) / us(108), 339.0 / 271.0, 0.15);
}

/// What cutting a prompt into halves costs where few heads leave a GPU short of tiles: measured
/// kernels lose it as well (medians of LLMServingSim's public profiles, microseconds).
TEST(PrefillAttention, CuttingAPromptOfFewHeadsCostsWhatMeasuredKernelsLose) {
  struct MeasuredCut {
    const char* gpu;
    model::Attention shape;
    std::int64_t tokens;
    double whole_us;
    double first_us;
    double second_us;
  };
  const std::vector<MeasuredCut> cuts = {
      // v0_H100_meta-llama_Llama-3.1-70B_tp4, v0_H100_mistralai_Mixtral-8x7B-v0.1_tp4
      {"h100", {.heads = 16, .kv_heads = 2, .head_dim = 128}, 1024, 32.480, 18.303, 31.903},
      {"h100", {.heads = 8, .kv_heads = 2, .head_dim = 128}, 1024, 31.744, 18.048, 31.647},
      // v1_RTXPRO6000_meta-llama_Llama-3.1-8B_bf16_tp2 and _tp1
      {"rtx-pro-6000",
       {.heads = 16, .kv_heads = 4, .head_dim = 128},
       2048,
       106.838,
       40.128,
       82.390},
      {"rtx-pro-6000",
       {.heads = 32, .kv_heads = 8, .head_dim = 128},
       2048,
       172.609,
       61.067,
       126.518},
      // v1_RTXPRO6000_Qwen_Qwen3-32B_bf16_tp1
      {"rtx-pro-6000",
       {.heads = 64, .kv_heads = 8, .head_dim = 128},
       2048,
       299.756,
       97.750,
       220.299},
      // v1_RTX4090_meta-llama_Llama-3.1-8B_bf16_tp1
      {"rtx-4090", {.heads = 32, .kv_heads = 8, .head_dim = 128}, 2048, 336.126, 108.240, 246.505},
  };
  for (const MeasuredCut& cut : cuts) {
    const hardware::GpuSpec gpu = hardware::find_gpu(cut.gpu).value();
    const Calibration set = calibrate(builtin_constants(), gpu);
    const auto time = [&](std::int64_t past, std::int64_t tokens) {
      PrefillCall call;
      call.add(fixtures::chunk(past, tokens));
      return prefill_attention(call, cut.shape, set.prefill_attention.values, set.attention, gpu)
          .time.value();
    };
    const std::int64_t half = cut.tokens / 2;
    const double measured = (cut.first_us + cut.second_us) / cut.whole_us;
    const double ours = (time(0, half) + time(half, half)) / time(0, cut.tokens);
    EXPECT_GT(measured, 1.05);
    // The RTX GPUs have no constants of their own.
    EXPECT_NEAR(ours / measured, 1.0, gpu.name == "h100" ? 0.05 : 0.12)
        << cut.gpu << ", " << cut.shape.heads << " heads";
  }
}

}  // namespace
}  // namespace ridgeline::latency::kernel
