#include "workload/concurrency_limit.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/options.hpp"
#include "workload/source.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::ElementsAre;

core::SimTime limit_at(double seconds) {
  return core::SimTime::at(*core::Duration::from_seconds(seconds));
}

/// One request a second from 0 on, at most `limit` in flight.
std::unique_ptr<Source> one_each_second(std::int64_t limit,
                                        std::optional<core::Duration> duration = {}) {
  SyntheticOptions options;
  options.arrivals = ConstantArrivals{core::Rate(1.0)};
  options.max_concurrency = limit;
  options.num_prompts = 6;
  options.duration = duration;
  return *make_synthetic(options);
}

double sent_at(Source& source) {
  return source.pop().arrival.since_start().to_seconds();
}

TEST(ConcurrencyLimit, HoldsRequestsBackUntilAPlaceIsFree) {
  const auto source = one_each_second(2);
  EXPECT_TRUE(source->is_closed_loop());
  EXPECT_EQ(sent_at(*source), 0.0);
  EXPECT_EQ(sent_at(*source), 1.0);
  // The third is due at 2 s, and both places are taken.
  EXPECT_EQ(source->next_arrival(), std::nullopt);
  source->on_completion(core::RequestId(1), limit_at(4.5));
  EXPECT_EQ(sent_at(*source), 4.5);
  EXPECT_EQ(source->next_arrival(), std::nullopt);
  // Two places at 5 s and 9 s for requests due at 3 s and 4 s: each takes one.
  source->on_completion(core::RequestId(0), limit_at(5));
  source->on_completion(core::RequestId(2), limit_at(9));
  EXPECT_EQ(sent_at(*source), 5.0);
  EXPECT_EQ(sent_at(*source), 9.0);
  // A place that has been free for long: the request comes when it is due.
  source->on_completion(core::RequestId(3), limit_at(9.5));
  EXPECT_EQ(sent_at(*source), 9.5);  // Due at 5 s.
  EXPECT_EQ(source->next_arrival(), std::nullopt);
}

TEST(ConcurrencyLimit, ManyPlacesChangeNothing) {
  const auto source = one_each_second(100);
  std::vector<double> times;
  while (source->next_arrival()) {
    times.push_back(sent_at(*source));
  }
  EXPECT_THAT(times, ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(ConcurrencyLimit, SendsNothingAtTheEndOrLater) {
  const auto source = one_each_second(1, core::Duration::seconds(3));
  EXPECT_EQ(sent_at(*source), 0.0);
  source->on_completion(core::RequestId(0), limit_at(2.5));
  EXPECT_EQ(sent_at(*source), 2.5);
  source->on_completion(core::RequestId(1), limit_at(3));
  EXPECT_EQ(source->next_arrival(), std::nullopt);
}

}  // namespace
}  // namespace ridgeline::workload
