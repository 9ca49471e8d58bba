#include "cluster/request_story.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"

namespace ridgeline::cluster {
namespace {

core::SimTime story_at(std::int64_t count) {
  return core::SimTime::at(core::Duration::milliseconds(count));
}
core::Duration story_time(std::int64_t count) {
  return core::Duration::milliseconds(count);
}

class HeardStories final : public StorySink {
 public:
  void on_story(const RequestStory& story) override { stories.push_back(story); }
  std::vector<RequestStory> stories;
};

/// Record of request 3, sent at 1 ms.
domain::RequestRecord story_record(std::uint32_t instance,
                                   std::int64_t scheduled,
                                   std::int64_t first_token,
                                   domain::Outcome outcome = domain::Outcome::kFinished) {
  domain::RequestRecord record;
  record.id = core::RequestId(3);
  record.instance = core::InstanceId(instance);
  record.arrival = story_at(1);
  record.first_scheduled = story_at(scheduled);
  record.first_token = first_token < 0 ? core::SimTime::never() : story_at(first_token);
  record.output_tokens = core::Tokens(first_token < 0 ? 0 : 5);
  record.outcome = outcome;
  return record;
}

TEST(Stories, CountAFirstAttemptThatFailedToTheGateway) {
  HeardStories heard;
  Stories stories(heard);
  const core::RequestId id(3);
  stories.on_sent(id, core::InstanceId(0), Share::kWhole, story_at(2), story_at(3));
  stories.on_leg_end(story_record(0, 4, -1, domain::Outcome::kFailed), story_at(9));
  stories.on_sent(id, core::InstanceId(1), Share::kWhole, story_at(20), story_at(21));
  const domain::RequestRecord last = story_record(1, 25, 32);
  stories.on_leg_end(last, story_at(40));
  stories.on_end(last, story_at(40));
  ASSERT_EQ(heard.stories.size(), 1);
  const RequestStory& story = heard.stories.front();
  ASSERT_EQ(story.attempts.size(), 2);
  EXPECT_EQ(story.attempts[0].why, domain::Outcome::kFailed);
  EXPECT_EQ(story.attempts[0].end, story_at(9));
  EXPECT_EQ(story.attempts[1].sent, story_at(20));
  EXPECT_EQ(story.attempts[1].tokens, core::Tokens(5));
  EXPECT_EQ(story.ttft,
            (TtftParts{.gateway = story_time(20),
                       .queue = story_time(4),
                       .prefill = story_time(7),
                       .transfer = {}}));
}

TEST(Stories, TakeTheTransferOutOfTwoLegs) {
  HeardStories heard;
  Stories stories(heard);
  const core::RequestId id(3);
  stories.on_sent(id, core::InstanceId(0), Share::kPrefill, story_at(2), story_at(2));
  stories.on_leg_end(story_record(0, 5, 12), story_at(12));
  stories.on_sent(id, core::InstanceId(1), Share::kDecode, story_at(14), story_at(14));
  stories.on_loaded(id, core::InstanceId(1), story_at(19));
  domain::RequestRecord last = story_record(1, 5, 22);
  stories.on_leg_end(last, story_at(50));
  stories.on_end(last, story_at(50));
  EXPECT_EQ(heard.stories.front().ttft,
            (TtftParts{.gateway = story_time(1),
                       .queue = story_time(3),
                       .prefill = story_time(10),
                       .transfer = story_time(7)}));
}

TEST(Stories, HaveNoPartsWithoutAFirstToken) {
  HeardStories heard;
  Stories stories(heard);
  stories.on_sent(core::RequestId(3), core::InstanceId(0), Share::kWhole, story_at(2), story_at(3));
  stories.on_end(story_record(0, 4, -1, domain::Outcome::kAborted), story_at(6));
  EXPECT_FALSE(heard.stories.front().ttft);
  EXPECT_EQ(heard.stories.front().attempts.front().why, domain::Outcome::kAborted);
  EXPECT_EQ(heard.stories.front().attempts.front().end, story_at(6));
}

}  // namespace
}  // namespace ridgeline::cluster
