#include "latency/measured/expert_tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/latency/measured/table_files.hpp"

namespace ridgeline::latency::measured {
namespace {

using testing::HasSubstr;

constexpr const char* kGroupedHeader =
    "num_experts,num_gpus,num_local_experts,topk,hidden_size,intermediate_size,batch_size_per_gpu,"
    "tokens_per_expert,up_proj_us,up_mfu,down_proj_us,down_mfu\n";

TEST(GroupedGemmTable, IsReadColumnByColumn) {
  const auto reading = read_grouped_gemm_table(
      std::string(kGroupedHeader) + "64,8,8,6,2048,1408,128,96,100.5,0.25,60,0.125\n", "f", false);
  ASSERT_TRUE(reading.errors.empty()) << all_errors(reading.errors);
  ASSERT_EQ(reading.tables.size(), 1U);
  const GroupedGemmRow& row = reading.tables.front().rows().front();
  EXPECT_EQ(row.experts, 64);
  EXPECT_EQ(row.gpus, 8);
  EXPECT_EQ(row.local_experts, 8);
  EXPECT_EQ(row.experts_per_token, 6);
  EXPECT_EQ(row.hidden, 2048);
  EXPECT_EQ(row.intermediate, 1408);
  EXPECT_EQ(row.tokens_per_gpu, 128);
  EXPECT_EQ(row.tokens_per_expert, 96);
  EXPECT_EQ(row.up_us, 100.5);
  EXPECT_EQ(row.up_mfu, 0.25);
  EXPECT_EQ(row.down_us, 60.0);
  EXPECT_EQ(row.down_mfu, 0.125);
  EXPECT_EQ(row.line, 2);
}

TEST(GroupedGemmTable, RefusesWhatCannotBe) {
  const std::string good = "64,8,8,6,2048,1408,128,96,100.5,0.25,60,0.125\n";
  const auto errors = [&](const std::string& rows, bool prefill = false) {
    return all_errors(read_grouped_gemm_table(kGroupedHeader + rows, "f.csv", prefill).errors);
  };
  EXPECT_THAT(errors(good + good), HasSubstr("f.csv:3"));
  EXPECT_THAT(errors(good + good), HasSubstr("repeats the shape of line 2"));
  EXPECT_THAT(errors(good, true), HasSubstr("seq_len_per_gpu"));
  EXPECT_THAT(errors("64,8,8,6,2048,1408,128,96,-1,0.25,60,0.125\n"), HasSubstr("up_proj_us"));
  EXPECT_THAT(errors("64,8,8,6,2048,1408,128,many,1,0.25,60,0.125\n"),
              HasSubstr("tokens_per_expert"));
  EXPECT_THAT(errors("64,8,8,6,2048,1408,128,96,1,nan,60,0.125\n"), HasSubstr("up_mfu"));
  EXPECT_THAT(errors(""), HasSubstr("f.csv"));
}

// DeepSeek-V3: 128 heads. In prefill, queries and keys are 128 + 64 wide and values 128, so a pair
// costs 2 * 128 * (192 + 128) = 81,920 FLOPs; in decode, over the latent of 512 and 64 rotated,
// 2 * 128 * (576 + 512) = 278,528.
TEST(LatentShape, CountsFlopsOfAPair) {
  EXPECT_EQ((LatentShape{.heads = 128, .width = 128, .rotated = 64}.flops_per_pair()), 81920.0);
  EXPECT_EQ((LatentShape{.heads = 128, .width = 512, .rotated = 64}.flops_per_pair()), 278528.0);
}

}  // namespace
}  // namespace ridgeline::latency::measured
