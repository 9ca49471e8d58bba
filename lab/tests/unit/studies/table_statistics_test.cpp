#include "lab/studies/table_statistics.hpp"

#include <gtest/gtest.h>

#include "latency/measured/kernel_tables.hpp"

namespace ridgeline::studies {
namespace {

TEST(TableStatistics, QuantileIsTheNearestRank) {
  EXPECT_DOUBLE_EQ(quantile({3.0, 1.0, 2.0}, 0.5), 2.0);
  EXPECT_DOUBLE_EQ(quantile({4.0, 3.0, 1.0, 2.0}, 0.5), 2.0);
  EXPECT_DOUBLE_EQ(quantile({4.0, 3.0, 1.0, 2.0}, 1.0), 4.0);
  EXPECT_DOUBLE_EQ(quantile({}, 0.5), 0.0);
}

TEST(TableStatistics, CountFlopsAndBytesOfOneRank) {
  EXPECT_DOUBLE_EQ(gemm_flops({.m = 2, .k = 3, .n = 5}), 60.0);
  // 4 x 8 heads x 64 x 10 x 10 / 2.
  EXPECT_DOUBLE_EQ(prefill_flops({.heads = 8, .kv_heads = 2, .head_dim = 64}, {.seq_len = 10}),
                   102400.0);
  const latency::measured::DecodeTable table("t",
                                             {.shape = {.heads = 8, .kv_heads = 2, .head_dim = 64},
                                              .tensor_parallel_size = 2,
                                              .dtype = "bf16",
                                              .kv_dtype = "bf16"},
                                             {{.batch_size = 3, .kv_len = 100}});
  // A rank has 4 query heads and 1 KV head: 4 x 4 x 64 x 300, and 2 x 1 x 64 x 2 bytes x 300.
  EXPECT_DOUBLE_EQ(decode_flops(table, table.rows()[0]), 307200.0);
  EXPECT_DOUBLE_EQ(decode_kv_bytes(table, table.rows()[0]), 76800.0);
}

}  // namespace
}  // namespace ridgeline::studies
