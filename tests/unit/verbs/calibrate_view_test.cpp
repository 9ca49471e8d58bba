#include "verbs/calibrate_view.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/node_json.hpp"
#include "evidence/calibrate/calibrate.hpp"
#include "evidence/calibrate/calibration_tree.hpp"
#include "report/table/table.hpp"

namespace ridgeline::verbs {
namespace {

evidence::calibrate::Calibration one_constant(double before, double value) {
  evidence::calibrate::Calibration calibration;
  evidence::calibrate::FittedParameter fitted;
  fitted.parameter.name = "host_step_time";
  fitted.parameter.highest = 5000.0;
  fitted.before = before;
  fitted.value = value;
  calibration.fitted.push_back(fitted);
  calibration.after = {.median = 20.0, .mean = 21.0};
  calibration.left_of_tpot = 20.0;
  calibration.records = 1;
  return calibration;
}

TEST(CalibrationReport, TableAndJsonHoldTheConstant) {
  const auto calibration = one_constant(100.0, 150.0);
  const auto tree = evidence::calibrate::calibration_tree(calibration, {});
  EXPECT_THAT(calibration_sheet(tree).render(report::Face::kTerminal, {}),
              ::testing::ContainsRegex("host_step_time +100.00 +150.00"));
  EXPECT_THAT(document::json_text(tree), ::testing::HasSubstr("\"value\": 150"));
}

TEST(CalibrationReport, WarnsOfAHostThatTakesTooLong) {
  EXPECT_TRUE(calibration_warnings(one_constant(100.0, 299.0)).empty());
  const core::Warnings warnings = calibration_warnings(one_constant(100.0, 301.0));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings.front().code, "W-host-step");
}

TEST(CalibrationReport, MismatchNamesOtherFlags) {
  const auto calibration = one_constant(100.0, 150.0);
  EXPECT_EQ(calibration_mismatch(calibration, {{.flag = "--gpu gh200", .left = 0.6}}).hint,
            "--gpu gh200 leaves 0.6 %");
  EXPECT_THAT(calibration_mismatch(calibration, {}).message,
              ::testing::HasSubstr("the error is 20.0 % of the time per output token"));
  EXPECT_EQ(calibration_doubt(calibration, {}).code, "W-kernels-in-doubt");
}

}  // namespace
}  // namespace ridgeline::verbs
