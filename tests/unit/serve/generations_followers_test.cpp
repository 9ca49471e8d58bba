#include <gtest/gtest.h>

#include "serve/generation.hpp"

namespace ridgeline::serve {
namespace {

TEST(StreamOf, HasWhatEventsFollowFromAndNothingOfTheEngine) {
  Generation source;
  source.serial = 7;
  source.head.id = "resp_1";
  source.is_streamed_in_background = true;
  source.kept_messages.emplace();
  source.cached_tokens = 16;
  source.fault.emplace();
  source.choices.emplace_back();
  source.choices[0].length = 5;
  source.choices[0].released = 3;
  const Generation stream = stream_of(source);
  EXPECT_EQ(stream.head.id, "resp_1");
  EXPECT_TRUE(stream.is_follower);
  EXPECT_TRUE(stream.is_streamed);
  EXPECT_FALSE(stream.is_streamed_in_background);
  EXPECT_FALSE(stream.kept_messages.has_value());
  EXPECT_FALSE(stream.fault.has_value());
  EXPECT_EQ(stream.serial, 0U);
  EXPECT_EQ(stream.cached_tokens, 16);
  ASSERT_EQ(stream.choices.size(), 1U);
  EXPECT_EQ(stream.choices[0].released, 3);
  EXPECT_EQ(stream.choices[0].sent, 0);
}

}  // namespace
}  // namespace ridgeline::serve
