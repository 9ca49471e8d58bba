#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The problems of a fleet with prefill and decode apart that scales, and that fault.
std::vector<std::string> problems_of(const std::string& fault, std::vector<Override> more = {}) {
  std::vector<Override> overrides = {
      {.path = "model", .text = "llama-3.1-8b"},
      {.path = "gpu", .text = "h100"},
      {.path = "workload.request_rate", .text = "8"},
      {.path = "workload.num_prompts", .text = "10"},
      {.path = "workload.input_len", .text = "100"},
      {.path = "workload.output_len", .text = "10"},
      {.path = "cluster.instances", .text = "5"},
      {.path = "cluster.disaggregation.prefill_instances", .text = "2"},
      {.path = "cluster.autoscaling.name", .text = "hpa"},
      {.path = "cluster.autoscaling.target", .text = "4"},
      {.path = "cluster.autoscaling.min_replicas", .text = "2"},
      {.path = "cluster.autoscaling.max_replicas", .text = "6"},
      {.path = "cluster.faults", .text = fault}};
  overrides.insert(overrides.end(), more.begin(), more.end());
  std::vector<std::string> lines;
  if (const auto loaded = load_scenario(std::nullopt, overrides, Purpose::kRun); !loaded) {
    for (const core::Error& error : loaded.error()) {
      lines.push_back(core::to_string(error));
    }
  }
  return lines;
}

TEST(CheckFaults, NumbersNameInstancesThatAreNeverScaledAway) {
  EXPECT_THAT(problems_of("crash@1s:1"), IsEmpty());
  EXPECT_THAT(problems_of("crash@1s:3"), IsEmpty());
  EXPECT_THAT(problems_of("crash@1s:4"),
              ElementsAre(HasSubstr("instance 4 may have been scaled away: min_replicas is 2")));
  EXPECT_THAT(problems_of("crash@1s:5"), ElementsAre(HasSubstr("instance 5, of 5")));
  EXPECT_THAT(
      problems_of("crash@1s:1",
                  {{.path = "cluster.autoscaling.prefill_max_replicas", .text = "3"}}),
      ElementsAre(HasSubstr("instance 1 may have been scaled away: prefill_min_replicas is 1")));
}

TEST(CheckFaults, GaugesAreLostWhereSomethingReadsThem) {
  const std::string fault = "scrape-loss@1s:1";
  EXPECT_THAT(problems_of(fault),
              ElementsAre(HasSubstr("a scrape-loss, but the policy round-robin reads no gauges")));
  const std::vector<Override> readers = {
      {.path = "cluster.router.name", .text = "llm-d"},
      {.path = "cluster.disaggregation.prefill_router", .text = "llm-d"},
      {.path = "cluster.admission.flow_control", .text = "true"}};
  for (const Override& reader : readers) {
    EXPECT_THAT(problems_of(fault, {reader}), IsEmpty()) << reader.path;
  }
}

}  // namespace
}  // namespace ridgeline::scenario
