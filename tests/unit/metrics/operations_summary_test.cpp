#include "metrics/operations_summary.hpp"

#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace ridgeline::metrics {
namespace {

FaultSummary crash(double at_s, std::optional<double> over_s) {
  return {.kind = "crash", .instance = 1, .at_s = at_s, .over_s = over_s};
}

TEST(FaultSummary, NamesWhatItStruck) {
  EXPECT_EQ(crash(10, 50).name(), "crash of 1");
  EXPECT_EQ((FaultSummary{.kind = "link-down", .host = 2, .over_s = {}}.name()),
            "link-down of host 2");
  EXPECT_EQ((FaultSummary{.kind = "link-down", .is_of_fabric = true, .over_s = {}}.name()),
            "link-down of the fabric");
  EXPECT_EQ((FaultSummary{.kind = "gateway-restart", .over_s = {}}.name()), "gateway-restart");
}

TEST(OperationsSummary, FaultsInAStretchAreThoseOfMostOfIt) {
  const auto in = [](std::vector<FaultSummary> faults, double begin_s, double end_s) {
    return OperationsSummary{.faults = std::move(faults)}.faults_in(begin_s, end_s);
  };
  EXPECT_EQ(in({crash(10, 50)}, 20, 40), "crash of 1 from 10 s to 50 s");
  EXPECT_EQ(in({crash(10, std::nullopt)}, 20, 40), "crash of 1 from 10 s on");
  EXPECT_EQ(in({crash(10, 50)}, 50, 60), "");
  EXPECT_EQ(in({crash(10, 50)}, 0, 9), "");
  EXPECT_EQ(in({crash(10, 10)}, 0, 60), "");  // It struck an instance that was down.
  EXPECT_EQ(in({}, 0, 60), "");
  EXPECT_EQ(in({crash(10, 50)}, 0, 81), "");  // 40 of 81 s.
  EXPECT_EQ(in({crash(10, 50)}, 0, 79), "crash of 1 from 10 s to 50 s");
  // Together they last from 10 to 30 s and from 40 to 50 s: 28 s of the first 48 s, 30 of 62 s.
  const std::vector<FaultSummary> three = {crash(10, 25), crash(20, 30), crash(40, 50)};
  EXPECT_NE(in(three, 0, 48), "");
  EXPECT_EQ(in(three, 0, 62), "");
  EXPECT_NE(in({crash(20, std::nullopt)}, 20, 20), "");  // At an instant.
  EXPECT_EQ(in({crash(1, 20), crash(1, 2), crash(3, 4), crash(5, 6), crash(7, 8)}, 0, 30),
            "crash of 1 from 1 s to 20 s, crash of 1 from 1 s to 2 s, crash of 1 from 3 s to 4 s "
            "and 2 more");
}

}  // namespace
}  // namespace ridgeline::metrics
