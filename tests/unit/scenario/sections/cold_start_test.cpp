#include "scenario/sections/cold_start.hpp"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "cluster/scaling/cold_start.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "unit/scenario/resolving.hpp"

namespace ridgeline::scenario {
namespace {

using core::Duration;

document::Node phases(const std::string& text) {
  return *document::parse_yaml(text, "test.yaml");
}

TEST(ColdStart, ReadsWeightsAtTheirBandwidth) {
  const auto standard = read_cold_start(std::nullopt, {.weights = core::Bytes(16e9)});
  EXPECT_EQ(standard->load.mean, Duration::seconds(8));  // 16 GB at 2 GB/s.
  EXPECT_EQ(standard->compile.mean, Duration::seconds(40));
  EXPECT_EQ(standard->capture.mean, Duration::seconds(20));
  const auto own =
      read_cold_start(phases("{load_bandwidth: 4GB/s, compile: {mean: 30s, sd: 5s}, warm_up: 2s}"),
                      {.weights = core::Bytes(16e9)});
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(own->load.mean, Duration::seconds(4));
  EXPECT_EQ(own->compile.sd, Duration::seconds(5));
  EXPECT_EQ(own->warm_up.mean, Duration::seconds(2));
  for (const char* const wrong : {"{compile: soon}",
                                  "{compile: {mean: 3s}}",
                                  "{load_bandwidth: 3}",
                                  "{load_bandwidth: 0GB/s}",
                                  "{phases: soon}",
                                  "{compiles: 3s}"}) {
    EXPECT_FALSE(read_cold_start(phases(wrong), {}).has_value()) << wrong;
  }
}

TEST(ColdStart, AutoComputesWhatIsNotGiven) {
  const scaling::StartFacts facts{
      .weights = core::Bytes(16e9), .layers = 36, .graph_sizes = 147, .host_class = 1.0};
  const auto all = read_cold_start(phases("auto"), facts);
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(*all, scaling::computed_start(facts));
  const auto some = read_cold_start(phases("{phases: auto, compile: 1s}"), facts);
  ASSERT_TRUE(some.has_value());
  EXPECT_EQ(some->compile.mean, Duration::seconds(1));
  EXPECT_EQ(some->capture, all->capture);
  EXPECT_EQ(some->load, all->load);
}

TEST(ColdStart, FactsAreOfOneInstance) {
  const auto facts = [](const char* eager) {
    const auto deployment = resolved(with("llama-3.1-8b",
                                          "h100",
                                          {{.path = "engine.tensor_parallel_size", .text = "2"},
                                           {.path = "engine.enforce_eager", .text = eager},
                                           {.path = "serving.host_class", .text = "3"}}));
    EXPECT_TRUE(deployment.has_value());
    return start_facts(**deployment);
  };
  const scaling::StartFacts graphs = facts("false");
  EXPECT_NEAR(graphs.weights.value(), 2 * 8.03e9, 0.02e9);  // Both ranks, two bytes each.
  EXPECT_EQ(graphs.layers, 32);
  EXPECT_EQ(graphs.ranks, 2);
  EXPECT_GT(graphs.graph_sizes, 0);
  EXPECT_EQ(graphs.host_class, 3.0);
  EXPECT_EQ(facts("true").graph_sizes, 0);
}

}  // namespace
}  // namespace ridgeline::scenario
