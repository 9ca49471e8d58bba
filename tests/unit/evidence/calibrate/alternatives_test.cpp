#include "evidence/calibrate/alternatives.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "evidence/calibrate/calibrate.hpp"
#include "evidence/validate/evidence.hpp"
#include "unit/evidence/calibrate/measured_loops.hpp"

namespace ridgeline::evidence::calibrate {
namespace {

// test_measured.py has those that are found.
TEST(Alternatives, AreLookedForWhereOneServerLeavesMuch) {
  const auto evidence = measured_loops({1});
  const CalibrateOptions options;
  Calibration calibration;
  calibration.server.names = {"llama-3.1-8b on h100"};
  calibration.after.median = kLeftInDoubt;
  EXPECT_TRUE(find_alternatives(evidence, options, calibration).empty());
  calibration.after.median = 12.0;
  calibration.server.names.emplace_back("llama-3.1-8b on h200");
  EXPECT_TRUE(find_alternatives(evidence, options, calibration).empty());
}

TEST(Alternatives, WhatIsLeftIsTheLargerOfTwoMedians) {
  Calibration calibration;
  calibration.after.median = 3.0;
  EXPECT_EQ(calibration.left(), 3.0);
  calibration.left_of_tpot = 7.0;
  EXPECT_EQ(calibration.left(), 7.0);
}

}  // namespace
}  // namespace ridgeline::evidence::calibrate
