#include "scenario/cache_room.hpp"

#include <gtest/gtest.h>

#include "resolving.hpp"
#include "scenario/deployment.hpp"

namespace ridgeline::scenario {
namespace {

TEST(CacheRoom, OneFullCacheHoldsTheSameWhateverTheLongestRequest) {
  const auto deployment = resolved(with("llama-3.1-8b",
                                        "h100",
                                        {{.path = "engine.num_gpu_blocks", .text = "1001"},
                                         {.path = "engine.max_model_len", .text = "4000"}}));
  ASSERT_TRUE(deployment.has_value());
  EXPECT_FALSE(depends_on_longest(**deployment));
  EXPECT_EQ(held_tokens(**deployment), 16'000);  // Without the null block.
  EXPECT_EQ(requests_of_longest(**deployment), 4.0);
  EXPECT_EQ(logged_tokens(**deployment), 16'016);  // With it.
  const auto newer = resolved(with("llama-3.1-8b",
                                   "h100",
                                   {{.path = "engine.version", .text = "vllm@0.21"},
                                    {.path = "engine.num_gpu_blocks", .text = "1001"},
                                    {.path = "engine.max_model_len", .text = "4001"}}));
  ASSERT_TRUE(newer.has_value());
  // 1001 blocks / 251 of a request * 4001 tokens = 15,956.2.
  EXPECT_EQ(logged_tokens(**newer), 15'956);
}

/// A log of vLLM 0.22 (gpt-oss-120b on one H200, max_model_len 2,068, 57.24 GiB in blocks of 576
/// KiB: 104,202): "GPU KV cache size: 825,607 tokens".
TEST(CacheRoom, WindowsCountAsInTheLog) {
  const auto deployment = resolved(with("gpt-oss-120b",
                                        "h200",
                                        {{.path = "engine.version", .text = "vllm@0.22"},
                                         {.path = "engine.num_gpu_blocks", .text = "104202"},
                                         {.path = "engine.max_num_batched_tokens", .text = "8192"},
                                         {.path = "engine.max_model_len", .text = "2068"}}));
  ASSERT_TRUE(deployment.has_value());
  EXPECT_TRUE(depends_on_longest(**deployment));
  // 2,068 tokens are 130 blocks of either group; the log counts the one that a window may begin in.
  EXPECT_EQ(blocks_of_longest(**deployment), 260);
  EXPECT_NEAR(requests_of_longest(**deployment), 104'202.0 / 261.0, 1e-9);
  EXPECT_NEAR(static_cast<double>(logged_tokens(**deployment)), 825'607.0, 100.0);
  EXPECT_EQ(held_tokens(**deployment), 104'201 / 2 * 16);
}

TEST(CacheRoom, VersionsLogWindowsAndStatesDifferently) {
  const auto logged = [](const char* network, const char* version, std::vector<Override> more) {
    more.push_back({.path = "engine.version", .text = version});
    more.push_back({.path = "engine.max_model_len", .text = "32768"});
    more.push_back({.path = "engine.max_num_seqs", .text = "64"});
    more.push_back({.path = "engine.max_num_batched_tokens", .text = "8192"});
    const auto deployment = resolved(with(network, "h200", std::move(more)));
    return deployment ? logged_tokens(**deployment) : -1;
  };
  const auto gpt = [&](const char* version) {
    return logged("gpt-oss-120b", version, {{.path = "engine.num_gpu_blocks", .text = "100000"}});
  };
  // Two groups share the blocks up to 0.20: 100,000 / 2 * 16.
  EXPECT_EQ(gpt("vllm@0.20"), 800'000);
  // 32,768 tokens are 2,048 blocks of the one group, and (127 + 8,192) / 16 + 1 = 521 of the other,
  // a window of 128: 100,000 / 2,569 * 32,768 = 1,275,515.
  EXPECT_EQ(gpt("vllm@0.21"), 1'275'515);
  // Two steps are in flight from 0.28 on: (127 + 16,384) / 16 + 1 = 1,033: 100,000 / 3,081 *
  // 32,768.
  EXPECT_EQ(gpt("vllm@0.28"), 1'063'550);
  const auto qwen = [&](const char* version) {
    return logged("qwen3-next-80b-a3b",
                  version,
                  {{.path = "engine.num_gpu_blocks", .text = "7000"},
                   {.path = "engine.tensor_parallel_size", .text = "2"}});
  };
  // Blocks of 544 tokens, one group whole and three of states: 61 + 3 blocks, and twice the states
  // where prefix caching keeps them (from 0.28 on): 7,000 / 64 and 7,000 / 67 times 32,768.
  EXPECT_EQ(qwen("vllm@0.20"), 7'000 / 4 * 544);
  EXPECT_EQ(qwen("vllm@0.21"), 3'584'000);
  EXPECT_EQ(qwen("vllm@0.28"), 3'423'522);
}

}  // namespace
}  // namespace ridgeline::scenario
