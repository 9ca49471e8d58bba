#include "plan/engines.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::plan {
namespace {

using document::Node;
using ::testing::ElementsAre;

Node parsed(const std::string& text) {
  return document::parse_yaml(text, "test").value();
}

EngineQuestion question(const std::string& axes) {
  return {
      .base =
          parsed("engine: {gpu_memory_utilization: 0.8, mem_fraction_static: 0.7, dtype: auto}"),
      .overrides = {{.path = "engine.max_num_seqs", .text = "64"}, {.path = "gpu", .text = "h100"}},
      .axes = parsed(axes)};
}

TEST(ByEngine, EachHasItsOwnSettingsAlone) {
  const auto parts = by_engine(
      question("{engine.version: [vllm, sglang], engine.max_num_batched_tokens: [2048], "
               "engine.chunked_prefill_size: [4096], engine.tensor_parallel_size: auto}"));
  ASSERT_EQ(parts.size(), 2U);
  const EngineQuestion& vllm = parts[0];
  EXPECT_EQ(vllm.axes.find("engine.version")->items().front().as_string(), "vllm");
  EXPECT_NE(vllm.axes.find("engine.max_num_batched_tokens"), nullptr);
  EXPECT_EQ(vllm.axes.find("engine.chunked_prefill_size"), nullptr);
  EXPECT_NE(vllm.base.find("engine")->find("gpu_memory_utilization"), nullptr);
  EXPECT_EQ(vllm.base.find("engine")->find("mem_fraction_static"), nullptr);
  EXPECT_EQ(vllm.overrides.size(), 2U);
  const EngineQuestion& sglang = parts[1];
  EXPECT_EQ(sglang.axes.find("engine.max_num_batched_tokens"), nullptr);
  EXPECT_NE(sglang.axes.find("engine.chunked_prefill_size"), nullptr);
  EXPECT_NE(sglang.axes.find("engine.tensor_parallel_size"), nullptr);
  EXPECT_EQ(sglang.base.find("engine")->find("gpu_memory_utilization"), nullptr);
  EXPECT_NE(sglang.base.find("engine")->find("mem_fraction_static"), nullptr);
  EXPECT_NE(sglang.base.find("engine")->find("dtype"), nullptr);
  // max_num_seqs is vLLM's; a GPU is everybody's.
  ASSERT_EQ(sglang.overrides.size(), 1U);
  EXPECT_EQ(sglang.overrides.front().path, "gpu");
}

TEST(ByEngine, VersionsOfOneEngineStayTogether) {
  EXPECT_EQ(by_engine(question("{engine.version: [vllm@0.15, vllm@0.19]}")).size(), 1U);
  const auto parts = by_engine(question("{engine.version: [vllm@0.15, sglang, vllm@0.19]}"));
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts.front().axes.find("engine.version")->items().size(), 2U);
}

TEST(ByEngine, AnExclusionIsOfTheEnginesThatItNames) {
  const auto parts = by_engine(question(
      "{engine.version: [vllm, sglang], gpu: [h100, l40s], engine.chunked_prefill_size: [2048, "
      "4096], "
      "exclude: [{engine: {version: sglang}, gpu: l40s}, {engine: {chunked_prefill_size: 2048}}, "
      "{gpu: h100}]}"));
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].axes.find("exclude")->items().size(), 1U);
  EXPECT_EQ(parts[1].axes.find("exclude")->items().size(), 3U);
}

TEST(ByEngine, OneEngineKeepsWhatItLacksSoThatItIsRefused) {
  const auto parts =
      by_engine(question("{engine.version: [sglang], engine.max_num_batched_tokens: [2048]}"));
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_NE(parts.front().axes.find("engine.max_num_batched_tokens"), nullptr);
}

TEST(WithDottedEngine, TakesTheSectionApartInItsPlace) {
  std::vector<std::string> keys;
  for (const auto& axes : {"{gpu: [h100], engine: {max_num_seqs: [1], version: all}, model: [a]}",
                           "{engine: [vllm, sglang]}"}) {
    for (const auto& member : with_dotted_engine(parsed(axes).members())) {
      keys.push_back(member.key);
    }
  }
  EXPECT_THAT(
      keys, ElementsAre("gpu", "engine.max_num_seqs", "engine.version", "model", "engine.version"));
}

TEST(EveryEngine, IsNamedOnce) {
  std::vector<std::string> names;
  const Node all = every_engine({});
  for (const Node& name : all.items()) {
    names.push_back(name.as_string());
  }
  EXPECT_THAT(names, ElementsAre("vllm", "sglang", "tensorrt-llm"));
}

}  // namespace
}  // namespace ridgeline::plan
