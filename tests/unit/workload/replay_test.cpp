#include "workload/replay.hpp"

#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/time.hpp"
#include "domain/request.hpp"
#include "unit/workload/items.hpp"
#include "workload/item_stream.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Serves each request in `service` seconds and gives the times of sending.
std::vector<double> served(std::unique_ptr<ItemStream> stream, double service) {
  const auto source = make_replay(std::move(stream));
  using Completion = std::pair<core::SimTime, core::RequestId>;
  std::priority_queue<Completion, std::vector<Completion>, std::greater<>> running;
  std::vector<double> sent;
  for (;;) {
    const auto next = source->next_arrival();
    if (!running.empty() && (!next || running.top().first <= *next)) {
      const auto [time, id] = running.top();
      running.pop();
      source->on_completion(id, time);
      continue;
    }
    if (!next) {
      return sent;
    }
    const domain::Request request = source->pop();
    EXPECT_EQ(request.arrival, *next);
    EXPECT_EQ(request.id.value(), sent.size());
    sent.push_back(request.arrival.to_seconds());
    running.push({request.arrival + *core::Duration::from_seconds(service), request.id});
  }
}

TEST(Replay, AFlatStreamComesAtItsTimes) {
  EXPECT_THAT(served(stream_of({item_at(1), item_at(1), item_at(3)}), 10), ElementsAre(1, 1, 3));
  EXPECT_FALSE(make_replay(stream_of({item_at(1)}))->is_closed_loop());
}

TEST(Replay, ATurnWaitsForTheAnswerAndItsDelay) {
  // Sent at 1, answered at 3; 0.5 later the next, answered at 5.5.
  auto session = stream_of({item_at(1), item_after({0}, 0.5), item_after({1}, 0.25)});
  EXPECT_TRUE(session->waits_for_answers());
  EXPECT_THAT(served(std::move(session), 2), ElementsAre(1, 3.5, 5.75));
}

TEST(Replay, AJoinWaitsForTheLastOfItsParents) {
  // 0 fans out to 1 (at 1 + 2 + 1) and 2 (at 1 + 2 + 5), answered at 6 and 10; 3 comes at 10.
  EXPECT_THAT(
      served(stream_of({item_at(1), item_after({0}, 1), item_after({0}, 5), item_after({1, 2}, 0)}),
             2),
      ElementsAre(1, 4, 8, 10));
}

TEST(Replay, GroupsInterleave) {
  EXPECT_THAT(served(stream_of({item_at(0), item_after({0}, 1), item_at(1), item_at(10)}), 2),
              ElementsAre(0, 1, 3, 10));
}

TEST(Replay, ALimitOfConcurrencyHoldsGroupsBack) {
  // Two at once, 3 s each, 1 s of thought: the places are free again at 4, 4, 8, 8.
  const Stage two{.max_concurrency = 2, .think = core::Duration::seconds(1)};
  EXPECT_THAT(
      served(stream_of({item_at(0), item_at(0), item_at(0), item_at(0), item_at(0)}, {two}), 3),
      ElementsAre(0, 0, 4, 4, 8));
}

TEST(Replay, AStageBeginsWhenTheOneBeforeHasEnded) {
  Item second = item_at(1);
  second.stage = 1;
  const Stage after{.after_previous = true, .pause = core::Duration::seconds(5)};
  // The first stage ends at 3 + 2; 5 s later plus the item's own second.
  EXPECT_THAT(served(stream_of({item_at(0), item_at(3), second}, {Stage{}, after}), 2),
              ElementsAre(0, 3, 11));
}

TEST(Replay, APromptNamesTheAnswerThatItHolds) {
  Item second = item_after({0}, 0, 30);
  second.prompt = {{.content = 7, .length = core::Tokens(10)},
                   {.content = output_of(0), .length = core::Tokens(5)}};
  const auto source = make_replay(stream_of({item_at(0), item_at(0), second}));
  source->pop();
  source->pop();
  source->on_completion(core::RequestId(1), core::SimTime::at(core::Duration::seconds(1)));
  const domain::Request request = source->pop();
  ASSERT_EQ(request.prompt.size(), 2U);
  EXPECT_EQ(request.prompt[0].content, 7U);
  EXPECT_EQ(request.prompt[1].content, domain::output_content(core::RequestId(1)));
}

TEST(Replay, TimesBeyondTheRangeAreAProblem) {
  const auto source = make_replay(stream_of({item_at(9'000'000), item_after({0}, 300'000)}));
  source->pop();
  source->on_completion(core::RequestId(0), core::SimTime::at(core::Duration::seconds(9'000'001)));
  EXPECT_EQ(source->next_arrival(), std::nullopt);
  ASSERT_EQ(source->errors().size(), 1U);
  EXPECT_EQ(source->errors()[0].field, "workload");
}

TEST(Flattened, TakesNoTimeForAnswers) {
  const auto flat = flattened(stream_of({item_at(1), item_after({0}, 0.5), item_at(1.2)}));
  EXPECT_TRUE(flat->is_flat());
  EXPECT_THAT(arrivals_of(*flat), ElementsAre(1, 1.2, 1.5));
}

}  // namespace
}  // namespace ridgeline::workload
