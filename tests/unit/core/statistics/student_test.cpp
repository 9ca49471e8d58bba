#include "core/statistics/student.hpp"

#include <gtest/gtest.h>

namespace ridgeline::statistics {
namespace {

// Values of the usual tables.
TEST(Student, QuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(student_quantile(0.95, 1), 6.3138, 1e-4);
  EXPECT_NEAR(student_quantile(0.95, 2), 2.9200, 1e-4);
  EXPECT_NEAR(student_quantile(0.95, 3), 2.3534, 0.007);
  EXPECT_NEAR(student_quantile(0.95, 10), 1.8125, 1e-4);
  EXPECT_NEAR(student_quantile(0.95, 1000), 1.6464, 1e-4);
  EXPECT_NEAR(student_quantile(0.75, 3), 0.7649, 0.002);
  EXPECT_NEAR(student_quantile(0.5, 7), 0.0, 1e-12);
}

}  // namespace
}  // namespace ridgeline::statistics
