#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload/source.hpp"
#include "workload/traces/formats/blis_client.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> codes_of(const BlisTraits& traits) {
  std::vector<std::string> codes;
  for (const auto& warning : blis_warnings(traits)) {
    EXPECT_FALSE(warning.message.empty());
    codes.push_back(warning.code);
  }
  return codes;
}

TEST(BlisTraits, AreReportedOneByOne) {
  EXPECT_THAT(codes_of({}), IsEmpty());
  EXPECT_THAT(codes_of({.diurnal = true}), ElementsAre("W-blis-diurnal"));
  EXPECT_THAT(codes_of({.accumulates = true, .sessions = true, .counts_sessions = true}),
              ElementsAre("W-blis-context", "W-blis-sessions", "W-blis-client-clock"));
  EXPECT_THAT(codes_of({.network = true, .timeouts = true, .windows = true, .has_seed = true}),
              ElementsAre("W-blis-windows", "W-blis-seed", "W-blis-network", "W-blis-timeout"));
}

TEST(BlisTraits, FractionsThatMissOneAreReported) {
  EXPECT_THAT(codes_of({.fractions = 0.999}), IsEmpty());
  EXPECT_THAT(codes_of({.fractions = 1.6}), ElementsAre("W-fractions"));
}

// Targets hold for every run, compared with inference-sim or not: the warning needs no --compat.
TEST(BlisTraits, TargetsAreReportedOfEveryRun) {
  const auto codes = codes_of({.slo_targets = true});
  ASSERT_THAT(codes, ElementsAre("W-slo-targets"));
  EXPECT_FALSE(codes[0].starts_with(kBlisWarning));
}

}  // namespace
}  // namespace ridgeline::workload
