#include "verbs/clients/sent_workload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::verbs {
namespace {

using ::testing::HasSubstr;

scenario::WorkloadSection eight_a_second() {
  scenario::WorkloadSection stated;
  stated.request_rate = 8.0;
  stated.num_prompts = 10;
  return stated;
}

TEST(SentWorkload, IsTheSameForTheSameSeed) {
  const auto one = open_sent_workload(eight_a_second(), 1, 10);
  const auto two = open_sent_workload(eight_a_second(), 1, 10);
  const auto other = open_sent_workload(eight_a_second(), 2, 10);
  ASSERT_TRUE(one && two && other);
  EXPECT_EQ(one->digest, two->digest);
  EXPECT_NE(one->digest, other->digest);
  EXPECT_NE(one->source, nullptr);
}

TEST(SentWorkload, HasAnEndAndALimit) {
  scenario::WorkloadSection endless = eight_a_second();
  endless.num_prompts.reset();
  EXPECT_THAT(core::to_string(open_sent_workload(endless, 1, 10).error()[0]),
              HasSubstr("no end is stated"));
  EXPECT_THAT(core::to_string(open_sent_workload(eight_a_second(), 1, 7).error()[0]),
              HasSubstr("8 requests/s, expected at most 7"));
}

}  // namespace
}  // namespace ridgeline::verbs
