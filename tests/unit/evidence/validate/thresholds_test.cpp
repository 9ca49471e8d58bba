#include "evidence/validate/thresholds.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evidence/validate/evidence.hpp"
#include "evidence/validate/validate.hpp"
#include "support/small_validation.hpp"

namespace ridgeline::evidence::validate {
namespace {

using ::testing::HasSubstr;

TEST(Thresholds, NameAStatisticAFigureAndALevel) {
  const auto read = read_thresholds("e2e=5,p95:ttft.p99=20.5").value();
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0].over, "median");
  EXPECT_EQ(read[0].limit, 5.0);
  EXPECT_EQ(read[1].over, "p95");
  EXPECT_EQ(read[1].figure, Figure::kTtft);
  EXPECT_EQ(read[1].level, Level::kP99);
  EXPECT_TRUE(read_thresholds("").value().empty());
  for (const char* wrong :
       {"e2e", "e2e=", "e2e=-1", "e2e=5x", "p42:e2e=5", "e2e.p42=5", "speed=1"}) {
    EXPECT_FALSE(read_thresholds(wrong).has_value()) << wrong;
  }
}

TEST(Thresholds, AreMissedAboveThemAndWhereNothingWasScored) {
  const Validation validation = test::small_validation();  // 10 % too high.
  const auto missed_of = [&](const char* text) {
    return missed(read_thresholds(text).value(), validation);
  };
  EXPECT_TRUE(missed_of("e2e=10").empty());
  ASSERT_EQ(missed_of("e2e=9").size(), 1U);
  EXPECT_EQ(missed_of("e2e=9").front().message,
            "the median error of e2e (mean) is 10.00 %, expected up to 9 %");
  EXPECT_THAT(missed_of("ttft=9").front().message, HasSubstr("nothing was scored"));
}

TEST(Thresholds, FilesWithoutARecordOrAScoreAreProblems) {
  EXPECT_FALSE(nothing_readable({}));
  std::vector<Evidence> records(2);
  records[0].problem = "is no record";
  EXPECT_FALSE(nothing_readable(records));
  records[1].problem = "is none either";
  EXPECT_THAT(nothing_readable(records).value().message,
              HasSubstr("none of 2 records can be read: is no record"));
  EXPECT_FALSE(nothing_scored(test::small_validation()));
  Validation unscored;
  unscored.records.resize(1);
  EXPECT_THAT(nothing_scored(unscored).value().message, HasSubstr("none of 1 records"));
  unscored.records.front().reason = "no such network";
  EXPECT_THAT(nothing_scored(unscored).value().message, HasSubstr("no such network"));
}

}  // namespace
}  // namespace ridgeline::evidence::validate
