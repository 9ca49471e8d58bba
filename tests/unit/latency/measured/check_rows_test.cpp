#include "latency/measured/check_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "latency/measured/kernel_tables.hpp"

namespace ridgeline::latency::measured {
namespace {

const KnownPeaks kPeaks{.gpu = "g", .bf16 = 100.0, .fp8 = 200.0, .eight_bit = 200.0};

TEST(CheckedRows, CountTheFlopsOfARowInEveryWay) {
  const DecodeTable decode("d",
                           {.shape = {.heads = 8, .kv_heads = 2, .head_dim = 64},
                            .tensor_parallel_size = 2,
                            .dtype = "bf16",
                            .kv_dtype = "bf16"},
                           {{.batch_size = 3, .kv_len = 100, .latency_us = 1, .mfu = 1}});
  // 4 x 3 x 100 x 64 for each head: 4 of a rank, 8 of the network, 1 KV head of a rank.
  const auto rows = checked_rows(decode, kPeaks);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_THAT(rows[0].flops, testing::ElementsAre(4 * 76800.0, 8 * 76800.0, 76800.0));
  EXPECT_EQ(rows[0].flops.size(), decode_countings().size());
  EXPECT_DOUBLE_EQ(rows[0].most_tflops, 100.0);

  const PrefillTable prefill("p",
                             {.heads = 8, .kv_heads = 2, .head_dim = 64},
                             "fp8",
                             {{.seq_len = 10, .latency_us = 1, .mfu = 1}});
  // 4 x 8 x 64 x 10 x 10, dense.
  const auto prompt = checked_rows(prefill, kPeaks);
  EXPECT_THAT(prompt[0].flops, testing::ElementsAre(102400.0, 204800.0, 25600.0));
  EXPECT_EQ(prompt[0].flops.size(), prefill_countings().size());
  EXPECT_DOUBLE_EQ(prompt[0].most_tflops, 200.0);

  const GemmTable gemm("g", {{.m = 2, .k = 3, .n = 5, .latency_us = 1, .mfu = 1}});
  EXPECT_THAT(checked_rows(gemm, kPeaks)[0].flops, testing::ElementsAre(60.0));
}

}  // namespace
}  // namespace ridgeline::latency::measured
