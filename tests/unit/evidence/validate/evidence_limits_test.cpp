#include "evidence/validate/evidence_limits.hpp"

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {
namespace {

using ::testing::HasSubstr;

/// One request that was measured.
Evidence sound_record() {
  Evidence evidence;
  StageLoad stage;
  stage.kind = StageLoad::Kind::kRecorded;
  stage.requests = 1;
  stage.rows = {{.arrival_s = 0.0, .input_tokens = 10, .output_tokens = 5}};
  evidence.stages = {stage};
  evidence.measured.at(Figure::kTtft, Level::kMean) = 20.0;
  return evidence;
}

template <class Change>
std::string problem_after(Change change) {
  Evidence evidence = sound_record();
  change(evidence);
  check_limits(evidence);
  return evidence.problem;
}

TEST(EvidenceLimits, NamesWhatIsOutOfRange) {
  EXPECT_EQ(problem_after([](Evidence&) {}), "");
  EXPECT_THAT(problem_after([](Evidence& e) { e.measured.at(Figure::kTpot, Level::kP99) = 1e308; }),
              HasSubstr("measured.tpot.p99: 1e+308 is out of range"));
  // An error against it would be infinite.
  EXPECT_THAT(
      problem_after([](Evidence& e) { e.measured.at(Figure::kE2e, Level::kMean) = 1e-308; }),
      HasSubstr("measured.e2e.mean"));
  EXPECT_THAT(problem_after([](Evidence& e) { e.stages[0].rows[0].arrival_s = 9.3e6; }),
              HasSubstr("arrival: 9.3e+06 is out of range"));
  EXPECT_THAT(problem_after([](Evidence& e) { e.stages[0].duration_s = 1e300; }),
              HasSubstr("workload: seconds"));
  EXPECT_THAT(problem_after([](Evidence& e) { e.stages[0].requests = 4'000'000; }),
              HasSubstr("expected 0 to 200000"));
  EXPECT_THAT(problem_after([](Evidence& e) { e.server.num_gpu_blocks = 1'000'000'000; }),
              HasSubstr("server.num_gpu_blocks"));
}

TEST(EvidenceLimits, TakesOutFiguresThatNoReportCanHold) {
  Evidence evidence = sound_record();
  evidence.problem = "first";
  evidence.measured.at(Figure::kE2e, Level::kMean) = std::numeric_limits<double>::infinity();
  check_limits(evidence);
  EXPECT_FALSE(evidence.measured.at(Figure::kE2e, Level::kMean).has_value());
  EXPECT_EQ(evidence.measured.at(Figure::kTtft, Level::kMean), 20.0);
}

TEST(EvidenceLimits, LeavesAnEarlierProblem) {
  EXPECT_EQ(problem_after([](Evidence& e) {
              e.problem = "first";
              e.tensor_parallel = -1;
            }),
            "first");
}

}  // namespace
}  // namespace ridgeline::evidence::validate
