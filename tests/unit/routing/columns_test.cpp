#include "routing/scorers/columns.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/rng.hpp"
#include "routing/choice.hpp"
#include "routing/scorers/candidate.hpp"

namespace ridgeline::routing {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Columns, HoldTheNumbersOfCandidatesInRows) {
  std::vector<Candidate> all(2);
  all[0].gauges = {.waiting = 3, .running = 4, .kv_usage = 0.5};
  all[1].inflight_tokens = 7;
  all[1].prefix = {.matched = 1, .total = 4, .block_tokens = 16};
  const Columns columns(all);
  EXPECT_EQ(columns.size, 2U);
  EXPECT_THAT(columns.waiting, ElementsAre(3.0, 0.0));
  EXPECT_THAT(columns.kv_usage, ElementsAre(0.5, 0.0));
  EXPECT_THAT(columns.inflight_tokens, ElementsAre(0.0, 7.0));
  EXPECT_EQ(columns.ratio(0), 0.0);
  EXPECT_EQ(columns.ratio(1), 0.25);
}

TEST(Columns, ASelectionLeavesEmptyRowsEmpty) {
  Columns all;
  all.size = 3;
  all.waiting = {1.0, 2.0, 3.0};
  Columns few;
  few.assign(all, std::array<std::size_t, 2>{2, 0});
  EXPECT_EQ(few.size, 2U);
  EXPECT_THAT(few.waiting, ElementsAre(3.0, 1.0));
  EXPECT_THAT(few.running, IsEmpty());
}

TEST(Columns, AnExtentIsThatOfAllNumbers) {
  EXPECT_EQ(extent_of({}).highest, 0.0);
  for (std::size_t size = 1; size < 12; ++size) {
    for (std::size_t place = 0; place < size; ++place) {
      std::vector<double> numbers(size, 1.0);
      numbers[place] = -2.0;
      EXPECT_EQ(extent_of(numbers).lowest, -2.0);
      EXPECT_EQ(extent_of(numbers).highest, size == 1 ? -2.0 : 1.0);
      numbers[place] = 5.0;
      EXPECT_EQ(extent_of(numbers).highest, 5.0);
    }
  }
}

TEST(Columns, ARowIsDrawnFromAsItsPlacesAre) {
  const std::vector<double> numbers = {1.0, 3.0, 2.0, 3.0, 3.0};
  for (std::uint64_t entity = 0; entity < 50; ++entity) {
    core::RngStream of_row(1, 0, "row", entity);
    core::RngStream of_places(1, 0, "row", entity);
    const Drawn row = draw_highest(numbers, of_row);
    const Drawn place =
        draw_place(numbers.size(), [&](std::size_t i) { return numbers[i]; }, of_places);
    EXPECT_EQ(row.place, place.place);
    EXPECT_EQ(row.equals, 3U);
    EXPECT_EQ(place.equals, 3U);
  }
}

TEST(Columns, TheLowestIsDrawnAsTheHighestOfTheNegatives) {
  for (std::size_t size = 1; size < 12; ++size) {
    std::vector<double> numbers;
    std::vector<double> negatives;
    for (std::size_t i = 0; i < size; ++i) {
      numbers.push_back(static_cast<double>((3 * i + size) % 5));
      negatives.push_back(-numbers.back());
    }
    core::RngStream of_numbers(1, 0, "row", size);
    core::RngStream of_negatives(1, 0, "row", size);
    const Drawn low = draw_lowest(numbers, of_numbers);
    const Drawn high = draw_highest(negatives, of_negatives);
    EXPECT_EQ(low.place, high.place);
    EXPECT_EQ(low.equals, high.equals);
  }
}

}  // namespace
}  // namespace ridgeline::routing
