#include "latency/measured/lookup_question.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/lookup.hpp"
#include "unit/latency/measured/table_files.hpp"

namespace ridgeline::latency::measured {
namespace {

TEST(LookupQuestion, AGemmIsAnsweredAsTheLookupDoes) {
  const TableFolder folder;
  folder.write_sound();
  const KernelTables tables = load_bench_data(folder.path(), "g").value();
  const LookupQuestion question{.kind = "gemm", .heads = {1, 1, 1}, .numbers = {4, 90, 200}};
  const auto answer = answer_lookup(tables, question);
  ASSERT_TRUE(answer);
  const GemmTarget column = find_gemm_column(tables.gemm, 90, 200, LookupMode::kInterpolate);
  EXPECT_EQ(answer->lookup.mfu, look_up_gemm(tables.gemm, column, 4, {}).mfu);
  EXPECT_EQ(answer->target, "m 4, k 90, n 200");
  EXPECT_EQ(answer->missing, "");
}

TEST(LookupQuestion, OtherHeadsSayWhichTableIsMissing) {
  const TableFolder folder;
  folder.write_sound();
  const KernelTables tables = load_bench_data(folder.path(), "g").value();
  const LookupQuestion question{.kind = "prefill", .heads = {77, 7, 64}, .numbers = {100}};
  const auto answer = answer_lookup(tables, question);
  ASSERT_TRUE(answer);
  EXPECT_GT(answer->heads_distance, 0.0);
  EXPECT_THAT(answer->missing, testing::EndsWith("/77-7-64.csv"));
}

}  // namespace
}  // namespace ridgeline::latency::measured
