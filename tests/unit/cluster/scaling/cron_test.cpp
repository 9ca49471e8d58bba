#include "cluster/scaling/cron.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/time.hpp"

namespace ridgeline::scaling {
namespace {

using Times = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// The first `count` changes, in minutes from the run's begin.
Times first(std::size_t count, std::string_view start, const std::vector<std::string_view>& lines) {
  std::vector<CronLine> all;
  for (const std::string_view fields : lines) {
    all.push_back(*cron_line(fields, static_cast<std::int64_t>(all.size()) + 1));
  }
  Times times;
  for (const auto& [at, replicas] : cron_times(all, *calendar_minute(start))) {
    if (times.size() < count) {
      times.emplace_back(at.since_start().count() / core::Duration::seconds(60).count(), replicas);
    }
  }
  return times;
}

TEST(Cron, LinesSetNumbersFromTheirMinutesOn) {
  EXPECT_EQ(first(3, "2026-01-05T07:30", {"0 8 * * *", "15,45 9-10 * * *"}),
            (Times{{30, 1}, {105, 2}, {135, 2}}));
  EXPECT_EQ(first(3, "2026-01-05", {"*/20 0-23/12 * * *"}), (Times{{0, 1}, {20, 1}, {40, 1}}));
}

TEST(Cron, DaysAreTheCalendars) {
  constexpr std::int64_t kDay = 24 * 60;
  // A Friday: the working days go on with Monday. Sunday is 0 and 7.
  EXPECT_EQ(first(2, "2026-01-09", {"0 8 * * 1-5"}), (Times{{480, 1}, {3 * kDay + 480, 1}}));
  EXPECT_EQ(first(1, "2026-01-09", {"0 0 * * 7"}), first(1, "2026-01-09", {"0 0 * * 0"}));
  EXPECT_EQ(first(1, "2026-01-31", {"0 0 1 2 *"}), (Times{{kDay, 1}}));
  EXPECT_EQ(first(1, "2028-02-28", {"0 0 29 2 *"}), (Times{{kDay, 1}}));
  EXPECT_EQ(first(1, "2026-01-31", {"0 0 31 4 *"}), (Times{}));
  // Both limited: either. The 13th is a Tuesday, the Monday before it the 12th.
  EXPECT_EQ(first(2, "2026-01-10", {"0 0 13 * 1"}), (Times{{2 * kDay, 1}, {3 * kDay, 1}}));
}

TEST(Cron, OfOneMinuteTheLastLineCounts) {
  EXPECT_EQ(first(1, "2026-01-05", {"0 0 * * *", "0 0 5 * *"}), (Times{{0, 2}}));
}

TEST(Cron, WhatIsNoLineIsNone) {
  for (const std::string_view wrong : {"",
                                       "0 8 * *",
                                       "0 8 * * * *",
                                       "60 * * * *",
                                       "* 24 * * *",
                                       "* * 0 * *",
                                       "* * * 13 *",
                                       "* * * * 8",
                                       "5-1 * * * *",
                                       "*/0 * * * *",
                                       "5/2 * * * *",
                                       "1, * * * *",
                                       ",1 * * * *",
                                       "-1 * * * *",
                                       "x * * * *"}) {
    EXPECT_FALSE(cron_line(wrong, 1)) << wrong;
  }
  for (const std::string_view wrong :
       {"", "2026", "2026-02-29", "2026-01-05T24:00", "2026-01-05T7", "1-1-1-1"}) {
    EXPECT_FALSE(calendar_minute(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace ridgeline::scaling
