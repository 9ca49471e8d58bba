#include "verbs/run/engine_metrics.hpp"

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "document/node_builder.hpp"

namespace ridgeline::verbs {
namespace {

using document::integer_node;
using document::list_node;
using document::MapBuilder;
using document::number_node;
using document::text_node;

document::Node config_of(const char* version) {
  MapBuilder engine;
  engine.add("version", text_node(version));
  return MapBuilder().add("engine", engine.build()).build();
}

document::Node some_summary() {
  MapBuilder queue;
  queue.add("mean", number_node(250.0));
  return MapBuilder()
      .add("preemptions", integer_node(3))
      .add("queue_time_ms", queue.build())
      .build();
}

TEST(EngineMetrics, HaveTheEnginesNamesAndUnits) {
  const auto sglang = engine_metrics_tree(config_of("sglang@main"), some_summary());
  ASSERT_TRUE(sglang);
  EXPECT_EQ(sglang->find("sglang:num_retracted_requests_total")->as_integer(), 3);
  EXPECT_EQ(sglang->find("sglang:queue_time_seconds")->as_real(), 0.25);
  EXPECT_TRUE(sglang->find("sglang:cache_hit_rate")->is_null()) << "no such number";
  const auto other = engine_metrics_tree(config_of("tensorrt-llm"), some_summary());
  ASSERT_TRUE(other);
  EXPECT_EQ(other->find("trtllm_num_paused_requests")->as_integer(), 3);
}

TEST(EngineMetrics, AreNotForVllmNorForPools) {
  EXPECT_FALSE(engine_metrics_tree(config_of("vllm@0.15"), some_summary()));
  EXPECT_FALSE(engine_metrics_tree(document::Node(), some_summary()));
  MapBuilder cluster;
  cluster.add("pools", list_node({}));
  MapBuilder engine;
  engine.add("version", text_node("sglang"));
  const document::Node pools =
      MapBuilder().add("engine", engine.build()).add("cluster", cluster.build()).build();
  EXPECT_FALSE(engine_metrics_tree(pools, some_summary()));
}

}  // namespace
}  // namespace ridgeline::verbs
