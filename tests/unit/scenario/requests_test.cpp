#include "scenario/requests.hpp"

#include <optional>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "scenario/scenario.hpp"
#include "workload/options.hpp"

namespace ridgeline::scenario {
namespace {

WorkloadSection filled(WorkloadSection section) {
  fill_workload(section);
  return section;
}

TEST(Workload, DividesRatesAndCountsOverTheRanks) {
  Workload workload{.section = filled({.num_prompts = 1000, .request_rate = 10.0})};
  EXPECT_EQ(workload.of_rank().num_prompts, 1000);
  workload.ranks = 8;
  // 10 requests/s and 1000 requests over 8 ranks.
  EXPECT_EQ(workload.of_rank().request_rate, 1.25);
  EXPECT_EQ(workload.of_rank().num_prompts, 125);
  workload.section = filled({.num_prompts = 90, .max_concurrency = 9});
  // 9 clients: one rank has 2 of them, and 2 of 9 requests.
  EXPECT_EQ(workload.of_rank().max_concurrency, 2);
  EXPECT_EQ(workload.of_rank().num_prompts, 20);
  workload.section = filled({.num_prompts = 100, .max_concurrency = 4});
  // 4 clients reach 4 of the 8 ranks.
  EXPECT_EQ(workload.of_rank().max_concurrency, 1);
  EXPECT_EQ(workload.of_rank().num_prompts, 25);
  // A trace is shared out as it is read.
  workload.section = filled({.trace = "t.csv", .num_prompts = 80});
  EXPECT_EQ(workload.of_rank().num_prompts, 80);
}

TEST(FillWorkload, FillsOnlyWhatApplies) {
  const auto open = filled({.request_rate = 8.0});
  EXPECT_EQ(open.num_prompts, 1000);
  EXPECT_EQ(open.arrivals, "poisson");
  EXPECT_EQ(open.burstiness, 1.0);
  EXPECT_EQ(open.prefix_len, 0);
  EXPECT_EQ(open.num_prefixes, std::nullopt);
  EXPECT_EQ(open.think_time, std::nullopt);

  const auto timed = filled({.duration = core::Duration::seconds(9), .request_rate = 8.0});
  EXPECT_EQ(timed.num_prompts, std::nullopt);

  const auto closed = filled({.max_concurrency = 4});
  EXPECT_EQ(closed.arrivals, std::nullopt);
  EXPECT_EQ(closed.think_time, core::Duration());

  const auto shared = filled({.request_rate = 8.0, .prefix_len = 10, .prefix_choice = "zipf"});
  EXPECT_EQ(shared.num_prefixes, 1);
  EXPECT_EQ(shared.prefix_zipf_exponent, 1.0);

  const auto trace = filled({.trace = "t.csv"});
  EXPECT_EQ(trace.trace_speed_up, 1.0);
  EXPECT_EQ(trace.num_prompts, std::nullopt);

  const auto nothing = filled({});
  EXPECT_EQ(nothing.num_prompts, std::nullopt);
  EXPECT_EQ(nothing.prefix_len, std::nullopt);
}

TEST(SyntheticOptions, EveryKindOfArrivals) {
  const auto arrivals = [](const WorkloadSection& workload) {
    return synthetic_options(filled(workload), 0).arrivals;
  };
  EXPECT_EQ(std::get<workload::PoissonArrivals>(arrivals({.request_rate = 8.0})).request_rate,
            core::Rate(8.0));
  EXPECT_EQ(std::get<workload::GammaArrivals>(arrivals({.request_rate = 8.0, .burstiness = 0.5}))
                .burstiness,
            0.5);
  EXPECT_TRUE(std::holds_alternative<workload::ConstantArrivals>(
      arrivals({.arrivals = "constant", .request_rate = 8.0})));
  EXPECT_TRUE(std::holds_alternative<workload::AllAtOnce>(arrivals({.arrivals = "at-once"})));
  const auto loop =
      std::get<workload::ClosedLoop>(arrivals({.max_concurrency = 4,
                                               .think_time = core::Duration::seconds(2),
                                               .think_time_distribution = "exponential"}));
  EXPECT_EQ(loop.max_concurrency, 4);
  EXPECT_EQ(loop.think.mean, core::Duration::seconds(2));
  EXPECT_EQ(loop.think.kind, workload::ThinkTime::Kind::kExponential);
}

TEST(SyntheticOptions, ALimitBesideARateIsNoClosedLoop) {
  const auto both = synthetic_options(filled({.request_rate = 8.0, .max_concurrency = 4}), 0);
  EXPECT_TRUE(std::holds_alternative<workload::PoissonArrivals>(both.arrivals));
  EXPECT_EQ(both.max_concurrency, 4);
  const auto alone = synthetic_options(filled({.arrivals = "at-once", .max_concurrency = 4}), 0);
  EXPECT_TRUE(std::holds_alternative<workload::ClosedLoop>(alone.arrivals));
  EXPECT_EQ(alone.max_concurrency, std::nullopt);
}

TEST(SyntheticOptions, CarriesLengthsPrefixesAndSeed) {
  const auto options =
      synthetic_options(filled({.num_prompts = 7,
                                .request_rate = 8.0,
                                .input_len = workload::FixedLength{core::Tokens(9)},
                                .output_len = workload::FixedLength{core::Tokens(3)},
                                .prefix_len = 10,
                                .num_prefixes = 2}),
                        5);
  EXPECT_EQ(std::get<workload::FixedLength>(options.input_len).value, core::Tokens(9));
  EXPECT_EQ(std::get<workload::FixedLength>(options.output_len).value, core::Tokens(3));
  ASSERT_TRUE(options.prefix);
  EXPECT_EQ(options.prefix->num_prefixes, 2);
  EXPECT_EQ(options.num_prompts, 7);
  EXPECT_EQ(options.seed, 5U);
  EXPECT_TRUE(workload::check_options(options).empty());
}

TEST(FillWorkload, TakesAnAgentScenariosDefaults) {
  const auto agentx =
      filled({.trace = "t.jsonl", .agent_scenario = "agentx", .max_concurrency = 4});
  EXPECT_EQ(agentx.duration, core::Duration::seconds(3600));
  EXPECT_EQ(agentx.warmup_requests_per_lane, 10);
  EXPECT_EQ(agentx.trace_idle_gap_cap, core::Duration::seconds(300));
  EXPECT_EQ(agentx.random_seed, 42);
  EXPECT_EQ(agentx.trace_sessions, std::nullopt);
  const auto other = filled({.trace = "t.jsonl",
                             .agent_scenario = "inferencex-agentx-mvp",
                             .trajectory_start_max_ratio = 0.5});
  EXPECT_EQ(other.trajectory_start_max_ratio, 0.5);
  EXPECT_EQ(other.warmup_requests_per_lane, 0);
  const auto source = Workload{.section = agentx}.open();
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().front().where.file, "t.jsonl");
}

TEST(Workload, NamesTheTraceItCannotRead) {
  const auto source = Workload{.section = filled({.trace = "no/such.csv"})}.open();
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().front().field, "workload.trace");
  EXPECT_EQ(source.error().front().where.file, "no/such.csv");
}

}  // namespace
}  // namespace ridgeline::scenario
