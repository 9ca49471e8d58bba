#include "evidence/calibrate/observations.hpp"

#include <cstddef>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evidence/calibrate/calibrate.hpp"
#include "evidence/calibrate/parameters.hpp"
#include "evidence/validate/evidence.hpp"
#include "scenario/scenario.hpp"
#include "unit/evidence/calibrate/measured_loops.hpp"

namespace ridgeline::evidence::calibrate {
namespace {

using ::testing::ElementsAre;

KernelTimes slower_by(Kernels which, double factor) {
  KernelTimes times = kAsModelled;
  times[static_cast<std::size_t>(which)] = factor;
  return times;
}

TEST(Observations, AreTheMeansOfRecordsThatCanBePredicted) {
  auto evidence = measured_loops({1, 4});
  evidence.push_back(evidence.front());
  evidence.back().model = "no-such-network";
  Observations observations(evidence, {});
  ASSERT_EQ(observations.find({}), "");
  EXPECT_THAT(observations.records(), ElementsAre(0U, 1U));
  EXPECT_THAT(observations.prompts(), ElementsAre(128.0, 128.0));
  EXPECT_GT(observations.in_flight()[1], 3.0 * observations.in_flight()[0]);
  EXPECT_EQ(observations.size(), 2U);
  // 4 ms later at the client, of 40 ms that were measured.
  Constants constants = constants_of({"delivery_time"});
  const auto before = observations.residuals(overrides_of(constants));
  constants.front().value += 4000.0;
  const auto after = observations.residuals(overrides_of(constants));
  EXPECT_NEAR(after[0] - before[0], 0.1, 1e-6);
}

TEST(Observations, KernelsCanBeSlower) {
  // A prompt so long that no host is slower than its GPU.
  auto evidence = measured_loops({1});
  evidence.front().input = {.mean = 8192.0, .lowest = 8192.0, .highest = 8192.0};
  evidence.front().output = {.mean = 64.0, .lowest = 64.0, .highest = 64.0};
  evidence.front().measured.at(validate::Figure::kTtft, validate::Level::kMean) = 400.0;
  evidence.front().measured.at(validate::Figure::kTpot, validate::Level::kMean) = 8.0;
  const std::vector<scenario::Override> own = {
      {.path = "set", .text = "hardware.mem_bandwidth=3TB/s"}};
  Observations observations(evidence, {.overrides = own});
  ASSERT_EQ(observations.find({}), "");
  ASSERT_EQ(observations.size(), 2U);  // TTFT and TPOT.
  EXPECT_EQ(observations.server()[0], "h100");
  const auto plain = observations.residuals({});
  const auto memory = observations.residuals({}, slower_by(Kernels::kMemory, 1.2));
  EXPECT_GT(memory[1], plain[1] + 0.1);
  const auto compute = observations.residuals({}, slower_by(Kernels::kCompute, 1.2));
  EXPECT_GT(compute[0], plain[0] + 0.05);
  EXPECT_LT(compute[1], plain[1] + 0.05);
  // One GPU has no link.
  EXPECT_EQ(observations.residuals({}, slower_by(Kernels::kLink, 2.0)), plain);
}

TEST(Observations, LeaveFleetsOut) {
  auto evidence = measured_loops({1});
  evidence.front().fleet.emplace();
  Observations observations(evidence, {});
  EXPECT_THAT(observations.find({}), ::testing::HasSubstr("is of a fleet"));
}

TEST(Observations, NothingToCompareIsAnErrorWithTheReason) {
  auto evidence = measured_loops({1});
  evidence.front().model = "no-such-network";
  Observations observations(evidence, {});
  EXPECT_THAT(observations.find({}), ::testing::HasSubstr("no-such-network"));
}

TEST(FitErrors, AreAbsoluteAndInPercent) {
  const FitErrors errors = errors_of({-0.1, 0.02, 0.03});
  EXPECT_DOUBLE_EQ(errors.median, 3.0);
  EXPECT_DOUBLE_EQ(errors.mean, 5.0);
}

}  // namespace
}  // namespace ridgeline::evidence::calibrate
