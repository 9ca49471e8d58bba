#include "latency/measured/operator_tables.hpp"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "latency/measured/check_operators.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "support/paths.hpp"
#include "unit/latency/measured/table_files.hpp"

namespace ridgeline::latency::measured {
namespace {

using testing::HasSubstr;

constexpr const char* kAttentionHeader =
    "batch_size,isl,num_heads,num_key_value_heads,head_dim,kv_cache_dtype,step,window_size,"
    "latency\n";

void write_operators(const TableFolder& folder, const std::string& version) {
  const std::string start = "l40s_";
  folder.write(start + "gemm_vllm_" + version + "_gemm_perf.csv",
               "gemm_dtype,m,n,k,latency\nbfloat16,1,20,10,0.5\nbfloat16,1,20,10,0.6\n"
               "fp8,1,20,10,0.25\nint8_wo,1,20,10,0.1\n");
  folder.write(start + "attention_vllm_" + version + "_context_attention_perf.csv",
               std::string(kAttentionHeader) +
                   "1,16,8,2,128,bfloat16,0,0,0.01\n2,16,8,2,128,bfloat16,0,0,0.02\n"
                   "1,16,8,2,128,bfloat16,0,128,0.03\n1,16,8,2,128,fp8,0,0,0.04\n");
  folder.write(start + "attention_vllm_" + version + "_generation_attention_perf.csv",
               std::string(kAttentionHeader) + "4,100,8,2,128,bfloat16,28,0,0.02\n");
  folder.write("l40s.yaml", "not a table");
}

TEST(OperatorTables, MillisecondsOfTheNewestVersion) {
  const TableFolder folder;
  write_operators(folder, "0.9.0");
  write_operators(folder, "0.24.0");
  ASSERT_TRUE(holds_operator_tables(folder.path()));
  const auto measured = load_measured_kernels(folder.path(), hardware::find_gpu("l40s").value());
  ASSERT_TRUE(measured.has_value()) << all_errors(measured.error());
  ASSERT_EQ(measured->gemms.size(), 2U);
  EXPECT_THAT(measured->gemms[0].source, HasSubstr("0.24.0"));
  EXPECT_FALSE(measured->gemms[0].is_8bit);
  // The first row of a shape that is there twice.
  ASSERT_EQ(measured->gemms[0].points.size(), 1U);
  EXPECT_DOUBLE_EQ(measured->gemms[0].points[0].us, 500.0);
  EXPECT_EQ(measured->gemms[0].points[0].k, 10);
  EXPECT_TRUE(measured->gemms[1].is_8bit);
  // One prompt, two prompts, and an FP8 cache; not the one with a window.
  ASSERT_EQ(measured->prefills.size(), 3U);
  EXPECT_EQ(measured->prefills[2].prompts, 2);
  EXPECT_TRUE(measured->prefills[1].kv_8bit);
  ASSERT_EQ(measured->decodes.size(), 1U);
  EXPECT_EQ(measured->decodes[0].points[0].kv_len, 128);
  EXPECT_FALSE(measured->decodes[0].host_timed);
}

TEST(OperatorTables, WhatIsMissingOrWrongIsNamed) {
  const TableFolder folder;
  EXPECT_FALSE(holds_operator_tables(folder.path()));
  EXPECT_FALSE(holds_operator_tables(folder.path("nowhere")));
  write_operators(folder, "0.24.0");
  const auto other = load_operator_tables(folder.path(), hardware::find_gpu("h100").value());
  ASSERT_FALSE(other.has_value());
  EXPECT_THAT(all_errors(other.error()),
              HasSubstr("h100_sxm_*_vllm_*_gemm_perf.csv: no such file"));
  folder.write("l40s_gemm_vllm_0.24.0_gemm_perf.csv",
               "gemm_dtype,m,n,k,latency\nbfloat16,1,20,10,-0.5\n");
  const auto wrong = load_operator_tables(folder.path(), hardware::find_gpu("l40s").value());
  ASSERT_FALSE(wrong.has_value());
  EXPECT_THAT(all_errors(wrong.error()),
              HasSubstr("gemm_perf.csv:2:1: latency: found \"-0.5\", expected milliseconds above "
                        "0, up to 10000"));
}

TEST(CheckOperators, ReportsEveryKindAndRefusedFiles) {
  const TableFolder folder;
  write_operators(folder, "0.24.0");
  folder.write("l40s_gemm_vllm_0.9.0_gemm_perf.csv", "gemm_dtype,m\n");
  const auto check = check_operator_tables(folder.path()).value();
  EXPECT_EQ(check.kernels.size(), 5U);
  EXPECT_THAT(all_errors(check.refused), HasSubstr("0.9.0_gemm_perf.csv:1:1: n: the column"));
}

TEST(OperatorGolden, PrefillAttentionIsPredictedByItsNeighbours) {
  const auto data = test::shared_dir() / "kernels" / "aiconfigurator";
  const auto path = data / "h100_sxm_attention_vllm_0.24.0_context_attention_perf.csv.gz";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "the measured kernel tables are not beside the checkout";
  }
  const TableFolder folder;
  std::filesystem::copy_file(path, folder.path() + "/" + path.filename().string());
  const auto check = check_operator_tables(folder.path()).value();
  ASSERT_EQ(check.kernels.size(), 2U);
  EXPECT_LE(check.kernels[0].median_error.value(), 0.06);
  EXPECT_LE(check.kernels[1].median_error.value(), 0.06);
}

}  // namespace
}  // namespace ridgeline::latency::measured
