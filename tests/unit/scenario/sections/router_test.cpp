#include "scenario/sections/router.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

using testing::HasSubstr;

core::Result<LoadedScenario> read_cluster(const std::string& cluster,
                                          const std::vector<Override>& flags) {
  return read_scenario(
      *document::parse_yaml("model: llama-3.1-8b\ngpu: h100\nworkload: {input_len: 10, output_len: "
                            "4, request_rate: 1}\ncluster: " +
                                cluster + "\n",
                            "s.yaml"),
      flags,
      Purpose::kRun);
}

/// Problems of four instances with these flags, each with its place and hint.
std::vector<std::string> problems_of(const std::vector<Override>& flags) {
  std::vector<std::string> lines;
  if (const auto loaded = read_cluster("{instances: 4}", flags); !loaded) {
    for (const core::Error& error : loaded.error()) {
      lines.push_back(core::to_string(error));
    }
  }
  return lines;
}

TEST(RouterSection, ARoutersWordIsItsNameAndItsFlagsAreTheLastComponent) {
  const auto word = read_cluster("{instances: 2, router: llm-d}",
                                 {{"cluster.router.scorers", "queue-scorer=2"},
                                  {"cluster.router.scorers", "prefix-cache-scorer=1"},
                                  {"cluster.router.lruCapacityPerServer", "100"}});
  ASSERT_TRUE(word.has_value()) << core::to_string(word.error().front());
  const auto map = read_cluster(
      "{instances: 2, router: {name: llm-d, scorers: {queue-scorer: 2, prefix-cache-scorer: 1}, "
      "lruCapacityPerServer: 100}}",
      {});
  ASSERT_TRUE(map.has_value()) << core::to_string(map.error().front());
  const auto text = [](const LoadedScenario& loaded) {
    return flow_text(to_node(loaded.scenario));
  };
  EXPECT_EQ(text(*word), text(*map));
  const auto again = read_scenario(to_node(map->scenario), {}, Purpose::kRun);
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(text(*again), text(*map));
}

TEST(RouterSection, RefusesWhatARouterDoesNotTake) {
  EXPECT_THAT(
      problems_of({{"cluster.router.name", "llm-d"}, {"cluster.router.scorers", "queu-scorer=1"}}),
      testing::ElementsAre(testing::AllOf(HasSubstr("cluster.router.scorers.queu-scorer"),
                                          HasSubstr("did you mean 'queue-scorer'?"))));
  EXPECT_THAT(problems_of({{"cluster.router.name", "llm-d"},
                           {"cluster.router.scorers", "queue-scorer=1"},
                           {"cluster.router.scorers", "queue-scorer=2"}}),
              testing::ElementsAre(HasSubstr("given twice")));
  EXPECT_THAT(problems_of({{"cluster.router.name", "llm-d"},
                           {"cluster.router.scorers", "queue-scorer=-1"}}),
              testing::ElementsAre(HasSubstr("found -1, expected a weight of 0 or more")));
  EXPECT_THAT(
      problems_of({{"cluster.router.name", "llm-d"}, {"cluster.router.scorers", "queue-scorer=0"}}),
      testing::ElementsAre(HasSubstr("no scorer has a weight above 0")));
  EXPECT_THAT(
      problems_of({{"cluster.router.name", "sglang"}, {"cluster.router.affinityThreshold", "0.5"}}),
      testing::ElementsAre(
          testing::AllOf(HasSubstr("is no parameter of sglang"), HasSubstr("llm-d-sticky"))));
  EXPECT_THAT(
      problems_of({{"cluster.router.name", "sglang"}, {"cluster.router.cache_threshold", "2"}}),
      testing::ElementsAre(HasSubstr("2 is out of range, expected 0 to 1")));
  EXPECT_THAT(problems_of({{"cluster.router.scorers", "queue-scorer=1"}}),
              testing::ElementsAre(HasSubstr("the policy round-robin has no scorers")));
}

}  // namespace
}  // namespace ridgeline::scenario
