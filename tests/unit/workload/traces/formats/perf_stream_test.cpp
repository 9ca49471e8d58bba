#include "workload/traces/formats/perf_stream.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/units.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"

namespace ridgeline::workload {
namespace {

std::vector<Item> items_of(const PerfPlan& plan) {
  const auto stream = make_perf_stream(plan, 1);
  auto list = read_all(*stream);
  EXPECT_TRUE(list && keeps_group_rules(*list));
  return list ? list->items : std::vector<Item>();
}

PerfPlan plan_of(PerfPrompts prompts, std::vector<PerfStage> stages) {
  return {.stages = std::move(stages), .prompts = std::move(prompts)};
}

TEST(PerfStream, StagesSendTheSamePromptsInTurn) {
  const auto items =
      items_of(plan_of({.groups = 2, .per_group = 2},
                       {{.rate = 1.0, .duration = 6.0}, {.rate = 2.0, .duration = 5.0}}));
  ASSERT_EQ(items.size(), 16U);
  std::set<std::int32_t> stages;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::size_t in_stage = i < 6 ? i : i - 6;
    EXPECT_EQ(items[i].prompt, items[in_stage % 4].prompt);
    EXPECT_EQ(items[i].input_tokens.value(), 150);
    stages.insert(items[i].stage);
  }
  EXPECT_EQ(stages.size(), 2U);
  EXPECT_FALSE(items[0].prompt == items[1].prompt);
}

TEST(PerfStream, TheLastOfAConstantRateIsDueAtTheEnd) {
  const auto items = items_of(plan_of({}, {{.rate = 10.0, .duration = 20.0}}));
  ASSERT_EQ(items.size(), 200U);
  EXPECT_NEAR(items.back().arrival.to_seconds(), 20.0, 1e-6);
  EXPECT_NE((items[1].arrival - items[0].arrival).to_seconds(),
            (items[2].arrival - items[1].arrival).to_seconds());
}

TEST(PerfStream, APoissonStageEndsWithItsNumber) {
  PerfPlan plan = plan_of({}, {{.rate = 5.0, .duration = 40.0}});
  plan.times = PerfPlan::Times::kBySecond;
  EXPECT_EQ(items_of(plan).size(), 200U);
}

TEST(PerfStream, RoundsOfAChatWaitForEachOther) {
  const auto items = items_of(
      plan_of({.groups = 2, .per_group = 2, .is_chat = true}, {{.rate = 1.0, .duration = 10.0}}));
  ASSERT_EQ(items.size(), 10U);
  std::set<std::int32_t> sessions;
  for (const Item& item : items) {
    sessions.insert(item.session);
    EXPECT_EQ(item.input_tokens.value(), 150 + item.turn * 100);
    EXPECT_EQ(item.parents.size(), item.turn == 0 ? 0U : 1U);
  }
  EXPECT_EQ(sessions.size(), 4U);
}

TEST(PerfStream, ByTheClockThereIsOneStage) {
  PerfPlan plan = plan_of({.groups = 1, .per_group = 3, .is_chat = true},
                          {{.rate = 1.0, .duration = 10.0}, {.rate = 2.0, .duration = 10.0}});
  plan.by_clock = true;
  EXPECT_EQ(items_of(plan).size(), 30U);
  EXPECT_EQ(make_perf_stream(plan, 1)->stages().size(), 1U);
}

}  // namespace
}  // namespace ridgeline::workload
