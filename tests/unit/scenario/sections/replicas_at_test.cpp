#include "scenario/sections/replicas_at.hpp"

#include <cstdint>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"

namespace ridgeline::scenario {
namespace {

document::Node list_of(const std::string& text) {
  return *document::parse_yaml(text, "test.yaml");
}

core::SimTime in_seconds(std::int64_t count) {
  return core::SimTime::at(core::Duration::seconds(count));
}

TEST(ReplicasAt, AreTimesAndNumbersInOrder) {
  core::Errors errors;
  EXPECT_THAT(read_replicas_at("here", list_of("[[0s, 4], '600s=8']"), errors),
              testing::ElementsAre(ReplicasAt(in_seconds(0), 4), ReplicasAt(in_seconds(600), 8)));
  EXPECT_TRUE(errors.empty());
  for (const char* const wrong : {"[[9s, 4], [5s, 8]]", "[[9s, x]]", "[soon=3]", "{}"}) {
    errors.clear();
    EXPECT_LE(read_replicas_at("here", list_of(wrong), errors).size(), 1) << wrong;
    ASSERT_EQ(errors.size(), 1) << wrong;
    EXPECT_EQ(errors.front().field, "here");
  }
}

/// The run begins on a Monday at midnight.
TEST(ReplicasAt, OfACrontabAreInstantsOfTheRun) {
  core::Errors errors;
  const auto times = read_cron("here", list_of("['30 1 * * 1=8']"), std::nullopt, errors);
  ASSERT_FALSE(times.empty());
  EXPECT_EQ(times.front(), ReplicasAt(in_seconds(5400), 8));
  const auto later = read_cron("here", list_of("['30 1 * * 1=8']"), "2026-01-05T01:00", errors);
  EXPECT_EQ(later.front(), ReplicasAt(in_seconds(1800), 8));
  EXPECT_TRUE(errors.empty());
  EXPECT_TRUE(read_cron("here", list_of("['30 1 * *=8']"), std::nullopt, errors).empty());
  EXPECT_TRUE(read_cron("here", list_of("['30 1 * * 1=8']"), "Monday", errors).empty());
  ASSERT_EQ(errors.size(), 2);
  EXPECT_TRUE(read_cron("here", list_of("{a: 1}"), std::nullopt, errors).empty());
  ASSERT_EQ(errors.size(), 3);
  EXPECT_EQ(errors[0].field, "here");
  EXPECT_EQ(errors[1].field, kCronStartPath);
}

}  // namespace
}  // namespace ridgeline::scenario
