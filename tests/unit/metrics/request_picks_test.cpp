#include "metrics/request_picks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/series.hpp"
#include "records.hpp"

namespace ridgeline::metrics {
namespace {

void add(RequestPicks& picks, std::uint32_t id, std::int64_t ttft_ms) {
  const auto ttft = core::Duration::milliseconds(ttft_ms);
  const RequestLatency latency = {.client_ttft = ttft,
                                  .client_e2e = ttft,
                                  .server_ttft = ttft,
                                  .server_e2e = ttft,
                                  .client_end = {}};
  picks.add(testing::finished(id, 0, 10, 20, 1), latency, std::nullopt);
}

Series picked(std::uint64_t seed, const std::vector<std::uint32_t>& ids) {
  RequestPicks picks(seed);
  for (const std::uint32_t id : ids) {
    add(picks, id, id % 100);  // Ten of each time, of a thousand.
  }
  Series series;
  picks.fill(series);
  return series;
}

std::vector<std::uint32_t> numbers(std::uint32_t count) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < count; ++i) {
    all.push_back(i);
  }
  return all;
}

TEST(RequestPicks, KeepsTheWorstAndOfEqualOnesTheEarlier) {
  const Series series = picked(1, numbers(1000));
  const auto& worst = series.worst[0];
  ASSERT_EQ(worst.size(), RequestPicks::kWorst);
  for (std::uint32_t i = 0; i < worst.size(); ++i) {
    EXPECT_EQ(worst[i].record.id.value(), i < 10 ? 99 + 100 * i : 98 + 100 * (i - 10)) << i;
  }
  EXPECT_TRUE(series.worst[1].empty());  // None has a TPOT here.
}

TEST(RequestPicks, DoesNotDependOnTheOrder) {
  auto ids = numbers(1000);
  const Series in_order = picked(1, ids);
  std::ranges::reverse(ids);
  std::swap(ids[3], ids[700]);
  EXPECT_EQ(in_order, picked(1, ids));
}

TEST(RequestPicks, AnotherSeedIsAnotherSample) {
  const Series one = picked(1, numbers(10'000));
  const Series other = picked(2, numbers(10'000));
  EXPECT_EQ(one.sample.size(), RequestPicks::kSample);
  EXPECT_NE(one.sample, other.sample);
  EXPECT_EQ(one.worst, other.worst);
  // Spread over the run: every tenth of it has some, with all but certainty.
  std::set<std::uint32_t> tenths;
  for (const RequestStory& story : one.sample) {
    tenths.insert(story.record.id.value() / 1000);
  }
  EXPECT_EQ(tenths.size(), 10U);
}

}  // namespace
}  // namespace ridgeline::metrics
