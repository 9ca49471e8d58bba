#include "engine/profiles.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/units.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"

namespace ridgeline::engine {
namespace {

TEST(Profiles, AVersionBetweenTwoTakesTheLowerOne) {
  EXPECT_EQ(find_profile("vllm@0.15")->name, "vllm@0.15");
  EXPECT_EQ(find_profile("0.16.2")->name, "vllm@0.15");
  EXPECT_EQ(find_profile("vllm@0.10")->name, "vllm@0.9");
  EXPECT_EQ(find_profile("0.8.5.post1")->name, "vllm@0.8");
  EXPECT_EQ(find_profile("1.2")->name, "vllm@0.33");
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
  ASSERT_EQ(all.size(), 20U);
  for (const auto& profile : all) {
    EXPECT_EQ(find_profile(profile.name)->name, profile.name);
  }
}

TEST(Profiles, SayWhatDistinguishesThem) {
  const auto has = [](const char* version, const char* text) {
    const auto texts = distinctions(*find_profile(version));
    return std::find(texts.begin(), texts.end(), text) != texts.end();
  };
  EXPECT_TRUE(has("0.14", "asynchronous by default"));
  EXPECT_TRUE(has("0.14", "requests passed over keep their order"));
  EXPECT_TRUE(has("0.14", "a preempted request drops its drafts"));
  EXPECT_TRUE(has("0.15", "as vllm@0.14"));
  EXPECT_FALSE(has("0.18", "asynchronous by default"));
  EXPECT_TRUE(has("0.17", "samples without sorting the logits"));
  EXPECT_TRUE(has("0.20", "admits only requests whose whole prompt has blocks"));
  EXPECT_TRUE(has("0.8", "no priority scheduling"));
  EXPECT_TRUE(has("0.9", "priority scheduling"));
  EXPECT_TRUE(has("0.20", "gpu_memory_utilization 0.92"));
  for (const auto& profile : profiles()) {
    EXPECT_FALSE(distinctions(profile).empty()) << profile.name;
  }
}

std::vector<std::int64_t> sizes_of(const char* version, const GraphLimits& limits) {
  return cuda_graph_sizes(*find_profile(version), limits);
}

TEST(CudaGraphSizes, GrowBy8To256ThenBy16) {
  const auto sizes =
      sizes_of("0.15", {.max_num_seqs = 256, .max_num_batched_tokens = core::Tokens(8192)});
  // 1, 2, 4; 8 to 256 by 8 (32 of them); 272 to 512 by 16 (16 of them).
  ASSERT_EQ(sizes.size(), 3U + 32U + 16U);
  EXPECT_EQ(sizes[3], 8);
  EXPECT_EQ(sizes[34], 256);
  EXPECT_EQ(sizes[35], 272);
  EXPECT_EQ(sizes.back(), 512);
}

TEST(CudaGraphSizes, TopFollowsTheSequenceLimitAndTheBudget) {
  EXPECT_EQ(
      sizes_of("0.15", {.max_num_seqs = 32, .max_num_batched_tokens = core::Tokens(8192)}).back(),
      64);
  EXPECT_EQ(
      sizes_of("0.15", {.max_num_seqs = 256, .max_num_batched_tokens = core::Tokens(100)}).back(),
      96);
  EXPECT_EQ(
      sizes_of("0.11", {.max_num_seqs = 256, .max_num_batched_tokens = core::Tokens(8192)}).size(),
      3U + 64U);
  EXPECT_EQ(
      sizes_of("0.8", {.max_num_seqs = 4, .max_num_batched_tokens = core::Tokens(8192)}).back(),
      512);
}

TEST(CudaGraphSizes, LeaveRoomForDraftsFrom013On) {
  const GraphLimits drafts{.max_num_seqs = 64,
                           .max_num_batched_tokens = core::Tokens(8192),
                           .num_speculative_tokens = 3};
  EXPECT_EQ(sizes_of("0.11", drafts).back(), 128);
  EXPECT_EQ(sizes_of("0.13", drafts).back(), 512);
}

TEST(CudaGraphSizes, IncludeASmallBudgetFrom020On) {
  const GraphLimits small{.max_num_seqs = 256, .max_num_batched_tokens = core::Tokens(300)};
  EXPECT_EQ(sizes_of("0.19", small).back(), 288);
  EXPECT_EQ(sizes_of("0.20", small).back(), 300);
  const GraphLimits smallest{.max_num_seqs = 1, .max_num_batched_tokens = core::Tokens(1)};
  EXPECT_EQ(sizes_of("0.20", smallest), std::vector<std::int64_t>{1});
}

TEST(CudaGraphSizes, GoTo1024OnDataCentreBlackwellFrom028On) {
  const GraphLimits b200{
      .max_num_seqs = 1024,
      .max_num_batched_tokens = core::Tokens(16384),
      .is_large_blackwell = is_large_blackwell(core::gibibytes(178), "blackwell")};
  EXPECT_EQ(sizes_of("0.27", b200).back(), 512);
  EXPECT_EQ(sizes_of("0.28", b200).back(), 1024);
  EXPECT_FALSE(is_large_blackwell(core::gibibytes(95), "blackwell"));
}

TEST(CudaGraphSizes, IncludeDecodesWithDraftsFrom029On) {
  const GraphLimits drafts{.max_num_seqs = 20,
                           .max_num_batched_tokens = core::Tokens(8192),
                           .num_speculative_tokens = 2};
  EXPECT_THAT(
      sizes_of("0.28", drafts),
      testing::ElementsAre(1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120));
  // 1, 2, 4, 8, 16 and 20 sequences of 3 tokens beside.
  EXPECT_THAT(
      sizes_of("0.29", drafts),
      testing::ElementsAre(
          1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40, 48, 56, 60, 64, 72, 80, 88, 96, 104, 112, 120));
  // To 16 sequences two drafts, beyond them one.
  GraphLimits levels = drafts;
  const std::vector<domain::DraftLevel> tiers = {{.most_requests = 16, .drafts = 2},
                                                 {.most_requests = 64, .drafts = 1}};
  levels.draft_levels = tiers;
  const auto sizes = sizes_of("0.29", levels);
  EXPECT_THAT(sizes, testing::IsSupersetOf({3, 12, 24, 48, 2, 8, 16, 32, 40}));
  EXPECT_THAT(sizes, testing::Not(testing::Contains(60)));
}

TEST(CudaGraphSizes, IncludeTheSequenceLimitFrom031On) {
  const GraphLimits limits{.max_num_seqs = 100, .max_num_batched_tokens = core::Tokens(8192)};
  EXPECT_THAT(sizes_of("0.30", limits), testing::Not(testing::Contains(100)));
  EXPECT_THAT(sizes_of("0.31", limits), testing::Contains(100));
}

TEST(CudaGraphSizes, MayIncludeEverySizeTo32) {
  // 1 to 32; 40 to 256 by 8 (28 of them); 272 to 512 by 16 (16).
  const auto sizes = sizes_of("0.18",
                              {.max_num_seqs = 256,
                               .max_num_batched_tokens = core::Tokens(8192),
                               .every_small_size = true});
  ASSERT_EQ(sizes.size(), 32U + 28U + 16U);
  EXPECT_EQ(sizes[30], 31);
  EXPECT_EQ(sizes[32], 40);
  EXPECT_EQ(sizes.back(), 512);
  // Up to 2 max_num_seqs.
  EXPECT_EQ(sizes_of("0.18",
                     {.max_num_seqs = 2,
                      .max_num_batched_tokens = core::Tokens(8192),
                      .every_small_size = true}),
            (std::vector<std::int64_t>{1, 2, 3, 4}));
}

TEST(DefaultLimits, TheLargestGpusGetALargerBudgetFrom027On) {
  const auto budget = [](const char* version) {
    return default_limits(*find_profile(version), core::gibibytes(178), "blackwell")
        .max_num_batched_tokens;
  };
  EXPECT_EQ(budget("0.24"), core::Tokens(8192));
  EXPECT_EQ(budget("0.28"), core::Tokens(16384));
}

TEST(DefaultLimits, LargeGpusGetTheLargerClassButForTheA100) {
  EXPECT_EQ(
      default_limits(*find_profile("0.20"), core::gibibytes(79.2), "hopper").max_num_batched_tokens,
      core::Tokens(8192));
  EXPECT_EQ(default_limits(*find_profile("0.20"), core::gibibytes(79.2), "hopper").max_num_seqs,
            1024);
  EXPECT_EQ(
      default_limits(*find_profile("0.20"), core::gibibytes(79.2), "ampere").max_num_batched_tokens,
      core::Tokens(2048));
  EXPECT_EQ(default_limits(*find_profile("0.20"), core::gibibytes(44.4), "ada").max_num_seqs, 256);
}

/// What the sources of 0.27.0 to 0.33.0 capture (config/vllm.py, model_executor/models/config.py).
struct Captured {
  const char* what;
  GraphLimits limits;
  std::vector<std::size_t> counts;  ///< A release each.
  std::vector<std::int64_t> largest;
};

TEST(CudaGraphSizes, AreThoseOfEachRelease) {
  const std::vector<const char*> versions = {
      "0.27", "0.28", "0.29", "0.30", "0.31", "0.32", "0.33"};
  const GraphLimits large{.max_num_seqs = 1024, .max_num_batched_tokens = core::Tokens(8192)};
  GraphLimits blackwell = large;
  blackwell.is_large_blackwell = true;
  GraphLimits gpt_oss = large;
  gpt_oss.is_gpt_oss = true;
  GraphLimits odd = large;
  odd.max_num_seqs = 300;
  const std::vector<Captured> all = {
      {"a large GPU", large, {51, 51, 51, 51, 51, 51, 51}, {512, 512, 512, 512, 512, 512, 512}},
      {"data-centre Blackwell",
       blackwell,
       {51, 83, 83, 83, 83, 83, 83},
       {512, 1024, 1024, 1024, 1024, 1024, 1024}},
      {"gpt-oss",
       gpt_oss,
       {83, 83, 83, 83, 83, 83, 83},
       {1024, 1024, 1024, 1024, 1024, 1024, 1024}},
      // A batch at the limit needs no padding from 0.31 on.
      {"300 sequences", odd, {51, 51, 51, 51, 52, 52, 52}, {512, 512, 512, 512, 512, 512, 512}}};
  for (const Captured& one : all) {
    for (std::size_t i = 0; i < versions.size(); ++i) {
      const auto sizes = cuda_graph_sizes(*find_profile(versions[i]), one.limits);
      EXPECT_EQ(sizes.size(), one.counts[i]) << one.what << " " << versions[i];
      EXPECT_EQ(sizes.back(), one.largest[i]) << one.what << " " << versions[i];
    }
  }
}

TEST(DefaultLimits, AGb10IsASmallGpuFrom033On) {
  const auto limits = [](const char* version) {
    return default_limits(*find_profile(version), core::gibibytes(128), "blackwell", true);
  };
  EXPECT_EQ(limits("0.32").max_num_batched_tokens, core::Tokens(8192));
  EXPECT_EQ(limits("0.33").max_num_batched_tokens, core::Tokens(2048));
  EXPECT_EQ(limits("0.33").max_num_seqs, 256);
}

}  // namespace
}  // namespace ridgeline::engine
