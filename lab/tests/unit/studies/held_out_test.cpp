#include "lab/studies/held_out.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/studies/study.hpp"
#include "latency/measured/kernel_tables.hpp"

namespace ridgeline::studies {
namespace {

/// GEMMs whose MFU grows by a tenth with each doubling of their rows, under a peak of 1 TFLOP/s.
latency::measured::KernelTables logarithmic_tables() {
  std::vector<latency::measured::GemmRow> rows;
  double mfu = 0.1;
  for (const std::int64_t m : {8, 16, 32, 64, 128}) {
    const double flops = 2.0 * static_cast<double>(m) * 1024.0 * 1024.0;
    rows.push_back({.m = m, .k = 1024, .n = 1024, .latency_us = flops / (1e6 * mfu), .mfu = mfu});
    mfu += 0.1;
  }
  latency::measured::KernelTables tables;
  tables.gemm = latency::measured::GemmTable("gemm", std::move(rows));
  return tables;
}

TEST(HeldOut, TheLookupOfTheRightShapeForetellsTheRow) {
  const StudyTable table = held_out_table(logarithmic_tables());
  std::vector<double> medians;
  for (const document::Node& row : table.rows) {
    if (row.find("kernel")->as_string() == "gemm") {
      EXPECT_EQ(row.find("rows")->as_integer(), 3);
      medians.push_back(row.find("median_abs_pct")->as_real());
    }
  }
  // Rows 16, 32 and 64 hold 0.2, 0.3 and 0.4. The row below: 0.1, 0.2, 0.3, so that times are 100,
  // 50 and 33 % off. On a line between 8 and 32, 16 has 0.1667: 20 % off; then 12.5 and 9.1 %.
  ASSERT_EQ(medians.size(), 3U);
  EXPECT_NEAR(medians[0], 50.0, 1e-9);
  EXPECT_NEAR(medians[1], 12.5, 1e-9);
  EXPECT_NEAR(medians[2], 0.0, 1e-9);
}

}  // namespace
}  // namespace ridgeline::studies
