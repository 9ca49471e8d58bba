#include "workload/trace_part.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "unit/workload/items.hpp"
#include "workload/item_stream.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Groups at 0, 10, 20 and 30 s, of tenants a, b, a and none, the second with a turn after it; all
/// of model m.
std::unique_ptr<ItemStream> four_groups() {
  ItemList list;
  const auto a = list.labels.intern("a");
  const auto b = list.labels.intern("b");
  const auto m = list.labels.intern("m");
  list.items = {item_at(0), item_at(10), item_after({0}, 1), item_at(20), item_at(30)};
  const std::vector<int> tenants = {a, b, a, a, -1};
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    list.items[i].tenant = tenants[i];
    list.items[i].model = m;
  }
  list.items[2].arrival = core::Duration::seconds(10);
  return make_list_stream(std::move(list));
}

std::vector<double> part_arrivals(TracePart part) {
  return arrivals_of(*part_of(four_groups(), std::move(part)));
}

std::string part_problem(TracePart part) {
  const auto stream = part_of(four_groups(), std::move(part));
  EXPECT_THAT(arrivals_of(*stream), IsEmpty());
  return stream->errors().size() == 1 ? core::to_string(stream->errors().front()) : "not one error";
}

TEST(TracePart, CutsByTime) {
  EXPECT_THAT(part_arrivals({}), ElementsAre(0, 10, 10, 20, 30));
  EXPECT_THAT(
      part_arrivals({.start = core::Duration::seconds(10), .end = core::Duration::seconds(30)}),
      ElementsAre(0, 0, 10));
}

TEST(TracePart, KeepsWholeGroupsOfTheLabelsThatAreWanted) {
  // The turn of the second group says tenant a, and goes with its group.
  EXPECT_THAT(part_arrivals({.tenants = {"a"}}), ElementsAre(0, 20));
  EXPECT_THAT(part_arrivals({.tenants = {"b"}}), ElementsAre(10, 10));
  EXPECT_THAT(part_arrivals({.tenants = split_names("a,b"), .models = {"m"}}),
              ElementsAre(0, 10, 10, 20));
}

TEST(TracePart, ANameThatTheTraceDoesNotHaveIsAnError) {
  const auto stream = part_of(four_groups(), {.tenants = split_names("a, c")});
  EXPECT_THAT(arrivals_of(*stream), ElementsAre(0, 20));
  ASSERT_EQ(stream->errors().size(), 1U);
  EXPECT_EQ(core::to_string(stream->errors().front()),
            "workload.trace_tenant: the trace has no request of \"c\" (it has: a, b)");
  EXPECT_THAT(part_arrivals({.tenants = split_names(" a ,b ")}), ElementsAre(0, 10, 10, 20));
}

TEST(TracePart, SaysWhatThereIsWhenNothingIsLeft) {
  EXPECT_EQ(part_problem({.tenants = {"c"}}),
            "workload.trace_tenant: the trace has no request of \"c\" (it has: a, b)");
  EXPECT_EQ(part_problem({.models = {"x", "y"}}),
            "workload.trace_model: the trace has no request of \"x,y\" (it has: m)");
  EXPECT_EQ(part_problem({.start = core::Duration::seconds(31)}),
            "workload.trace_start: 31 s is out of range, expected 0 s to the last arrival at 30 s");
  EXPECT_EQ(part_problem({.start = core::Duration::seconds(1), .end = core::Duration::seconds(10)}),
            "workload.trace_end: no request is left from 1 s to 10 s");
}

}  // namespace
}  // namespace ridgeline::workload
