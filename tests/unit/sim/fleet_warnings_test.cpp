#include "sim/fleet_warnings.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "domain/record.hpp"
#include "metrics/summary.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// More tokens than a KV cache holds.
metrics::Summary long_run() {
  metrics::Summary summary;
  summary.total_input_tokens = 10'000'000;
  return summary;
}

std::vector<std::string> warnings_of(std::vector<scenario::Override> flags,
                                     double duration_s = 60,
                                     metrics::Summary summary = long_run()) {
  flags.insert(flags.end(),
               {{"model", "llama-3.1-8b"},
                {"gpu", "h100"},
                {"workload.input_len", "100"},
                {"workload.output_len", "10"},
                {"workload.request_rate", "1"}});
  auto loaded = scenario::load_scenario(std::nullopt, flags, scenario::Purpose::kRun);
  EXPECT_TRUE(loaded.has_value());
  const auto resolved = scenario::resolve(std::move(*loaded));
  EXPECT_TRUE(resolved.has_value());
  summary.duration_s = duration_s;
  core::Warnings warnings;
  add_fleet_warnings(*resolved, summary, warnings);
  std::vector<std::string> lines;
  for (const core::Warning& warning : warnings) {
    lines.push_back(warning.code + ": " + warning.message);
  }
  return lines;
}

TEST(FleetWarnings, CountInstancesThatAnAutoscalerStartedTooLate) {
  const std::vector<scenario::Override> flags = {{"cluster.instances", "1"},
                                                 {"cluster.autoscaling.name", "hpa"},
                                                 {"cluster.autoscaling.target", "4"},
                                                 {"cluster.autoscaling.max_replicas", "4"}};
  metrics::Summary summary = long_run();
  metrics::OperationsSummary& operations = summary.fleet.emplace().operations.emplace();
  summary.fleet->instances.resize(3);
  summary.fleet->instances[0].ready_s = 60.0;
  summary.fleet->instances[1].ready_s = 0.5;
  summary.fleet->instances[2].ready_s = 0.0;
  EXPECT_THAT(warnings_of(flags, 60, summary),
              ElementsAre(HasSubstr("W-late-scaling: 1 instance that hpa added was never ready")));
  // It was added while another was down.
  operations.scaling.emplace().events = {{.at_s = 20, .from = 1, .to = 3, .reason = {}},
                                         {.at_s = 40, .from = 3, .to = 1, .reason = {}}};
  operations.faults = {{.kind = "crash", .instance = 1, .at_s = 10, .over_s = 30}};
  EXPECT_THAT(warnings_of(flags, 60, summary),
              ElementsAre(HasSubstr("1 instance that hpa added under faults (crash of 1 from 10 s "
                                    "to 30 s) was never ready")));
  // A fault that struck it, and one that found it not ready.
  operations.faults = {{.kind = "crash", .instance = 2, .at_s = 0, .over_s = {}}};
  EXPECT_THAT(warnings_of(flags, 60, summary), IsEmpty());
  operations.faults = {{.kind = "crash", .instance = 2, .at_s = 50, .over_s = 50}};
  EXPECT_THAT(warnings_of(flags, 60, summary),
              ElementsAre(HasSubstr("1 instance that hpa added was never ready")));
  // A rolling update started it.
  summary.fleet->instances[2].of_update = true;
  EXPECT_THAT(warnings_of(flags, 60, summary), IsEmpty());
  summary.fleet->instances[2].of_update = false;
  summary.fleet->instances[2].ready_s = 1.0;
  EXPECT_THAT(warnings_of(flags, 60, summary), IsEmpty());
}

TEST(FleetWarnings, NameWhatCannotMatterOrMisleads) {
  EXPECT_THAT(warnings_of({}), IsEmpty());
  EXPECT_THAT(warnings_of({{"cluster.instances", "4"}}), IsEmpty());
  EXPECT_THAT(warnings_of({{"cluster.instances", "1"},
                           {"cluster.router.name", "llm-d-precise"},
                           {"cluster.router.scorers", "queue-scorer=1"}}),
              ElementsAre(HasSubstr("W-one-instance")));
  EXPECT_THAT(warnings_of({{"cluster.instances", "4"},
                           {"cluster.router.name", "llm-d-precise"},
                           {"cluster.gateway.refresh_metrics_interval", "90s"}}),
              ElementsAre(HasSubstr("W-refresh-interval: gauges were read every 90 s")));
  EXPECT_THAT(
      warnings_of({{"cluster.instances", "4"}, {"cluster.router.name", "llm-d"}}),
      ElementsAre(HasSubstr("W-router-memory: the router remembers 2000000 tokens of prompts")));
  EXPECT_THAT(warnings_of({{"cluster.instances", "4"},
                           {"cluster.router.name", "llm-d"},
                           {"cluster.router.lruCapacityPerServer", "100"}}),
              IsEmpty());
  EXPECT_THAT(warnings_of({{"cluster.instances", "4"}, {"cluster.router.name", "aibrix"}}),
              ElementsAre(HasSubstr("W-characters: aibrix counts characters")));
}

TEST(FleetWarnings, OfARoutersMemoryOnlyWhereAKvCacheMayEvict) {
  const auto with_tokens = [](std::int64_t tokens, std::int64_t rejected) {
    metrics::Summary summary;
    summary.completed = 1;
    summary.kv_cache.block_size = 16;
    summary.by_outcome[static_cast<std::size_t>(domain::Outcome::kFinished)] = 1;
    summary.by_outcome[static_cast<std::size_t>(domain::Outcome::kRejected)] = rejected;
    summary.total_input_tokens = tokens;
    return warnings_of(
        {{"cluster.instances", "4"}, {"cluster.router.name", "llm-d"}}, 60.0, summary);
  };
  EXPECT_THAT(with_tokens(100'000, 0), IsEmpty());
  EXPECT_THAT(with_tokens(100'000, 1), ElementsAre(HasSubstr("W-router-memory")));
  EXPECT_THAT(with_tokens(10'000'000, 0), ElementsAre(HasSubstr("W-router-memory")));
}

TEST(FleetWarnings, NamePrefillInstancesThatNothingWasDecidedFor) {
  const auto apart = [](const char* decider, std::int64_t requests) {
    metrics::Summary summary;
    summary.completed = 20;
    summary.fleet.emplace();
    summary.fleet->decisions = 20;
    summary.fleet->transfers.emplace();
    summary.fleet->transfers->requests = requests;
    return warnings_of({{"cluster.instances", "4"},
                        {"cluster.disaggregation.prefill_instances", "1"},
                        {"cluster.disaggregation.decider", decider}},
                       60,
                       summary);
  };
  EXPECT_THAT(apart("prefix-based-pd-decider", 10), IsEmpty());
  EXPECT_THAT(apart("prefix-based-pd-decider", 0), ElementsAre(HasSubstr("W-none-apart")));
  EXPECT_THAT(apart("never", 0), ElementsAre(HasSubstr("W-none-apart")));
  EXPECT_THAT(apart("prefix-based-pd-decider", 20), ElementsAre(HasSubstr("W-all-apart")));
  EXPECT_THAT(apart("always", 20), IsEmpty());
}

}  // namespace
}  // namespace ridgeline::sim
