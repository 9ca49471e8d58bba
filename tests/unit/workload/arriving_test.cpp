#include "workload/arriving.hpp"

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "unit/workload/items.hpp"
#include "workload/item.hpp"
#include "workload/options.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::ElementsAre;

TEST(Arriving, SendsGroupsAtTimesOfAnotherLaw) {
  // Groups start at 0, 0.5 and 1 s; what comes later in a group keeps its distance.
  std::vector<Item> items = {item_at(7), item_after({0}, 1), item_at(9), item_at(30)};
  items[1].arrival = core::Duration::seconds(9);
  const auto sent = arriving(stream_of(std::move(items)), ConstantArrivals{core::Rate(2.0)}, 0);
  EXPECT_THAT(arrivals_of(*sent), ElementsAre(0, 2, 0.5, 1));
}

TEST(Arriving, SendsAllGroupsAtOnce) {
  const auto sent = arriving(stream_of({item_at(7), item_at(9)}), AllAtOnce{}, 0);
  EXPECT_THAT(arrivals_of(*sent), ElementsAre(0, 0));
}

TEST(Arriving, EndsWhereTimeDoes) {
  // The second group would come after 10^9 s.
  const auto sent =
      arriving(stream_of({item_at(7), item_at(9)}), ConstantArrivals{core::Rate(1e-9)}, 0);
  EXPECT_THAT(arrivals_of(*sent), ElementsAre(0));
  EXPECT_EQ(sent->errors().size(), 1U);
}

}  // namespace
}  // namespace ridgeline::workload
