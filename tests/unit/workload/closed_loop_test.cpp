#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "unit/workload/sample.hpp"
#include "workload/limits.hpp"
#include "workload/options.hpp"
#include "workload/source.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

SyntheticOptions loop_of(std::int64_t users,
                         core::Duration think = {},
                         ThinkTime::Kind kind = ThinkTime::Kind::kConstant) {
  SyntheticOptions options;
  options.arrivals = ClosedLoop{users, {kind, think}};
  options.num_prompts = 1000;
  options.input_len = UniformLength{core::Tokens(1), core::Tokens(1'000'000)};
  return options;
}

struct Served {
  std::vector<domain::Request> requests;
  std::size_t most_in_flight = 0;
  core::SimTime last_completion;
};

/// Plays an engine that answers each request after `service(id)`, in the order of time. A
/// completion that falls on an arrival comes first.
template <class Service>
Served serve(Source& source, Service service) {
  struct Completion {
    core::SimTime time;
    core::RequestId id;
    bool operator>(const Completion& other) const { return time > other.time; }
  };
  std::priority_queue<Completion, std::vector<Completion>, std::greater<>> in_flight;
  Served served;
  for (;;) {
    const auto arrival = source.next_arrival();
    if (arrival && (in_flight.empty() || *arrival < in_flight.top().time)) {
      served.requests.push_back(source.pop());
      in_flight.push({*arrival + service(served.requests.back().id), served.requests.back().id});
      served.most_in_flight = std::max(served.most_in_flight, in_flight.size());
    } else if (!in_flight.empty()) {
      const Completion done = in_flight.top();
      in_flight.pop();
      source.on_completion(done.id, done.time);
      served.last_completion = done.time;
    } else {
      return served;
    }
  }
}

/// Service times that put requests out of order: 1 to 1000 ms.
core::Duration mixed_service(core::RequestId id) {
  core::RngStream rng(99, 0, "service", id.value());
  return core::Duration::milliseconds(1 + static_cast<std::int64_t>(rng.below(1000)));
}

TEST(ClosedLoop, AllUsersSendAtTimeZeroAndThenWait) {
  auto source = make_synthetic(loop_of(4));
  EXPECT_TRUE((*source)->is_closed_loop());
  EXPECT_EQ((*source)->size(), 1000);
  for (std::uint32_t i = 0; i < 4; ++i) {
    ASSERT_EQ((*source)->next_arrival(), core::SimTime());
    EXPECT_EQ((*source)->pop().id.value(), i);
  }
  EXPECT_EQ((*source)->next_arrival(), std::nullopt);
}

TEST(ClosedLoop, ACompletionBringsTheNextRequestAfterTheThinkTime) {
  auto source = make_synthetic(loop_of(2, core::Duration::seconds(3)));
  (*source)->pop();
  (*source)->pop();
  (*source)->on_completion(core::RequestId(1), core::SimTime::at(core::Duration::seconds(5)));
  (*source)->on_completion(core::RequestId(0), core::SimTime::at(core::Duration::seconds(7)));
  EXPECT_EQ((*source)->next_arrival()->count(), 8 * core::Duration::kTicksPerSecond);
  const domain::Request third = (*source)->pop();
  EXPECT_EQ(third.id.value(), 2U);
  EXPECT_EQ(third.arrival.count(), 8 * core::Duration::kTicksPerSecond);
  EXPECT_EQ((*source)->pop().arrival.count(), 10 * core::Duration::kTicksPerSecond);
  EXPECT_EQ((*source)->next_arrival(), std::nullopt);
}

TEST(ClosedLoop, KeepsExactlyItsUsersInFlight) {
  auto source = make_synthetic(loop_of(7));
  std::size_t in_flight = 0;
  std::vector<core::RequestId> ids;
  core::RngStream rng(1, 0, "choice");
  core::SimTime now;
  std::size_t popped = 0;
  while (popped < 1000) {
    while ((*source)->next_arrival()) {
      EXPECT_EQ(*(*source)->next_arrival(), now);
      ids.push_back((*source)->pop().id);
      ++popped;
      ++in_flight;
    }
    // Every user waits, but for the last requests, when there is nothing more to send.
    ASSERT_EQ(in_flight, 7U);
    now += core::Duration::milliseconds(1);
    const std::size_t chosen = rng.below(ids.size());
    (*source)->on_completion(ids[chosen], now);
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(chosen));
    --in_flight;
  }
  EXPECT_EQ((*source)->next_arrival(), std::nullopt);
}

TEST(ClosedLoop, ThroughputIsUsersPerCycle) {
  // Service 0.8 s and think time 0.2 s: each of five users sends once a second, 200 times.
  auto source = make_synthetic(loop_of(5, core::Duration::milliseconds(200)));
  const Served served =
      serve(**source, [](core::RequestId) { return core::Duration::milliseconds(800); });
  EXPECT_THAT(served.requests, SizeIs(1000));
  EXPECT_EQ(served.most_in_flight, 5U);
  EXPECT_EQ(served.last_completion.count(), 199'800 * core::Duration::milliseconds(1).count());
}

TEST(ClosedLoop, ArrivalsComeInOrder) {
  auto source =
      make_synthetic(loop_of(20, core::Duration::milliseconds(300), ThinkTime::Kind::kExponential));
  const Served served = serve(**source, mixed_service);
  ASSERT_THAT(served.requests, SizeIs(1000));
  for (std::size_t i = 1; i < served.requests.size(); ++i) {
    EXPECT_LE(served.requests[i - 1].arrival, served.requests[i].arrival);
    EXPECT_EQ(served.requests[i].id.value(), i);
  }
  EXPECT_LE(served.most_in_flight, 20U);
}

TEST(ClosedLoop, ExponentialThinkTimesHaveTheirMean) {
  SyntheticOptions options =
      loop_of(1, core::Duration::milliseconds(500), ThinkTime::Kind::kExponential);
  options.num_prompts = 50'000;
  auto source = make_synthetic(options);
  const Served served = serve(**source, [](core::RequestId) { return core::Duration::seconds(1); });
  std::vector<double> thinks;
  for (std::size_t i = 1; i < served.requests.size(); ++i) {
    thinks.push_back((served.requests[i].arrival - served.requests[i - 1].arrival).to_seconds() -
                     1.0);
  }
  const auto n = static_cast<double>(thinks.size());
  const Moments moments = moments_of(thinks);
  EXPECT_NEAR(moments.mean, 0.5, kStandardErrors * 0.5 / std::sqrt(n));
  // An exponential sample's variance has standard error sigma^2 sqrt(8 / n).
  EXPECT_NEAR(moments.variance, 0.25, kStandardErrors * 0.25 * std::sqrt(8.0 / n));
}

TEST(ClosedLoop, RequestsHoldTheSameWhateverTheEngineDoes) {
  auto slow = make_synthetic(loop_of(3));
  auto fast = make_synthetic(loop_of(9));
  const Served one = serve(**slow, [](core::RequestId) { return core::Duration::seconds(1); });
  const Served other = serve(**fast, mixed_service);
  ASSERT_EQ(one.requests.size(), other.requests.size());
  for (std::size_t i = 0; i < one.requests.size(); ++i) {
    EXPECT_EQ(one.requests[i].prompt_tokens, other.requests[i].prompt_tokens);
  }
}

TEST(ClosedLoop, FewerRequestsThanUsers) {
  SyntheticOptions options = loop_of(100);
  options.num_prompts = 3;
  auto source = make_synthetic(options);
  EXPECT_THAT(serve(**source, mixed_service).requests, SizeIs(3));
}

TEST(ClosedLoop, EndsBeforeItsDuration) {
  SyntheticOptions options = loop_of(2);
  options.num_prompts.reset();
  options.duration = core::Duration::seconds(10);
  auto source = make_synthetic(options);
  EXPECT_EQ((*source)->size(), std::nullopt);
  const Served served = serve(**source, [](core::RequestId) { return core::Duration::seconds(1); });
  // Both users send at 0 to 9 s; the answers at 10 s bring nothing more.
  EXPECT_THAT(served.requests, SizeIs(20));
  EXPECT_THAT((*source)->errors(), IsEmpty());
}

TEST(ClosedLoop, SaysThatItLeftTheRangeOfTime) {
  auto source = make_synthetic(loop_of(1, core::Duration::seconds(5)));
  (*source)->pop();
  (*source)->on_completion(core::RequestId(0),
                           core::SimTime::at(kLatestArrival - core::Duration::seconds(4)));
  EXPECT_EQ((*source)->next_arrival(), std::nullopt);
  ASSERT_THAT((*source)->errors(), SizeIs(1));
}

TEST(ClosedLoopDeathTest, ACompletionOfNothingIsABug) {
  auto source = make_synthetic(loop_of(1));
  EXPECT_DEATH((*source)->on_completion(core::RequestId(0), core::SimTime()), "in flight");
}

TEST(ClosedLoopDeathTest, PopWhileEveryUserWaitsIsABug) {
  auto source = make_synthetic(loop_of(1));
  (*source)->pop();
  EXPECT_DEATH((*source)->pop(), "every user waits");
}

}  // namespace
}  // namespace ridgeline::workload
