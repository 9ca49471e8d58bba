#include "latency/measured/make_tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "latency/measured/check.hpp"
#include "latency/measured/lookup.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "unit/latency/measured/table_files.hpp"

namespace ridgeline::latency::measured {
namespace {

using testing::HasSubstr;

TEST(MakeTables, CanBeReadBackAndAreFoundMadeAndNothingElse) {
  const TableFolder folder;
  const auto gpu = hardware::find_gpu("l40s").value();
  const MakeRequest request{.heads = {{40, 40, 128}, {32, 8, 128}},
                            .tensor_parallel_sizes = {1, 2, 4, 8}};
  const auto made = make_tables(gpu, request).value();
  for (const MadeFile& file : made) {
    folder.write(file.name, file.text);
  }
  const auto tables = load_bench_data(folder.path(), "l40s");
  ASSERT_TRUE(tables.has_value()) << all_errors(tables.error());
  EXPECT_EQ(tables->prefill.size(), 2U);
  EXPECT_EQ(tables->decode.size(), 8U);
  const auto check = check_tables(folder.path()).value();
  EXPECT_TRUE(check.refused.empty());
  EXPECT_EQ(check.findings.size(), made.size());
  for (const Finding& finding : check.findings) {
    EXPECT_EQ(finding.code, "made") << finding.message;
  }
  ASSERT_EQ(check.kernels.size(), 3U);
  for (const KernelCheck& kernel : check.kernels) {
    EXPECT_EQ(kernel.convention.agreeing, kernel.rows);
    EXPECT_NEAR(kernel.convention.peak.middle(), 362.0, 1e-3) << kernel.kernel;
    // The curve of prompts is fixed + slope * work with slopes that grow; what our formula has
    // growing with the length itself bends short ones the other way.
    const double slack = kernel.kernel == "prefill attention" ? 0.2 : 1e-12;
    EXPECT_NEAR(kernel.largest_change, 1.0, slack) << kernel.largest_change_at;
  }
  EXPECT_EQ(check.kernels[0].convention.name, "query heads of a rank");
  EXPECT_EQ(check.kernels[1].convention.name, "causal half, query heads");
}

TEST(MakeTables, InMemoryTheyAreTheSame) {
  const auto gpu = hardware::find_gpu("h100").value();
  const auto tables =
      made_kernel_tables(gpu, {.heads = {{28, 4, 128}}, .tensor_parallel_sizes = {2}}).value();
  const auto choice = choose_decode(tables, {28, 4, 128}, 2, LookupMode::kInterpolate).value();
  EXPECT_EQ(choice.tp_distance, 0);
  // Batch 1 to 512 by context 64 to 131,072, without a hole.
  EXPECT_EQ(choice.table->rows().size(), 10U * 12U);
  EXPECT_EQ(choice.table->rows().front().kv_len, 64);
  EXPECT_EQ(choice.table->rows().back().kv_len, 131072);
  for (const DecodeRow& row : choice.table->rows()) {
    EXPECT_GT(row.mfu, 0.0);
  }
}

TEST(MakeTables, RefusesHeadsThatDoNotDivide) {
  const auto gpu = hardware::find_gpu("h100").value();
  const auto made = make_tables(gpu, {.heads = {{28, 4, 128}}, .tensor_parallel_sizes = {8}});
  ASSERT_FALSE(made.has_value());
  EXPECT_THAT(all_errors(made.error()), HasSubstr("--tp: 8 does not divide the 28 query heads"));
}

}  // namespace
}  // namespace ridgeline::latency::measured
