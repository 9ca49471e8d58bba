// Kernels beyond plain attention and GEMMs, each against its formula by hand.
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/all_to_all.hpp"
#include "latency/kernel/calibration.hpp"
#include "latency/kernel/compressed_attention.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/datasheet_column.hpp"
#include "latency/kernel/indexer.hpp"
#include "latency/kernel/latent_attention.hpp"
#include "latency/kernel/line_cost.hpp"
#include "latency/kernel/notes.hpp"
#include "latency/kernel/recurrence.hpp"
#include "latency/kernel/sampling.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "unit/latency/kernel_fixtures.hpp"

namespace ridgeline::latency::kernel {
namespace {

const hardware::GpuSpec kH100Facts = fixtures::gpu("h100");

/// DeepSeek-V3 on one GPU.
constexpr model::LatentAttention kV3 = {
    .heads = 128, .rank = 512, .rope = 64, .nope = 128, .value = 128};

TEST(LatentAttention, ADecodeReadsTheLatentOnceOrMultipliesIt) {
  DecodeAttentionConstants constants;
  constants.bandwidth_efficiency = 0.9;
  // 1,152 bytes at 0.9 * 3.35 TB/s = 0.382 ns; 2 * 128 * (2 * 512 + 64) FLOPs at 0.72 * 989 TFLOP/s
  // = 0.391 ns, which is longer. The measured module takes 0.395.
  EXPECT_NEAR(
      latent_decode_line(kV3, constants, kH100Facts).per_context_token.value(), 0.391e-9, 0.001e-9);
  // With 16 heads (TP8) reading is longer; measured 0.377.
  model::LatentAttention sixteen = kV3;
  sixteen.heads = 16;
  EXPECT_NEAR(latent_decode_line(sixteen, constants, kH100Facts).per_context_token.value(),
              0.382e-9,
              0.001e-9);
}

TEST(LatentAttention, APromptMultipliesPerHead) {
  const auto& set = calibrate(builtin_constants(), kH100Facts);
  PrefillCall call;
  call.add({.past = core::Tokens(0), .new_tokens = core::Tokens(8192)});
  const Cost cost =
      latent_prefill(call, kV3, set.prefill_attention.values, set.attention, kH100Facts);
  // 2 * 128 * (192 + 128) per pair, 8192^2 / 2 pairs.
  EXPECT_DOUBLE_EQ(cost.flops.value(), 2.0 * 128 * 320 * 8192.0 * 8192 / 2);
  // 4.36 ms measured (aiconfigurator, context_mla, vLLM 0.14).
  EXPECT_NEAR(cost.time.value(), 4.36e-3, 0.1 * 4.36e-3);
}

TEST(LatentAttention, APromptOfSelectedTokensStaysInTheLatentSpace) {
  const auto& set = calibrate(builtin_constants(), kH100Facts);
  model::LatentAttention sparse = kV3;
  sparse.heads = 16;
  sparse.selected = 2048;
  const auto priced = [&](std::int64_t tokens) {
    PrefillCall call;
    add_within_window(call, {.past = core::Tokens(0), .new_tokens = core::Tokens(tokens)}, 2048);
    return latent_prefill(call, sparse, set.prefill_attention.values, set.attention, kH100Facts);
  };
  // 2 * 16 * (2 * 512 + 64) FLOPs a pair; 2,048^2 / 2 pairs of a growing context and 6,144 * 2,048.
  const double pairs = 2048.0 * 2048 / 2 + 6144.0 * 2048;
  EXPECT_DOUBLE_EQ(priced(8192).flops.value(), 2.0 * 16 * 1088 * pairs);
  // 16 heads take as long as the 64 of a tile.
  const Cost sixteen = priced(8192);
  sparse.heads = 64;
  EXPECT_GT(priced(8192).time.value(), sixteen.time.value() * 0.99);
  EXPECT_LT(priced(8192).time.value(), sixteen.time.value() * 1.2);
  // Below the selection, per head as ever.
  EXPECT_DOUBLE_EQ(priced(1024).flops.value(), 2.0 * 64 * 320 * 1024.0 * 1024 / 2);
}

TEST(Recurrence, ADecodeReadsAndWritesItsState) {
  // 32 heads of 128 x 128 in 32 bits, both ways: 4.19 MB; 3 taps of 8192 channels: 98 KB; at 0.88
  // of 3.35 TB/s, 256 sequences: 372 us and the launches' 6.3. Measured 363.8 + 10.7.
  const model::Recurrence shape{.heads = 32,
                                .key_dim = 128,
                                .value_dim = 128,
                                .conv_channels = 8192,
                                .conv_kernel = 4,
                                .state = model::DType::kFp32};
  const Cost cost = recurrence_decode({.sequences = 256, .tokens = 256}, shape, kH100Facts);
  EXPECT_DOUBLE_EQ(cost.bytes.value(), 256.0 * 2 * (32 * 128 * 128 * 4 + 8192 * 3 * 2));
  EXPECT_NEAR(cost.time.value(), 374.5e-6, 0.03 * 374.5e-6);
}

TEST(Recurrence, APromptIsScannedTokenByTokenWhereHeadsAreFew) {
  const model::Recurrence shape{
      .heads = 32, .key_dim = 128, .value_dim = 128, .conv_channels = 8192, .conv_kernel = 4};
  PrefillCall one;
  one.add({.past = core::Tokens(0), .new_tokens = core::Tokens(16384)});
  // Measured: 767 us of scan and 239 of convolution.
  EXPECT_NEAR(recurrence_prefill(one, shape, kH100Facts).time.value(), 1006e-6, 0.03 * 1006e-6);
}

TEST(Indexer, ScoresEveryToken) {
  const model::Indexer shape{.heads = 64, .head_dim = 128};
  // 2 * 64 * 128 FLOPs at half of 1979 TFLOP/s, or 140 bytes at 0.8 * 3.35 TB/s: 16.6 and 52.2 ps.
  EXPECT_NEAR(indexer_line(shape, kH100Facts).per_context_token.value(), 52.24e-12, 0.01e-12);
  const Cost decode = indexer_decode(
      {.sequences = 1, .tokens = 1, .context = 1000, .pairs = 1001.0}, shape, kH100Facts);
  EXPECT_DOUBLE_EQ(decode.flops.value(), 2.0 * 64 * 128 * 1001);
  PrefillCall call;
  call.add({.past = core::Tokens(0), .new_tokens = core::Tokens(4096)});
  EXPECT_DOUBLE_EQ(indexer_prefill(call, shape, kH100Facts).flops.value(),
                   2.0 * 64 * 128 * 4096.0 * 4096 / 2);
}

TEST(CompressedAttention, ReadsAWindowAndTheCompressedEntries) {
  const model::CompressedAttention shape{.heads = 64, .head_dim = 512, .window = 128, .ratio = 128};
  const DecodeAttentionConstants constants;  // all of the bandwidth
  const DecodeLine line = compressed_decode_line(shape, constants, kH100Facts);
  // 1,024 bytes at 3.35 TB/s, or 4 * 64 * 512 FLOPs at 0.72 * 989 TFLOP/s: 306 and 184 ps an entry.
  EXPECT_NEAR(line.per_context_token.value(), 305.7e-12 / 128, 0.1e-12);
  EXPECT_NEAR(line.per_sequence.value(), 128 * 305.7e-12, 0.1e-9);
  const Cost cost =
      compressed_decode({.sequences = 2, .tokens = 2, .context = 4096, .pairs = 4098.0},
                        shape,
                        constants,
                        kH100Facts);
  EXPECT_DOUBLE_EQ(cost.bytes.value(), 1024.0 * (4096.0 / 128 + 2 * 128 + 2) + 2 * 64 * 512 * 4.0);
  PrefillCall call;
  call.add({.past = core::Tokens(0), .new_tokens = core::Tokens(1024)});
  const auto& set = calibrate(builtin_constants(), kH100Facts);
  EXPECT_GT(compressed_prefill(call, shape, set.prefill_attention.values, set.attention, kH100Facts)
                .time.value(),
            0.0);
}

TEST(LineCost, AWindowCapsContextAndPairs) {
  const DecodeCall call{.sequences = 4, .tokens = 4, .context = 4000, .pairs = 4004.0};
  EXPECT_EQ(within_window(call, 0).context, 4000);
  EXPECT_EQ(within_window(call, 128).context, 512);
  EXPECT_EQ(within_window(call, 128).pairs, 512.0);
  EXPECT_EQ(within_window(call, 1000).context, 4000);
  PrefillCall windowed;
  // Past 100, 300 new, window 200: 100 tokens see 100 to 200, the others 200 each.
  add_within_window(windowed, {.past = core::Tokens(100), .new_tokens = core::Tokens(300)}, 200);
  EXPECT_EQ(windowed.pairs, 100 * (100 + 50.0) + 200 * 200.0);
  EXPECT_EQ(windowed.kv_tokens, 400);
  PrefillCall whole;
  add_within_window(whole, {.past = core::Tokens(100), .new_tokens = core::Tokens(300)}, 0);
  EXPECT_EQ(whole.pairs, 300 * (100 + 150.0));
}

TEST(AllToAll, VolumeByHand) {
  // DeepSeek-V3 over 8 ranks, 128 tokens each, sent in FP8 to each of 8 experts: 7 of 8 copies
  // leave, 128 * 7 * 7168 bytes.
  model::AllToAll shape{.width = 7168,
                        .bytes_per_element = 1.0,
                        .ranks = 8,
                        .experts = 256,
                        .experts_per_token = 8,
                        .backend = model::AllToAllBackend::kDeepEpLowLatency};
  EXPECT_DOUBLE_EQ(all_to_all_volume(shape, 128).value(), 128.0 * 7 * 7168);
  AllReduceConstants constants;
  constants.one_shot = core::Seconds(4e-6);
  constants.one_shot_efficiency = 0.5;
  constants.nccl = core::Seconds(30e-6);
  constants.nccl_efficiency = 0.75;
  EXPECT_NEAR(all_to_all(shape, 128, constants, kH100Facts).time.value(),
              4e-6 + 128.0 * 7 * 7168 / (450e9 * 0.5),
              1e-12);
  shape.backend = model::AllToAllBackend::kAllGatherReduceScatter;
  EXPECT_NEAR(all_to_all(shape, 128, constants, kH100Facts).time.value(),
              30e-6 + 128.0 * 7 * 7168 / (450e9 * 0.75),
              1e-12);
  EXPECT_NEAR(point_to_point(128, 7168, constants, kH100Facts).time.value(),
              4e-6 + 128.0 * 7168 * 2 / (450e9 * 0.75),
              1e-12);
}

TEST(AllToAll, ATokenOnceToEachNodeBetweenNodes) {
  // 32 ranks on 4 nodes of 64 experts each: one node is missed by 8 distinct choices of 256 with
  // probability (192 * 191 * ... * 185) / (256 * 255 * ... * 249) = 0.096446, so that a token
  // leaves for 3 * 0.903554 nodes; its copies to ranks would be 31 * (1 - 248 * ... * 241 / 256 /
  // ... / 249).
  model::AllToAll shape{.width = 7168,
                        .bytes_per_element = 1.0,
                        .ranks = 32,
                        .experts = 256,
                        .experts_per_token = 8,
                        .backend = model::AllToAllBackend::kDeepEpHighThroughput};
  EXPECT_NEAR(all_to_all_volume(between_nodes(shape, 4), 1).value(), 7168 * 2.710661, 0.01);
  EXPECT_GT(all_to_all_volume(shape, 1).value(), 7168 * 6.0);
  shape.backend = model::AllToAllBackend::kDeepEpLowLatency;
  EXPECT_EQ(between_nodes(shape, 4), shape);
}

TEST(DatasheetColumn, IsTheRoofline) {
  hardware::GpuSpec gpu = kH100Facts;
  gpu.name = "mi300x";
  gpu.datasheet_only = true;
  const Calibration set = calibrate(builtin_constants(), gpu);
  EXPECT_EQ(set.gemm_16bit.source, "datasheet");
  EXPECT_EQ(set.gemm_16bit.values.bandwidth_efficiency, 1.0);
  EXPECT_EQ(set.decode_attention.values.fixed.value(), 0.0);
  EXPECT_TRUE(datasheet_column().all_reduce.has_value());
  // No launches, no gaps, and of sampling the passes over the logits alone, whatever its SMs.
  EXPECT_EQ(set.step.layer_launch_gap.value() + set.step.step_gap.value(), 0.0);
  gpu.num_sms = 2;
  const Cost sampled =
      sampling({.vocab = 1000, .truncates = true, .penalises = true}, 10, set.sampling, gpu);
  EXPECT_DOUBLE_EQ(sampled.time.value(), (sampled.bytes / gpu.mem_bandwidth).value());
}

TEST(Notes, SayWhatStandsBehindAPrediction) {
  model::ModelSpec network = fixtures::llama_2_7b();
  network.precision.ffn = model::DType::kNvfp4;
  const auto codes = [](const core::Warnings& warnings) {
    std::vector<std::string> all;
    for (const core::Warning& warning : warnings) {
      all.push_back(warning.code);
    }
    return all;
  };
  const auto notes = [&network](const hardware::GpuSpec& gpu) {
    return kernel_notes(network, gpu, {}, calibrate(builtin_constants(), gpu));
  };
  hardware::GpuSpec h100 = kH100Facts;
  h100.name = "h100";
  h100.architecture = "hopper";
  EXPECT_THAT(codes(notes(h100)), testing::ElementsAre("W-no-units"));
  EXPECT_THAT(notes(h100).front().message, testing::HasSubstr("no units for nvfp4"));
  hardware::GpuSpec with_fp4 = h100;
  with_fp4.peak_fp4 = core::FlopsPerSecond(9e15);
  EXPECT_THAT(codes(notes(with_fp4)), testing::ElementsAre("W-unmeasured-format"));
  EXPECT_THAT(notes(with_fp4).front().message, testing::HasSubstr("nvfp4 takes those of fp8"));
  with_fp4.datasheet_only = true;
  EXPECT_THAT(codes(notes(with_fp4)), testing::ElementsAre("W-datasheet-only"));
}

/// Constants were fitted on five GPUs; all others are marked, with what they take instead.
TEST(Notes, MarkGpusThatNothingWasFittedOn) {
  const model::ModelSpec network = fixtures::llama_2_7b();
  const auto notes = [&network](const hardware::GpuSpec& gpu) {
    return kernel_notes(network, gpu, {}, calibrate(builtin_constants(), gpu));
  };
  for (const std::string& name : hardware::catalogue_names()) {
    const hardware::GpuSpec gpu = hardware::find_gpu(name).value();
    const Constants& constants = builtin_constants();
    const bool fitted =
        std::ranges::find(constants.columns, name, &Column::name) != constants.columns.end();
    const core::Warnings found = notes(gpu);
    ASSERT_EQ(found.size(), fitted ? 0U : 1U) << name;
    EXPECT_TRUE(fitted || found.front().code ==
                              (gpu.datasheet_only ? "W-datasheet-only" : "W-unmeasured-gpu"))
        << name;
  }
  EXPECT_THAT(notes(hardware::find_gpu("gb200").value()).front().message,
              testing::HasSubstr("the constants of b200"));
  // Blackwell without NVLink is a chip of its own.
  EXPECT_THAT(notes(hardware::find_gpu("rtx-5090").value()).front().message,
              testing::HasSubstr("the constants of rtx-pro-6000, of the same architecture"));
  hardware::GpuSpec other = hardware::find_gpu("l40s").value();
  other.name = "mine";
  EXPECT_THAT(notes(other).front().message,
              testing::HasSubstr("the constants of l40s, of the same architecture"));
  other.base = "h200";
  EXPECT_THAT(notes(other).front().message, testing::HasSubstr("the constants of h200, its base"));
  other.base = "";
  other.architecture = "blackwel";
  const core::Warnings unknown = notes(other);
  ASSERT_EQ(unknown.size(), 2U);
  EXPECT_EQ(unknown[1].code, "W-unknown-architecture");
  EXPECT_THAT(unknown[1].message, testing::HasSubstr("'blackwel' is not one of ada, ampere"));
  EXPECT_EQ(unknown[1].hint, "did you mean 'blackwell'?");
}

}  // namespace
}  // namespace ridgeline::latency::kernel
