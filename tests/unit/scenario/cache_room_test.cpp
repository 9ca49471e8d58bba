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
  EXPECT_EQ(logged_tokens(**deployment), 16'000);
}

/// A log of vLLM 0.22 (gpt-oss-120b on one H200, max_model_len 2,068, 57.24 GiB in blocks of 576
/// KiB: 104,202): "GPU KV cache size: 825,607 tokens".
TEST(CacheRoom, WindowsCountAsInTheLog) {
  const auto deployment = resolved(with("gpt-oss-120b",
                                        "h200",
                                        {{.path = "engine.num_gpu_blocks", .text = "104202"},
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

}  // namespace
}  // namespace ridgeline::scenario
