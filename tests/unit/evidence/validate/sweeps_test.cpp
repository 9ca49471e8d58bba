#include "evidence/validate/sweeps.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {
namespace {

/// A closed loop, and its median gap between tokens.
Evidence point(std::int64_t in_flight, double ms) {
  Evidence evidence;
  evidence.model = "a";
  evidence.gpu = "H100";
  evidence.workload = "chat";
  evidence.input = {.law = TokenCounts::Law::kFixed, .mean = 300.0};
  evidence.output = {.law = TokenCounts::Law::kHistogram, .mean = 7000.0 + ms};
  evidence.measured.at(Figure::kItl, Level::kP50) = ms;
  evidence.stages.resize(1);
  evidence.stages.front().kind = StageLoad::Kind::kClosed;
  evidence.stages.front().concurrency = in_flight;
  return evidence;
}

std::vector<bool> contradicted(std::vector<Evidence> records) {
  check_sweeps(records);
  std::vector<bool> found;
  for (const Evidence& record : records) {
    found.push_back(!record.contradicted.empty());
  }
  return found;
}

bool any(const std::vector<Evidence>& records) {
  return testing::Value(contradicted(records), testing::Contains(true));
}

TEST(Sweeps, WhoseTimePerTokenHardlyDependsOnTheConcurrencyAreContradicted) {
  std::vector<Evidence> records = {point(8, 40.0), point(32, 37.0), point(128, 41.9)};
  check_sweeps(records);
  for (const Evidence& record : records) {
    EXPECT_EQ(record.contradicted,
              "the time per token does not grow with the concurrency (40.0 ms with 8 requests in "
              "flight, 41.9 with 128): the sweep was not run at these");
    EXPECT_THAT(record.doubts, testing::ElementsAre(record.contradicted));
  }
}

TEST(Sweeps, OfATwentiethAndMoreAreSound) {
  EXPECT_FALSE(any({point(8, 40.0), point(128, 42.0)}));
  EXPECT_FALSE(any({point(8, 40.0), point(63, 40.0)}));  // Less than eight times as many.
  EXPECT_TRUE(any({point(8, 40.0), point(64, 40.0)}));
  EXPECT_FALSE(any({}));
  EXPECT_FALSE(any({point(8, 40.0)}));
}

/// As long as the weights are read; but what such a record belongs to may be contradicted.
TEST(Sweeps, FewRequestsInFlightDoNotCount) {
  EXPECT_FALSE(any({point(1, 40.0), point(7, 40.0), point(8, 41.0), point(32, 41.5)}));
  EXPECT_THAT(contradicted({point(1, 40.0), point(8, 41.0), point(64, 41.5)}), testing::Each(true));
}

TEST(Sweeps, OfRepeatsTheFurthestApartCount) {
  EXPECT_FALSE(any({point(8, 42.0), point(8, 40.0), point(64, 42.0), point(64, 41.0)}));
}

TEST(Sweeps, TheMeanTimePerTokenComesBeforeTheMedianGap) {
  std::vector<Evidence> records = {point(8, 40.0), point(64, 80.0)};
  for (Evidence& record : records) {
    record.measured.at(Figure::kTpot, Level::kMean) = 50.0;
  }
  EXPECT_TRUE(any(records));
  records[0].measured.at(Figure::kTpot, Level::kMean).reset();  // Two sweeps now.
  EXPECT_FALSE(any(records));
}

TEST(Sweeps, DifferInTheirConcurrencyAlone) {
  const auto sound = [](auto change) {
    std::vector<Evidence> records = {point(8, 40.0), point(64, 40.0)};
    change(records[1]);
    return !any(records);
  };
  EXPECT_FALSE(sound([](Evidence&) {}));
  EXPECT_TRUE(sound([](Evidence& other) { other.model = "b"; }));
  EXPECT_TRUE(sound([](Evidence& other) { other.gpu = "B200"; }));
  EXPECT_TRUE(sound([](Evidence& other) { other.tensor_parallel = 2; }));
  EXPECT_TRUE(sound([](Evidence& other) { other.expert_parallel = 2; }));
  EXPECT_TRUE(sound([](Evidence& other) { other.engine = "sglang"; }));
  EXPECT_TRUE(sound([](Evidence& other) { other.stated_version = "0.11.0"; }));
  EXPECT_TRUE(sound([](Evidence& other) { other.workload = "code"; }));
  EXPECT_TRUE(sound([](Evidence& other) { other.input.mean = 100.0; }));
  EXPECT_TRUE(sound([](Evidence& other) { other.output.law = TokenCounts::Law::kFixed; }));
}

TEST(Sweeps, AreOfClosedLoopsThatCanBeRead) {
  const auto sound = [](auto change) {
    std::vector<Evidence> records = {point(8, 40.0), point(64, 40.0)};
    change(records[1]);
    return !any(records);
  };
  EXPECT_TRUE(sound([](Evidence& other) { other.problem = "no length"; }));
  EXPECT_TRUE(sound([](Evidence& other) { other.fleet.emplace(); }));
  EXPECT_TRUE(sound([](Evidence& other) { other.stages.front().kind = StageLoad::Kind::kRandom; }));
  EXPECT_TRUE(sound([](Evidence& other) { other.stages.clear(); }));
  EXPECT_TRUE(sound([](Evidence& other) { other.measured = {}; }));
}

}  // namespace
}  // namespace ridgeline::evidence::validate
