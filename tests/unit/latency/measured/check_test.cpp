#include "latency/measured/check.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "latency/measured/check_kernel.hpp"
#include "support/paths.hpp"
#include "unit/latency/measured/table_files.hpp"

namespace ridgeline::latency::measured {
namespace {

using testing::HasSubstr;

/// MFU to three decimals of `tflops`, as benchmarks write it.
std::string three_decimals(double flops, double us, double tflops) {
  return fmt::format("{:.3f}", flops / (us * 1e-6) / (tflops * 1e12));
}

/// FP8 GEMMs at 1979 and attention at 989 TFLOP/s, all exact but for rounding.
void write_h100(const TableFolder& folder) {
  std::string gemm = "m,k,n,latency_us,mfu\n";
  for (const int m : {64, 256, 1024, 4096}) {
    const double us = 10.0 + m / 5.0;
    gemm +=
        fmt::format("{},4096,6144,{},{}\n", m, us, three_decimals(2.0 * m * 4096 * 6144, us, 1979));
  }
  folder.write("gemm/h100/data.csv", gemm);
  std::string prefill = "dtype,seq_len,latency_us,mfu\n";
  for (const double length : {1024.0, 4096.0, 16384.0}) {
    const double us = 20.0 + length * length / 1e5;
    prefill += fmt::format(
        "bf16,{},{},{}\n", length, us, three_decimals(2.0 * 32 * 128 * length * length, us, 989));
  }
  folder.write("mha/prefill/h100/32-8-128.csv", prefill);
  for (const int ranks : {1, 2}) {
    std::string decode =
        "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu\nbf16,bf16,1,1024,40,0.0\n";
    for (const int batch : {1, 64}) {
      for (const int kv_len : {4096, 32768}) {
        if (batch == 64 && kv_len == 32768 && ranks == 2) {
          continue;
        }
        const double us = 15.0 + batch * kv_len / 700.0 / ranks;
        decode += fmt::format("bf16,bf16,{},{},{:.3f},{}\n",
                              batch,
                              kv_len,
                              us,
                              three_decimals(4.0 * 32 / ranks * 128 * batch * kv_len, us, 989));
      }
    }
    folder.write(fmt::format("mha/decode/h100/32-8-128-tp{}.csv", ranks), decode);
  }
}

const KernelCheck& kernel(const TableCheck& check, const std::string& name) {
  return *std::ranges::find(check.kernels, name, &KernelCheck::kernel);
}

std::vector<Finding> of_code(const TableCheck& check, const std::string& code) {
  std::vector<Finding> found;
  std::ranges::copy_if(check.findings, std::back_inserter(found), [&](const Finding& finding) {
    return finding.code == code;
  });
  return found;
}

TEST(CheckTables, FindsPeaksConventionsAndOddRows) {
  const TableFolder folder;
  write_h100(folder);
  const auto check = check_tables(folder.path()).value();
  EXPECT_NEAR(kernel(check, "gemm").convention.peak.middle(), 1979.0, 3.0);
  const auto& prefill = kernel(check, "prefill attention");
  EXPECT_EQ(prefill.convention.name, "causal half, query heads");
  EXPECT_NEAR(prefill.convention.peak.middle(), 989.0, 2.0);
  // Dense FLOPs explain as much, with twice the peak; but the longest prompt would beat the GPU.
  const auto dense =
      std::ranges::find(prefill.other, std::string("dense, query heads"), &Convention::name);
  ASSERT_NE(dense, prefill.other.end());
  EXPECT_EQ(dense->agreeing, 3U);
  ASSERT_TRUE(dense->beating);
  EXPECT_EQ(dense->beating->what, "length 16384");
  const auto& decode = kernel(check, "decode attention");
  EXPECT_EQ(decode.convention.name, "query heads of a rank");
  EXPECT_EQ(decode.convention.agreeing, decode.rows);
  const auto whole =
      std::ranges::find(decode.other, std::string("query heads of the network"), &Convention::name);
  ASSERT_NE(whole, decode.other.end());
  EXPECT_LT(whole->agreeing, decode.rows);
  EXPECT_TRUE(of_code(check, "impossible-row").empty());
  ASSERT_EQ(of_code(check, "fp8-as-bf16").size(), 1U);
  EXPECT_EQ(of_code(check, "rounded-to-zero").size(), 2U);
  ASSERT_EQ(of_code(check, "warm-up").size(), 2U);
  EXPECT_EQ(of_code(check, "warm-up").front().line, 2);
  const auto holes = of_code(check, "hole");
  ASSERT_EQ(holes.size(), 2U);
  EXPECT_THAT(holes[1].message,
              HasSubstr("2 of 6 cells (batch, kv) are missing: (64, 1024) (64, 32768)"));
  ASSERT_EQ(check.served.size(), 1U);
  EXPECT_THAT(check.served[0].networks, testing::Contains("llama-3.1-8b"));
}

TEST(CheckTables, NamesARowWhoseLatencyWasChanged) {
  const TableFolder folder;
  write_h100(folder);
  const std::string path = "mha/decode/h100/32-8-128-tp1.csv";
  std::string text = document::read_file(folder.path(path)).value();
  // Batch 64, kv 4096: 15 + 374.491 us, here 30 % longer.
  const auto at = text.find("389.491");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 7, "506.339");
  folder.write(path, text);
  const auto found = of_code(check_tables(folder.path()).value(), "impossible-row");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].file, HasSubstr("32-8-128-tp1.csv"));
  EXPECT_EQ(found[0].line, 5);
  EXPECT_THAT(found[0].message, HasSubstr("batch 64, kv 4096: 506.339 us"));
}

TEST(CheckTables, AnMfuCutOffIsNotAnImpossibleRow) {
  // A peak of 1 TFLOP/s; 0.5999 written as 0.599: 0.0009 off, less than its last decimal.
  KernelCheck check;
  std::vector<Finding> findings;
  std::vector<CheckedRow> rows;
  const auto add = [&](double mfu, double written) {
    constexpr double kMicroseconds = 1000.125;
    rows.push_back({.file = "f",
                    .line = 1,
                    .what = "row",
                    .latency_us = kMicroseconds,
                    .mfu = written,
                    .flops = {1e6 * mfu * kMicroseconds}});
  };
  for (const double mfu : {0.7, 0.8, 0.9}) {
    add(mfu, mfu);
  }
  add(0.5999, 0.599);
  add(0.51, 0.5);
  check_mfu({"flops"}, rows, 0.0, check, findings);
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_EQ(findings[0].code, "last-decimal");
  EXPECT_EQ(findings[1].code, "impossible-row");
}

TEST(CheckTables, ReadsTheRestWhereAFileIsRefused) {
  const TableFolder folder;
  write_h100(folder);
  folder.write("mha/decode/h100/16-2-128.csv", "bf16,bf16,1,1024,25.4,0.009\n");
  const auto check = check_tables(folder.path()).value();
  EXPECT_THAT(all_errors(check.refused), HasSubstr("16-2-128.csv:1:1: the header is missing"));
  EXPECT_EQ(check.kernels.size(), 3U);
}

TEST(CheckTables, RefusesWhatHoldsNoTables) {
  const TableFolder folder;
  EXPECT_THAT(all_errors(check_tables(folder.path()).error()), HasSubstr("has no kernel tables"));
  EXPECT_THAT(all_errors(check_tables(folder.path("x")).error()), HasSubstr("no such folder"));
  folder.write("x", "");
  EXPECT_THAT(all_errors(check_tables(folder.path("x")).error()), HasSubstr("is not a folder"));
}

TEST(CheckGolden, FindsWhatTheMeasuredTablesAreMadeOf) {
  const auto data = test::shared_dir() / "kernels" / "blis_h100";
  if (!std::filesystem::exists(data)) {
    GTEST_SKIP() << "the measured kernel tables are not beside the checkout";
  }
  const auto check = check_tables(data.string()).value();
  const auto& gemm = kernel(check, "gemm");
  EXPECT_NEAR(gemm.convention.peak.middle(), 1979.0, 0.1);
  EXPECT_EQ(gemm.convention.agreeing, 112U);
  const auto& prefill = kernel(check, "prefill attention");
  EXPECT_NEAR(prefill.convention.peak.middle(), 989.5, 0.1);
  EXPECT_EQ(prefill.convention.name, "causal half, query heads");
  EXPECT_EQ(prefill.convention.agreeing, 30U);
  const auto& decode = kernel(check, "decode attention");
  EXPECT_NEAR(decode.convention.peak.middle(), 989.5, 0.2);
  EXPECT_EQ(decode.convention.agreeing, 755U);
  EXPECT_EQ(of_code(check, "rounded-to-zero").size(), 17U);
  EXPECT_EQ(of_code(check, "fp8-as-bf16").size(), 1U);
  EXPECT_TRUE(of_code(check, "impossible-row").empty());
  // Interpolation error where a row is left out.
  EXPECT_LE(decode.median_error.value(), 0.03);
  EXPECT_LE(gemm.median_error.value(), 0.05);
}

TEST(CheckGolden, FindsThePeaksOfOtherGpus) {
  const auto data = test::shared_dir() / "kernels" / "infersim";
  if (!std::filesystem::exists(data)) {
    GTEST_SKIP() << "the measured kernel tables are not beside the checkout";
  }
  const auto check = check_tables(data.string()).value();
  std::vector<double> peaks;
  for (const KernelCheck& kernel_check : check.kernels) {
    if (kernel_check.kernel == "gemm") {
      peaks.push_back(kernel_check.convention.peak.middle());
    }
  }
  // H20's and H800's dense FP8 peaks.
  EXPECT_THAT(peaks,
              testing::ElementsAre(testing::DoubleNear(296, 0.1), testing::DoubleNear(1979, 0.1)));
}

}  // namespace
}  // namespace ridgeline::latency::measured
