#include "latency/measured/contradictions.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "latency/measured/check.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "support/paths.hpp"
#include "unit/latency/measured/table_files.hpp"

namespace ridgeline::latency::measured {
namespace {

using testing::HasSubstr;

/// A row's latency in us, from its FLOPs, its MFU and the TFLOP/s that the MFU is a share of.
double latency_us(double flops, double mfu, double tflops) {
  return flops / (tflops * 1e12 * mfu) * 1e6;
}

struct QuotedMfu {
  double size;
  double mfu;
};
/// MFUs of Llama-2-7B's heads on an H100 that users have met, by prompt length. Their times were
/// sound; they are shares of 148 TFLOP/s.
constexpr std::array<QuotedMfu, 5> kPrefillAbove1 = {
    {{1024, 1.266}, {4096, 4.222}, {8192, 4.814}, {16384, 4.782}, {32768, 4.706}}};
/// MFUs of FP8 GEMMs of 2048 x 6144, by m: shares of 989.5.
constexpr std::array<QuotedMfu, 3> kGemmAbove1 = {{{16, 0.023}, {1024, 1.019}, {4096, 1.146}}};

/// Tables of an H100 with those MFUs; decode attention is shares of 989.5, as it should be.
void write_above_1(const TableFolder& folder) {
  std::string prefill = "dtype,seq_len,latency_us,mfu\n";
  for (const auto& [length, mfu] : kPrefillAbove1) {
    const double flops = 2.0 * 32 * 128 * length * length;
    prefill += fmt::format("bf16,{},{:.3f},{:.3f}\n", length, latency_us(flops, mfu, 148), mfu);
  }
  folder.write("mha/prefill/h100/32-32-128.csv", prefill);
  std::string gemm = "m,k,n,latency_us,mfu\n";
  for (const auto& [m, mfu] : kGemmAbove1) {
    gemm += fmt::format(
        "{},2048,6144,{:.3f},{:.3f}\n", m, latency_us(2.0 * m * 2048 * 6144, mfu, 989.5), mfu);
  }
  folder.write("gemm/h100/data.csv", gemm);
  std::string decode = "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu\n";
  for (const double batch : {16.0, 64.0}) {
    const double us = 12.0 + batch * 4096 / 180.0;
    const double flops = 4.0 * 32 * 128 * batch * 4096;
    decode +=
        fmt::format("bf16,bf16,{},4096,{:.3f},{:.5f}\n", batch, us, flops / (us * 1e-6) / 989.5e12);
  }
  folder.write("mha/decode/h100/32-32-128-tp1.csv", decode);
}

std::vector<Finding> found(const TableCheck& check, const std::string& code) {
  std::vector<Finding> all;
  std::ranges::copy_if(check.findings, std::back_inserter(all), [&](const Finding& finding) {
    return finding.code == code;
  });
  return all;
}

const KernelCheck& kernel_of(const TableCheck& check, const std::string& name) {
  return *std::ranges::find(check.kernels, name, &KernelCheck::kernel);
}

TEST(Contradictions, MfusAbove1AreSharesOfAnotherPeak) {
  const TableFolder folder;
  write_above_1(folder);
  const auto check = check_tables(folder.path()).value();
  EXPECT_EQ(found(check, "mfu-above-1").size(), 7U);

  const auto& prefill = kernel_of(check, "prefill attention");
  EXPECT_EQ(prefill.convention.name, "causal half, query heads");
  EXPECT_NEAR(prefill.convention.peak.middle(), 148.0, 0.01);
  EXPECT_EQ(prefill.convention.data_sheets, "the dense BF16 peak of h20");
  // Twice the FLOPs at 4.814 of 296 TFLOP/s: 1,425, which no H100 does.
  const auto dense =
      std::ranges::find(prefill.other, std::string("dense, query heads"), &Convention::name);
  ASSERT_NE(dense, prefill.other.end());
  ASSERT_TRUE(dense->beating);
  EXPECT_NEAR(dense->beating->tflops, 4.814 * 296, 1.0);
  EXPECT_EQ(dense->beating->what, "length 8192");

  const auto& gemm = kernel_of(check, "gemm");
  EXPECT_EQ(gemm.convention.name, "2 m k n, FP8 kernels");
  EXPECT_NEAR(gemm.convention.peak.middle(), 989.5, 0.5);
  ASSERT_EQ(gemm.other.size(), 1U);
  EXPECT_EQ(gemm.other[0].name, "2 m k n, BF16 kernels");
  EXPECT_NEAR(gemm.other[0].beating->tflops, 1134.0, 0.1);

  const auto wrong = found(check, "wrong-peak");
  ASSERT_EQ(wrong.size(), 2U);
  EXPECT_THAT(wrong[0].message, HasSubstr("148 TFLOP/s, the dense BF16 peak of h20"));
  EXPECT_THAT(wrong[0].message, HasSubstr("length 8192"));
  EXPECT_THAT(wrong[1].message, HasSubstr("the dense BF16 peak of h100"));
  EXPECT_TRUE(std::ranges::any_of(check.findings, is_contradiction));
}

TEST(Contradictions, AreWarnedOfBeforePricing) {
  const TableFolder folder;
  write_above_1(folder);
  const auto warnings = contradictions_of(load_bench_data(folder.path(), "h100").value());
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_EQ(warnings[0].code, "W-table-contradiction");
  EXPECT_THAT(warnings[0].message, HasSubstr("148 TFLOP/s"));
  EXPECT_THAT(warnings[1].message, HasSubstr("gemm in "));
}

/// Every row of one file changed, where other files say what their MFUs are shares of.
TEST(Contradictions, NameTheRowsOfAFileThatDisagrees) {
  const auto data = test::shared_dir() / "kernels" / "blis_h100";
  if (!std::filesystem::exists(data)) {
    GTEST_SKIP() << "the measured kernel tables are not beside the checkout";
  }
  const TableFolder folder;
  std::filesystem::copy(data, folder.path(), std::filesystem::copy_options::recursive);
  const std::string name = "mha/prefill/h100/32-32-128.csv";
  std::filesystem::permissions(folder.path(name), std::filesystem::perms::owner_all);
  const auto write = [&](double time, double share) {
    std::string text = "dtype,seq_len,latency_us,mfu\n";
    const std::string read = document::read_file((data / name).string()).value();
    const auto tables = read_prefill_table(read, name, {32, 32, 128}).tables;
    for (const PrefillRow& row : tables.front().rows()) {
      text += fmt::format(
          "bf16,{},{:.3f},{:.3f}\n", row.seq_len, row.latency_us * time, row.mfu * share);
    }
    folder.write(name, text);
  };
  for (const auto& [time, share] : {std::pair(2.0, 1.0), std::pair(1.0, 989.5 / 312.0)}) {
    write(time, share);
    const auto check = check_tables(folder.path()).value();
    EXPECT_NEAR(kernel_of(check, "prefill attention").convention.peak.middle(), 989.5, 0.1);
    const auto odd = found(check, "impossible-row");
    ASSERT_EQ(odd.size(), 5U);
    for (std::size_t i = 0; i < odd.size(); ++i) {
      EXPECT_THAT(odd[i].file, HasSubstr("32-32-128.csv"));
      EXPECT_EQ(odd[i].line, static_cast<int>(i) + 2);
    }
  }
}

TEST(Contradictions, APeakThatNoDataSheetHas) {
  const TableFolder folder;
  write_above_1(folder);
  // Decode attention at half the rate that its MFUs say: shares of 494.75.
  std::string decode = "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu\n";
  for (const double batch : {16.0, 64.0}) {
    const double flops = 4.0 * 32 * 128 * batch * 4096;
    decode += fmt::format("bf16,bf16,{},4096,{:.3f},0.04\n", batch, latency_us(flops, 0.02, 989.5));
  }
  folder.write("mha/decode/h100/32-32-128-tp1.csv", decode);
  const auto wrong = found(check_tables(folder.path()).value(), "wrong-peak");
  ASSERT_EQ(wrong.size(), 3U);
  EXPECT_THAT(wrong[0].message, HasSubstr("which no data sheet here has"));
  EXPECT_THAT(wrong[0].message, HasSubstr("unless the times are wrong"));
}

TEST(Contradictions, ARowThatNoCountingAllows) {
  std::vector<Finding> findings;
  const KnownPeaks peaks{.gpu = "g", .bf16 = 100.0, .fp8 = 200.0, .eight_bit = 200.0};
  // 1e9 FLOP in 5 us: 200 TFLOP/s of a BF16 peak of 100.
  const std::vector<CheckedRow> rows = {{.file = "f",
                                         .line = 7,
                                         .what = "row",
                                         .latency_us = 5.0,
                                         .mfu = 0.5,
                                         .flops = {1e9},
                                         .most_tflops = 100.0}};
  KernelCheck kernel;
  kernel.gpu = "g";
  check_mfu({"flops"}, rows, 0.0, kernel, findings);
  judge_attention(rows, peaks, kernel, findings);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].code, "beats-peak");
  EXPECT_EQ(findings[0].line, 7);
}

TEST(Contradictions, NoneInTheMeasuredTables) {
  const auto data = test::shared_dir() / "kernels" / "blis_h100";
  if (!std::filesystem::exists(data)) {
    GTEST_SKIP() << "the measured kernel tables are not beside the checkout";
  }
  EXPECT_TRUE(contradictions_of(load_bench_data(data.string(), "h100").value()).empty());
  const auto check = check_tables(data.string()).value();
  EXPECT_FALSE(std::ranges::any_of(check.findings, is_contradiction));
}

}  // namespace
}  // namespace ridgeline::latency::measured
