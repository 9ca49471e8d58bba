#include "plan/cost.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "metrics/power_summary.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::plan {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

scenario::Resolved on(const std::string& gpu, std::int64_t ranks) {
  auto deployment = std::make_shared<scenario::Deployment>();
  deployment->gpu = hardware::find_gpu(gpu).value();
  deployment->execution.sharding.tensor_parallel_size = ranks;
  scenario::Resolved resolved;
  resolved.deployment = deployment;
  return resolved;
}

metrics::PowerSummary watts(double mean) {
  metrics::PowerSummary power;
  power.mean = mean;
  power.low = mean;
  power.high = mean;
  return power;
}

CostWords words(const std::string& yaml, bool wants_prices = false) {
  core::Errors errors;
  CostWords read =
      read_cost(document::parse_yaml(yaml, "plan.yaml").value(), "cost", wants_prices, errors);
  EXPECT_TRUE(errors.empty());
  return read;
}

TEST(Cost, OfThreeReplicasOfTwoGpus) {
  CostWords asked = words("host_watts_per_gpu: 200");
  asked.prices =
      read_prices("currency: USD\nprices: {h100: {value: 2.5, date: 2026-05-07, source: a}}",
                  "p.yaml")
          .value();
  // Three tokens of prompts for each of an answer.
  const Cost cost = cost_of(
      on("h100", 2),
      3,
      asked,
      {.output_tokens_per_second = 3000.0, .tokens_per_output_token = 4.0, .power = watts(500.0)});
  EXPECT_EQ(cost.gpus, 6);
  EXPECT_DOUBLE_EQ(*cost.usd_per_hour, 15.0);
  EXPECT_DOUBLE_EQ(*cost.usd_per_mtok, 15.0 / (3600.0 * 3000.0) * 1e6);
  EXPECT_DOUBLE_EQ(*cost.usd_per_total_mtok, 15.0 / (3600.0 * 12'000.0) * 1e6);
  EXPECT_DOUBLE_EQ(cost.watts->value, 3000.0);
  EXPECT_DOUBLE_EQ(cost.joules_per_token->value, 1.0);
  EXPECT_EQ(cost.watts->basis, "fit:h100");
  // Boards and hosts, times 1.2.
  EXPECT_DOUBLE_EQ(cost.facility_watts->value, 1.2 * (3000.0 + 6 * 200.0));
  EXPECT_DOUBLE_EQ(cost.facility_watts->hi - cost.facility_watts->lo,
                   1.2 * (cost.watts->hi - cost.watts->lo));
  EXPECT_EQ(cost.of(Objective::kGpus), 6.0);
  EXPECT_EQ(cost.of(Objective::kJoulesPerToken), cost.joules_per_token->value);
}

TEST(Cost, ElectricityIsAddedWhereItsPriceIsGiven) {
  CostWords asked = words("{usd_per_kwh: 0.1, pue: 1, host_watts_per_gpu: 0}");
  asked.prices =
      read_prices("currency: USD\nprices: {h100: {value: 2, date: 2026-05-07, source: a}}",
                  "p.yaml")
          .value();
  const Cost cost = cost_of(on("h100", 1), 1, asked, {.power = watts(600.0)});
  EXPECT_DOUBLE_EQ(*cost.usd_per_hour, 2.06);
}

TEST(Cost, WhatIsNotKnownIsAbsent) {
  const Cost cost = cost_of(on("tpu-v5e", 4), 1, {}, {});
  EXPECT_EQ(cost.gpus, 4);
  EXPECT_FALSE(cost.usd_per_hour);
  EXPECT_FALSE(cost.watts);
  EXPECT_FALSE(cost.joules_per_token);
  EXPECT_FALSE(cost.of(Objective::kWatts));
}

TEST(Cost, PowerSaysWhereItComesFrom) {
  const auto gpu = [](const char* name) { return hardware::find_gpu(name).value(); };
  EXPECT_EQ(board_watts(gpu("b200"), watts(700.0))->basis, "fit:b200");
  EXPECT_EQ(board_watts(gpu("h200"), watts(500.0))->basis, "fit:h200");
  EXPECT_EQ(board_watts(gpu("gh200"), watts(500.0))->basis, "transfer");
  const auto h100 = board_watts(gpu("h100"), watts(650.0));
  EXPECT_NEAR(h100->lo, 650.0 * 0.889, 1e-9);
  EXPECT_EQ(h100->hi, 700.0);  // No board draws more than its limit.
  const auto amd = board_watts(gpu("mi300x"), watts(500.0));
  EXPECT_EQ(amd->basis, "tdp-bounds");
  EXPECT_EQ(amd->hi, gpu("mi300x").power_watts);
  EXPECT_EQ(board_watts(gpu("h100"), std::nullopt)->basis, "tdp-bounds");
}

TEST(Cost, AnObjectiveWithoutItsInputIsRefusedByGpu) {
  const auto gpu = [](const char* name) { return hardware::find_gpu(name).value(); };
  const CostWords example = words("{}", true);
  const auto check = [&](Objective objective, std::vector<hardware::GpuSpec> gpus, bool bounds) {
    return objective_errors(objective, gpus, example, bounds);
  };
  EXPECT_THAT(check(Objective::kGpus, {gpu("tpu-v5e")}, false), IsEmpty());
  // Those without a price are no error beside one that has it: they are listed apart.
  EXPECT_THAT(check(Objective::kUsdPerHour, {gpu("h100"), gpu("l4"), gpu("a40")}, false),
              IsEmpty());
  EXPECT_THAT(check(Objective::kUsdPerHour, {gpu("l4"), gpu("a40")}, false), SizeIs(2));
  EXPECT_THAT(check(Objective::kUsdPerHour, {gpu("l4")}, false)[0].message,
              HasSubstr("usd_per_hour needs a price of l4"));
  EXPECT_THAT(check(Objective::kWatts, {gpu("h100"), gpu("h200")}, false), IsEmpty());
  const auto refused = check(Objective::kJoulesPerToken, {gpu("mi300x")}, false);
  ASSERT_THAT(refused, SizeIs(1));
  EXPECT_THAT(refused[0].hint, HasSubstr("--accept-bounds"));
  EXPECT_THAT(check(Objective::kJoulesPerToken, {gpu("mi300x")}, true), IsEmpty());
  EXPECT_THAT(check(Objective::kWatts, {gpu("tpu-v5e")}, true), SizeIs(1));
}

TEST(Cost, ABlockWithProblemsNamesThemAll) {
  core::Errors errors;
  static_cast<void>(read_cost(
      document::parse_yaml("{prices: none.yaml, as_of: today, pue: 0.5, watt: 1}", "plan.yaml")
          .value(),
      "cost",
      false,
      errors));
  EXPECT_THAT(errors, SizeIs(4));
}

TEST(BreakEven, IsTheRatioOfGpusByTheCheapestOther) {
  const auto prices = load_prices("").value();
  const auto found = break_evens({.row = 0, .gpu = "h200", .gpus = 6},
                                 {{.row = 1, .gpu = "h100", .gpus = 12},
                                  {.row = 2, .gpu = "h100", .gpus = 8},
                                  {.row = 3, .gpu = "h200", .gpus = 7},
                                  {.row = 4, .gpu = "gb200", .gpus = 2}},
                                 prices);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].against, "h100");
  EXPECT_EQ(found[0].row, 2U);
  EXPECT_DOUBLE_EQ(found[0].ratio, 8.0 / 6.0);
  EXPECT_DOUBLE_EQ(*found[0].now, 4.98 / 2.99);
  EXPECT_FALSE(found[1].now);  // The example has no price of it.
}

TEST(BreakEven, ElectricityIsPaidOnBothSides) {
  const auto prices = load_prices("").value();
  const auto found = break_evens({.row = 0, .gpu = "h200", .gpus = 6, .electricity = 1.0},
                                 {{.row = 1, .gpu = "h100", .gpus = 8, .electricity = 2.0}},
                                 prices);
  ASSERT_EQ(found.size(), 1U);
  // At that price of the h200 both cost the same.
  const double h100 = 2.99;
  EXPECT_NEAR(6.0 * found[0].ratio * h100 + 1.0, 8.0 * h100 + 2.0, 1e-9);
}

}  // namespace
}  // namespace ridgeline::plan
