#include "engine/profiles.hpp"

#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/units.hpp"

namespace ridgeline::engine {
namespace {

TEST(Profiles, AVersionBetweenTwoTakesTheLowerOne) {
  EXPECT_EQ(find_profile("vllm@0.15")->name, "vllm@0.15");
  EXPECT_EQ(find_profile("0.16.2")->name, "vllm@0.15");
  EXPECT_EQ(find_profile("vllm@0.10")->name, "vllm@0.9");
  EXPECT_EQ(find_profile("0.8.5.post1")->name, "vllm@0.8");
  EXPECT_EQ(find_profile("1.2")->name, "vllm@0.27");
}

TEST(Profiles, WhatIsNoVersionIsRefused) {
  for (const std::string text :
       {"", "vllm", "vllm@", "0", "0.", "sglang@0.4", "0.x", "0.7", "0.15b"}) {
    const auto profile = find_profile(text);
    ASSERT_FALSE(profile.has_value()) << text;
    EXPECT_EQ(profile.error().front().field, "engine.version");
    EXPECT_THAT(profile.error().front().message, testing::HasSubstr("vllm@0.15"));
  }
}

TEST(Profiles, AreOrderedAndNamedOnce) {
  const auto all = profiles();
  ASSERT_EQ(all.size(), 10U);
  for (const auto& profile : all) {
    EXPECT_EQ(find_profile(profile.name)->name, profile.name);
  }
}

TEST(Profiles, SayWhatDistinguishesThem) {
  const auto has = [](const char* version, const char* text) {
    const auto texts = distinctions(*find_profile(version));
    return std::find(texts.begin(), texts.end(), text) != texts.end();
  };
  EXPECT_TRUE(has("0.15", "asynchronous by default"));
  EXPECT_FALSE(has("0.18", "asynchronous by default"));
  EXPECT_TRUE(has("0.19", "samples without sorting the logits"));
  EXPECT_TRUE(has("0.20", "admits only requests whose whole prompt has blocks"));
  EXPECT_TRUE(has("0.8", "no priority scheduling"));
  EXPECT_TRUE(has("0.9", "priority scheduling"));
  EXPECT_TRUE(has("0.24", "gpu_memory_utilization 0.92"));
  for (const auto& profile : profiles()) {
    EXPECT_FALSE(distinctions(profile).empty()) << profile.name;
  }
}

TEST(CudaGraphSizes, GrowBy8To256ThenBy16) {
  const auto sizes = cuda_graph_sizes(*find_profile("0.15"), 256, core::Tokens(8192));
  // 1, 2, 4; 8 to 256 by 8 (32 of them); 272 to 512 by 16 (16 of them).
  ASSERT_EQ(sizes.size(), 3U + 32U + 16U);
  EXPECT_EQ(sizes[3], 8);
  EXPECT_EQ(sizes[34], 256);
  EXPECT_EQ(sizes[35], 272);
  EXPECT_EQ(sizes.back(), 512);
}

TEST(CudaGraphSizes, TopFollowsTheSequenceLimitAndTheBudget) {
  EXPECT_EQ(cuda_graph_sizes(*find_profile("0.15"), 32, core::Tokens(8192)).back(), 64);
  EXPECT_EQ(cuda_graph_sizes(*find_profile("0.15"), 256, core::Tokens(100)).back(), 96);
  EXPECT_EQ(cuda_graph_sizes(*find_profile("0.11"), 256, core::Tokens(8192)).size(), 3U + 64U);
  EXPECT_EQ(cuda_graph_sizes(*find_profile("0.8"), 4, core::Tokens(8192)).back(), 512);
}

TEST(DefaultLimits, LargeGpusGetTheLargerClassButForTheA100) {
  EXPECT_EQ(default_limits(core::gibibytes(79.2), "hopper").max_num_batched_tokens,
            core::Tokens(8192));
  EXPECT_EQ(default_limits(core::gibibytes(79.2), "hopper").max_num_seqs, 1024);
  EXPECT_EQ(default_limits(core::gibibytes(79.2), "ampere").max_num_batched_tokens,
            core::Tokens(2048));
  EXPECT_EQ(default_limits(core::gibibytes(44.4), "ada").max_num_seqs, 256);
}

}  // namespace
}  // namespace ridgeline::engine
