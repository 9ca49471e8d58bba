// Whatever peak and way of counting a table's MFUs were made with, the check finds both again.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "latency/measured/check.hpp"
#include "latency/measured/check_kernel.hpp"
#include "latency/measured/check_rows.hpp"
#include "latency/measured/data_sheets.hpp"
#include "latency/measured/kernel_tables.hpp"

namespace ridgeline::latency::measured {
namespace {

const KnownPeaks kH100{.gpu = "h100", .bf16 = 989.5, .fp8 = 1979.0, .eight_bit = 1979.0};
constexpr double kSecondsPerUs = 1e-6;
constexpr double kTeraFlops = 1e12;

double drawn_peak() {
  return 0.1 * static_cast<double>(*rc::gen::inRange(500, 30000));
}

/// Writes the MFU column as its author would have, to nine decimals.
void write_mfus(std::vector<CheckedRow>& rows, std::size_t counting, double peak) {
  for (CheckedRow& row : rows) {
    const double mfu = row.flops[counting] / (row.latency_us * kSecondsPerUs) / (peak * kTeraFlops);
    row.mfu = std::round(mfu * 1e9) / 1e9;
  }
}

KernelCheck found_in(const std::vector<CheckedRow>& rows,
                     const std::vector<std::string>& countings) {
  KernelCheck kernel;
  kernel.gpu = kH100.gpu;
  std::vector<Finding> findings;
  check_mfu(countings, rows, kH100.bf16, kernel, findings);
  return kernel;
}

void expect_found(const KernelCheck& kernel, const std::string& counting, double peak) {
  RC_ASSERT(kernel.convention.agreeing == kernel.rows);
  RC_ASSERT(kernel.convention.name == counting);
  RC_ASSERT(std::abs(kernel.convention.peak.middle() / peak - 1.0) < 1e-3);
}

RC_GTEST_PROP(CheckMfu, FindsPeakAndCountingOfDecodeTables, ()) {
  const std::size_t counting = *rc::gen::inRange<std::size_t>(0, decode_countings().size());
  const double peak = drawn_peak();
  const double us_per_token = 0.001 * static_cast<double>(*rc::gen::inRange(2, 20));
  std::vector<DecodeTable> tables;
  for (const HeadShape& shape : {HeadShape{32, 8, 128}, HeadShape{28, 4, 128}}) {
    for (const std::int64_t ranks : {1, 2}) {
      std::vector<DecodeRow> rows;
      for (const std::int64_t batch : {1, 16, 64}) {
        const double us = 15.0 + us_per_token * static_cast<double>(batch * 8192 / ranks);
        rows.push_back({.batch_size = batch, .kv_len = 8192, .latency_us = us});
      }
      tables.emplace_back(
          "d" + to_string(shape) + std::to_string(ranks),
          DecodeTable::Key{
              .shape = shape, .tensor_parallel_size = ranks, .dtype = "bf16", .kv_dtype = "bf16"},
          rows);
    }
  }
  auto rows = all_checked_rows(tables, kH100);
  write_mfus(rows, counting, peak);
  expect_found(found_in(rows, decode_countings()), decode_countings()[counting], peak);
}

/// Prompts whose longest reaches this share of the GPU's BF16 peak by the causal half.
std::vector<CheckedRow> prompts(double best_share) {
  std::vector<PrefillTable> tables;
  for (const HeadShape& shape : {HeadShape{32, 8, 128}, HeadShape{28, 4, 128}}) {
    std::vector<PrefillRow> rows;
    for (const std::int64_t length : {1024, 4096, 16384}) {
      const auto tokens = static_cast<double>(length);
      const double flops =
          2.0 * static_cast<double>(shape.heads * shape.head_dim) * tokens * tokens;
      const double share = length == 16384 ? best_share : best_share / 2.0;
      rows.push_back({.seq_len = length,
                      .latency_us = flops / (share * kH100.bf16 * kTeraFlops) / kSecondsPerUs});
    }
    tables.emplace_back("p" + to_string(shape), shape, "bf16", rows);
  }
  return all_checked_rows(tables, kH100);
}

RC_GTEST_PROP(CheckMfu, FindsPeakAndCountingOfFastPrompts, ()) {
  // Beyond half of the peak dense FLOPs are impossible, whatever the MFUs are shares of.
  auto rows = prompts(0.01 * static_cast<double>(*rc::gen::inRange(52, 95)));
  const std::size_t counting = *rc::gen::element<std::size_t>(0, 2);
  const double peak = drawn_peak();
  write_mfus(rows, counting, peak);
  const KernelCheck kernel = found_in(rows, prefill_countings());
  expect_found(kernel, prefill_countings()[counting], peak);
  for (const Convention& other : kernel.other) {
    RC_ASSERT(other.name != "dense, query heads" || counting != 0 || other.beating.has_value());
  }
}

RC_GTEST_PROP(CheckMfu, FindsDenseFlopsWhereTheyArePossible, ()) {
  // Dense and causal FLOPs explain the same rows; only one has the GPU's own peak. Shares are not
  // round: of one digit they would allow other peaks.
  auto rows = prompts(0.00137 + 0.01 * static_cast<double>(*rc::gen::inRange(10, 49)));
  write_mfus(rows, 1, kH100.bf16);
  expect_found(found_in(rows, prefill_countings()), prefill_countings()[1], kH100.bf16);
}

RC_GTEST_PROP(CheckMfu, FindsThePeakOfGemms, ()) {
  const double peak = drawn_peak();
  const double share = 0.01 * static_cast<double>(*rc::gen::inRange(10, 90));
  std::vector<GemmRow> gemm;
  for (const std::int64_t m : {64, 512, 4096}) {
    const double flops = 2.0 * static_cast<double>(m * 4096 * 6144);
    gemm.push_back({.m = m,
                    .k = 4096,
                    .n = 6144,
                    .latency_us = 5.0 + flops / (share * kH100.fp8 * kTeraFlops) / kSecondsPerUs});
  }
  auto rows = checked_rows(GemmTable("g", gemm), kH100);
  write_mfus(rows, 0, peak);
  expect_found(found_in(rows, gemm_countings()), gemm_countings()[0], peak);
}

}  // namespace
}  // namespace ridgeline::latency::measured
