#include "report/fleet_rows.hpp"

#include <cstddef>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {
namespace {

metrics::Distribution all_values(double value) {
  metrics::Distribution same;
  same.values.fill(value);
  return same;
}

TEST(FleetRowsOfATable, ShowCountsLatenciesInTheRunsUnitsAndShares) {
  metrics::Summary summary;
  summary.client.by_metric[static_cast<std::size_t>(metrics::Metric::kTtft)] = all_values(2500.0);
  summary.client.by_metric[static_cast<std::size_t>(metrics::Metric::kTpot)] = all_values(20.0);
  TextStyle style;
  style.ascii = true;
  const FleetRows rows(summary, style);
  EXPECT_EQ(rows.header("by pool", {"requests"}, {"busy"}),
            "by pool        requests  TTFT p50     p99 s  TPOT p50    p99 ms      busy\n");
  EXPECT_EQ(rows.row("0", {1234}, all_values(1500.0), {}, {0.5}),
            "0                 1 234      1.50      1.50         -         -    50.0 %\n");
}

TEST(FleetRowsOfATable, LeaveOutWhatAScreenDoesNotTake) {
  const auto row = [](std::size_t place) { return fmt::format("{}\n", place); };
  EXPECT_EQ(FleetRows::all(2, row), "0\n1\n");
  const std::string many = FleetRows::all(18, row);
  EXPECT_TRUE(many.ends_with("15\nand 2 more: --format json\n")) << many;
}

}  // namespace
}  // namespace ridgeline::report
