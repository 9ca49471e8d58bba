#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/chart/figure.hpp"
#include "report/chart/lanes.hpp"
#include "unit/verbs/run/a_run.hpp"

namespace ridgeline::report::figures {
namespace {

/// The highest pixel of the first path of a class, and where it is.
Spot highest_of(const std::string& marks, const std::string& css_class) {
  const std::size_t from = marks.find("class=\"" + css_class + "\" d=\"M");
  EXPECT_NE(from, std::string::npos);
  std::size_t at = marks.find('M', from);
  Spot pen;
  Spot best{.x = 0.0, .y = 1e9};
  while (marks[at] != '"' && marks[at] != 'z') {
    const char command = marks[at];
    std::size_t used = 0;
    const double first = std::stod(marks.substr(at + 1, 16), &used);
    at += 1 + used;
    if (command == 'h') {
      pen.x += first;
    } else if (command == 'v') {
      pen.y += first;
    } else {
      const double second = std::stod(marks.substr(at, 16), &used);
      at += used;
      pen = command == 'M' ? Spot{.x = first, .y = second}
                           : Spot{.x = pen.x + first, .y = pen.y + second};
    }
    if (pen.y < best.y) {
      best = pen;
    }
  }
  return best;
}

TEST(Clock, TheGreatestBatchIsDrawnWhereItWas) {
  const auto& result = verbs::fixtures::a_result();
  const Figure figure = clock(result);
  const auto greatest = numbers_at(result, "series.gauges.running.max");
  const auto place = std::ranges::max_element(greatest) - greatest.begin();
  const Spot drawn = highest_of(figure.marks, "ba");
  // The lanes of clock(), drawn anew.
  Lanes lanes(result, {92.0, 92.0, 92.0, 92.0, 140.0, 140.0});
  const auto waiting = numbers_at(result, "series.gauges.waiting.mean");
  const double most =
      std::max(*std::ranges::max_element(greatest), *std::ranges::max_element(waiting));
  const Scale y = lanes.axis(1, most, "", {});
  EXPECT_NEAR(drawn.y, y.pixel(*std::ranges::max_element(greatest)), 1.0);
  const double window = number_at(result, "series.window_s");
  EXPECT_NEAR(drawn.x, lanes.time().pixel(static_cast<double>(place) * window), 1.0);
}

TEST(Clock, SaysWhenMostRan) {
  EXPECT_THAT(clock(verbs::fixtures::a_result()).description,
              ::testing::ContainsRegex("Requests running: on average at most [0-9.]+, [0-9.]+ s"));
}

TEST(Clock, ItsTableHasEveryRequestInARow) {
  const auto& result = verbs::fixtures::a_result();
  const Figure figure = clock(result);
  const double p99 = number_at(result, "summary.ttft_ms.p99");
  double greatest = 0.0;
  for (const auto& row : figure.rows) {
    ASSERT_EQ(row.size(), figure.head.size());
    greatest = row[5] == "-" ? greatest : std::max(greatest, std::stod(row[5]));
  }
  EXPECT_GE(greatest, p99);
}

}  // namespace
}  // namespace ridgeline::report::figures
