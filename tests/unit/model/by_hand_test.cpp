// The numbers of one network of each kind, from its published sizes and nothing else.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::model {
namespace {

ModelSpec by_name(const std::string& name) {
  const auto spec = find_model(name);
  EXPECT_TRUE(spec.has_value()) << core::to_string(spec.error().front());
  return spec.value_or(ModelSpec{});
}

double kv_of(const ModelSpec& spec, std::int64_t ranks = 1) {
  return kv_bytes_per_token_per_rank(spec, {.tensor_parallel_size = ranks}).value();
}

TEST(ByHand, Llama31Dense8B) {
  const ModelSpec spec = by_name("llama-3.1-8b");
  // Embedding and head 2 * 128256 * 4096; a layer: q and o 2 * 4096^2, k and v 2 * 4096 * 1024,
  // gate, up and down 3 * 4096 * 14336, two norms; the last norm.
  const double layer = 2.0 * 4096 * 4096 + 2.0 * 4096 * 1024 + 3.0 * 4096 * 14336 + 2.0 * 4096;
  EXPECT_EQ(total_parameters(spec), 2.0 * 128256 * 4096 + 32 * layer + 4096);
  EXPECT_EQ(kv_of(spec), 2.0 * 32 * 8 * 128 * 2);
  EXPECT_EQ(state_bytes_per_rank(spec, {}).value(), 0);
}

TEST(ByHand, Qwen3NextSharedExpertsAndDeltaNets) {
  const ModelSpec spec = by_name("qwen3-next-80b-a3b");
  // h = 2048. 512 experts and a shared one of 3 * h * 512, router h * 512, gate of the shared one
  // h.
  const double h = 2048;
  const double ffn = 513 * 3 * h * 512 + h * 512 + h;
  // Attention, every 4th of 48: q with its gate h * 16*256*2, k and v h * 2*256 each, o 16*256 * h,
  // norms 2 * 256.
  const double attention = h * 8192 + 2 * h * 512 + 4096 * h + 512;
  // Delta net: q, k 16*128 each, v and z 32*128 each; b and a h * 64; convolution 4 taps over 8192;
  // two rates per head; norm of 128; out 4096 * h.
  const double delta = h * (2048 + 2048 + 4096 + 4096) + h * 64 + 4 * 8192 + 64 + 128 + 4096 * h;
  const double norms = 2 * h;
  EXPECT_EQ(total_parameters(spec),
            2.0 * 151936 * h + 48 * (ffn + norms) + 12 * attention + 36 * delta + h);
  // One token uses 10 experts and the shared one.
  const double used = 11 * 3 * h * 512 + h * 512 + h;
  EXPECT_EQ(active_parameters(spec),
            2.0 * 151936 * h + 48 * (used + norms) + 12 * attention + 36 * delta + h);
  EXPECT_EQ(kv_of(spec), 12.0 * 2 * 2 * 256 * 2);
  // State: 32 heads of 128 x 128 in 16 bits (the file names no other), and 3 taps of 8192 channels.
  EXPECT_EQ(state_bytes_per_rank(spec, {}).value(), 36.0 * (32 * 128 * 128 * 2 + 3 * 8192 * 2));
}

TEST(ByHand, KimiLinearDeltaAttention) {
  const ModelSpec spec = by_name("kimi-linear-48b-a3b");
  const double h = 2304;
  const double inner = 32 * 128;
  // Queries, keys, values and out h * 4096 each, 4 taps of the first three; decay and gate through
  // 128, a decay's bias for each channel and a rate for each head, a step for each head, a norm.
  const double delta =
      4 * h * inner + 3 * 4 * inner + 2 * (h * 128 + 128 * inner) + inner + 32 + h * 32 + 128;
  // Latent attention: queries directly, down to 512 + 64 with a norm, up to 32 heads of 128 + 128.
  const double latent = h * 32 * 192 + h * 576 + 512 + 512.0 * 32 * 256 + 32.0 * 128 * h;
  const double expert = 3 * h * 1024;
  const double dense = 3 * h * 9216;
  const double outside = 2.0 * 163840 * h + h + 27 * 2 * h + 20 * delta + 7 * latent + dense;
  EXPECT_EQ(total_parameters(spec), outside + 26 * (257 * expert + 256 * h + 256));
  EXPECT_EQ(active_parameters(spec), outside + 26 * (9 * expert + 256 * h + 256));
  EXPECT_NEAR(total_parameters(spec) / 1e9, 49.12, 0.005);  // as transformers 5.24 builds it
  EXPECT_EQ(kv_of(spec), 7.0 * (512 + 64) * 2);
  // 32 states of 128 x 128 in 32 bits; 3 earlier values of queries, keys and values.
  EXPECT_EQ(state_bytes_per_rank(spec, {}).value(),
            20.0 * (32 * 128 * 128 * 4 + 3 * 3 * inner * 2));
  // Two ranks share out heads; each holds both first factors, the latent way down and norms whole.
  EXPECT_EQ(state_bytes_per_rank(spec, {.tensor_parallel_size = 2}).value() * 2,
            state_bytes_per_rank(spec, {}).value());
}

TEST(ByHand, KimiK3ExpertsOfAnotherWidthInFourBits) {
  const ModelSpec spec = by_name("kimi-k3");
  const double h = 7168;
  const double inner = 96 * 128;
  const double delta =
      5 * h * inner + 3 * 4 * inner + h * 128 + 128 * inner + inner + 96 + h * 96 + 128;
  const double latent = h * 1536 + 1536 + 1536.0 * 96 * 192 + h * 576 + 512 + 512.0 * 96 * 256 +
                        2 * h * inner;  // out, and the gate
  const double routed = 92.0 * 896 * 3 * 3584 * 3072;
  const double beside = 2 * 3 * h * 3072 + 2 * h * 3584 + 896 * h + 896;
  const double dense = 3 * h * 33792;
  const double text =
      2.0 * 163840 * h + h + 93 * 2 * h + 69 * delta + 24 * latent + dense + routed + 92 * beside;
  EXPECT_EQ(total_parameters(spec) - spec.vision->parameters, text);
  EXPECT_NEAR(spec.vision->parameters, 0.45e9, 0.05e9);
  // Routed experts take 4.25 bits, everything else 16.
  EXPECT_EQ(weight_bytes_per_rank(spec, {}).value(),
            routed * (0.5 + 1.0 / 32) + 2 * (total_parameters(spec) - routed));
  EXPECT_EQ(kv_of(spec), 24.0 * (512 + 64) * 2);
}

TEST(ByHand, Gemma4E2BTablesAndSharedCaches) {
  const ModelSpec spec = by_name("gemma-4-e2b");
  const double h = 1536;
  // 28 layers with a window have heads of 256, every 5th of 512; 8 query heads, one of keys and
  // values, and norms on them. The last 20 layers (4 of the 512) have queries alone.
  const auto attention = [h](double width, bool own) {
    return 2 * h * 8 * width + width + (own ? 2 * h * width + width : 0.0);
  };
  const double mixers = 12 * attention(256, true) + 3 * attention(512, true) +
                        16 * attention(256, false) + 4 * attention(512, false);
  // Feed-forward networks of 6144, twice that in the last 20; 5 norms; a table of 256 in each
  // layer, its gate and its way out, and what all of them share.
  const double ffns = (15 + 2 * 20) * 3 * h * 6144;
  const double rows = 35.0 * (262144 * 256 + 2 * h * 256) + h * 35 * 256 + 256;
  EXPECT_EQ(total_parameters(spec) - spec.vision->parameters,
            262144 * h + h + mixers + ffns + 35 * 5 * h + rows);
  // transformers 5.24 builds 5.10 B, of which two encoders 0.48.
  EXPECT_NEAR(total_parameters(spec) / 1e9, 5.10, 0.005);
  EXPECT_NEAR(spec.vision->parameters / 1e9, 0.48, 0.005);
  // 12 layers with a window and 3 without have a cache.
  EXPECT_EQ(kv_of(spec), 12.0 * 2 * 256 * 2 + 3.0 * 2 * 512 * 2);
}

TEST(ByHand, DeepSeekV3Latent) {
  const ModelSpec spec = by_name("deepseek-v3");
  const double h = 7168;
  // Latent attention: down to 1536 and to 512 + 64, norms of both ranks, up to 128 heads of 192,
  // and of 128 + 128; out of 128 * 128.
  const double attention =
      h * 1536 + h * 576 + 1536 + 512 + 1536.0 * 128 * 192 + 512.0 * 128 * 256 + 128.0 * 128 * h;
  const double expert = 3 * h * 2048;
  const double moe = 257 * expert + 256 * h + 256;
  const double dense = 3 * h * 18432;
  const double outside = 2.0 * 129280 * h + h;
  EXPECT_EQ(total_parameters(spec), outside + 61 * (attention + 2 * h) + 58 * moe + 3 * dense);
  EXPECT_EQ(active_parameters(spec),
            outside + 61 * (attention + 2 * h) + 58 * (9 * expert + 256 * h + 256) + 3 * dense);
  // 70.272 KB a token, as "Insights into DeepSeek-V3" (arXiv:2505.09343, table 1) has it, whatever
  // the tensor parallelism: every rank holds the latent.
  EXPECT_EQ(kv_of(spec), 61.0 * (512 + 64) * 2);
  EXPECT_EQ(kv_of(spec, 8), 70'272);
}

TEST(ByHand, GptOssWindowsAndMxfp4) {
  const ModelSpec spec = by_name("gpt-oss-20b");
  const double h = 2880;
  // 64 heads of 64 over 8: q, k, v with biases, o with one, a sink per head; 32 experts with
  // biases, a router with one.
  const double attention = h * 5120 + 5120 + 4096 * h + h + 64;
  const double experts = 32 * (3 * h * 2880 + 2 * 2880 + h);
  const double router = h * 32 + 32;
  const double total = 2.0 * 201088 * h + 24 * (attention + experts + router + 2 * h) + h;
  EXPECT_EQ(total_parameters(spec), total);  // 20.91 thousand million
  // Experts' matrices take 4 bits and a byte per 32; all else 2 bytes.
  const double matrices = 24.0 * 32 * 3 * h * 2880;
  EXPECT_EQ(weight_bytes_per_rank(spec, {}).value(),
            matrices * (0.5 + 1.0 / 32) + (total - matrices) * 2);
  EXPECT_EQ(kv_of(spec), 24.0 * 2 * 8 * 64 * 2);
  const std::vector<CacheGroup> groups = cache_groups(spec, {});
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].kind, "window");
  EXPECT_EQ(groups[0].window, core::Tokens(128));
  EXPECT_EQ(groups[0].layers, 12);
  EXPECT_EQ(groups[0].bytes_per_token.value(), 12.0 * 2 * 8 * 64 * 2);
  EXPECT_EQ(groups[1].kind, "full");
  EXPECT_EQ(groups[1].layers, 12);
}

TEST(ByHand, Nemotron3NanoStateSpace) {
  const ModelSpec spec = by_name("nemotron-3-nano-30b-a3b");
  const double h = 2688;
  // 52 blocks of one norm each: 23 Mamba-2, 6 attention, 23 of experts.
  // Mamba-2: 64 heads of 64 = 4096, 8 groups of state 128: in h * (4096 + 4096 + 2*8*128 + 64);
  // convolution of 4 taps and a bias over 4096 + 2048; three numbers per head; norm of 4096; out.
  const double mamba = h * (4096 + 4096 + 2048 + 64) + 5 * 6144.0 + 3 * 64 + 4096 + 4096 * h;
  const double attention = h * (4096 + 2 * 256) + 4096 * h;
  // Squared ReLU: up and down. Router with a bias.
  const double moe = 128 * 2 * h * 1856 + 2 * h * 3712 + h * 128 + 128;
  EXPECT_EQ(total_parameters(spec),
            2.0 * 131072 * h + 52 * h + 23 * mamba + 6 * attention + 23 * moe + h);
  EXPECT_EQ(kv_of(spec), 6.0 * 2 * 2 * 128 * 2);
  // 64 heads of 64 x 128 in 32 bits, and 3 taps of 6144 channels in 16.
  EXPECT_EQ(state_bytes_per_rank(spec, {}).value(), 23.0 * (64 * 64 * 128 * 4 + 3 * 6144 * 2));
}

TEST(ByHand, Qwen3WithNvfp4) {
  const ModelSpec whole = by_name("qwen3-235b-a22b");
  const ModelSpec spec = by_name("qwen3-235b-a22b-nvfp4");
  EXPECT_EQ(total_parameters(spec), total_parameters(whole));
  // All but embedding, head, routers and norms in 4 bits and a byte per 16. A layer: q and o of 64
  // * 128, k and v of 4 * 128, 128 experts of 3 * 4096 * 1536.
  const double quantised = 94.0 * (2 * 4096.0 * 8192 + 2 * 4096.0 * 512 + 128 * 3 * 4096.0 * 1536);
  EXPECT_EQ(weight_bytes_per_rank(spec, {}).value(),
            quantised * 0.5625 + (total_parameters(spec) - quantised) * 2);
  EXPECT_EQ(kv_of(spec), 94.0 * 2 * 4 * 128 * 1);  // its FP8 cache
}

TEST(ByHand, DeepSeekV4CompressesItsCache) {
  const ModelSpec spec = by_name("deepseek-v4-flash");
  // Layers of ratio 4 keep 512 / 4 elements and an index key of 132 / 4 bytes per token, those of
  // ratio 128 keep 512 / 128; in 16 bits. Of 43 layers 2 have neither, 21 are of ratio 4, 20 of
  // 128.
  EXPECT_EQ(kv_of(spec), 21 * (512.0 * 2 / 4 + 132.0 / 4) + 20 * 512.0 * 2 / 128);
  // Every layer keeps a window of 128.
  EXPECT_EQ(state_bytes_per_rank(spec, {}).value(), 43.0 * 128 * 512 * 2);
}

TEST(ByHand, AnImageIsTokensOfMergedPatches) {
  const ModelSpec spec = by_name("qwen3-vl-2b");
  ASSERT_TRUE(spec.vision.has_value());
  // 16-pixel patches, 2 x 2 to a token: 32 pixels a side.
  EXPECT_EQ(spec.vision->tokens(1024, 1024), 32 * 32);
  EXPECT_EQ(spec.vision->tokens(1000, 33), 32 * 2);
}

}  // namespace
}  // namespace ridgeline::model
