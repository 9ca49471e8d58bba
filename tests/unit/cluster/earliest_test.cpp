#include "cluster/earliest.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/rng.hpp"
#include "core/time.hpp"

namespace ridgeline::cluster {
namespace {

TEST(Earliest, OfNothingIsNever) {
  Earliest none;
  EXPECT_EQ(none.least(), core::SimTime::never());
  none.add();
  EXPECT_EQ(none.least(), core::SimTime::never());
}

TEST(Earliest, IsTheLeastInstantAndListsWhatIsDue) {
  core::RngStream draws(3, 0, "earliest", 0);
  Earliest tree;
  std::vector<core::SimTime> plain;
  for (int round = 0; round < 4000; ++round) {
    if (plain.empty() || (plain.size() < 37 && draws.next_u64() % 50 == 0)) {
      tree.add();
      plain.push_back(core::SimTime::never());
    }
    const std::size_t place = draws.next_u64() % plain.size();
    const auto ticks = static_cast<std::int64_t>(draws.next_u64() % 20);
    plain[place] =
        ticks == 0 ? core::SimTime::never() : core::SimTime::at(core::Duration::ticks(ticks));
    tree.set(place, plain[place]);
    const auto least = std::ranges::min_element(plain);
    ASSERT_EQ(tree.least(), *least);
    const auto instant = core::SimTime::at(core::Duration::ticks(round % 20));
    std::vector<std::size_t> late;
    for (std::size_t i = 0; i < plain.size(); ++i) {
      if (plain[i] <= instant) {
        late.push_back(i);
      }
    }
    std::vector<std::size_t> due;
    tree.list_due(instant, due);
    ASSERT_EQ(due, late);
    ASSERT_EQ(tree.at(place), plain[place]);
  }
}

}  // namespace
}  // namespace ridgeline::cluster
