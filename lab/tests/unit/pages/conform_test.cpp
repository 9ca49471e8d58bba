#include "lab/pages/conform.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lab/conform/conform.hpp"

namespace ridgeline::report {
namespace {

TEST(ConformReport, CountsAndShowsTheFirstDifference) {
  std::vector<conform::ConformResult> results(2);
  results[0].scenario = "a";
  results[1].scenario = "b";
  results[1].difference = conform::Difference{.where = "record 12", .recorded = "3", .ours = "4"};
  EXPECT_EQ(num_different(results), 1U);
  EXPECT_THAT(conform_table(results), ::testing::EndsWith("1 equal, 1 differ\n"));
  EXPECT_THAT(conform_table(results), ::testing::HasSubstr("recorded  3\n         ours      4\n"));
  EXPECT_THAT(conform_json(results), ::testing::HasSubstr("\"where\": \"record 12\""));
  EXPECT_THAT(conform_json(results), ::testing::HasSubstr("\"different\": 1"));
}

}  // namespace
}  // namespace ridgeline::report
