#include "sweep/axes.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"
#include "sweep/point_id.hpp"
#include "unit/sweep/documents.hpp"

namespace ridgeline::sweep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kBase = "{model: llama-3.1-8b, gpu: h100, engine: vllm@0.15}";

core::Result<Axes> read(std::string_view axes, std::string_view base = kBase) {
  return Axes::read(yaml(axes), yaml(base), {});
}

/// The points as lines "value value", or the errors.
std::vector<std::string> points(const core::Result<Axes>& axes) {
  std::vector<std::string> lines;
  if (!axes) {
    for (const core::Error& error : axes.error()) {
      lines.push_back(core::to_string(error));
    }
    return lines;
  }
  for (std::int64_t i = 0; i < axes->size(); ++i) {
    std::string line;
    for (const document::Node& value : axes->point(i).values) {
      line += (line.empty() ? "" : " ") + scenario::flow_text(value);
    }
    lines.push_back(line);
  }
  return lines;
}

TEST(Axes, AreAllCombinationsTheLastAxisFastest) {
  EXPECT_THAT(points(read("{gpu: [h100, h200], engine.max_num_seqs: [64, 128]}")),
              ElementsAre("h100 64", "h100 128", "h200 64", "h200 128"));
}

TEST(Axes, NestedAndDottedKeysAreOne) {
  EXPECT_EQ(
      points(read("{engine: {max_num_seqs: [64], max_num_batched_tokens: [2048, 8192]}}")),
      points(read("{engine.max_num_seqs: [64], engine.max_num_batched_tokens: [2048, 8192]}")));
}

TEST(Axes, ASectionNamesItsOwnKey) {
  const auto axes = read("{engine: [vllm@0.15, vllm@0.20]}");
  ASSERT_TRUE(axes);
  EXPECT_EQ(axes->axes()[0].path, "engine.version");
  EXPECT_EQ(scenario::flow_text(axes->point(1).scenario),
            "{model: llama-3.1-8b, gpu: h100, engine: {version: vllm@0.20}}");
}

TEST(Axes, CountByFactorAndByStep) {
  EXPECT_THAT(points(read("{engine.max_num_seqs: {from: 64, to: 520, factor: 2}}")),
              ElementsAre("64", "128", "256", "512"));
  EXPECT_THAT(points(read("{engine.max_num_seqs: {from: 1, to: 7, step: 3}}")),
              ElementsAre("1", "4", "7"));
  EXPECT_THAT(points(read("{workload.request_rate: {from: 0.1, to: 0.3, step: 0.1}}")),
              ElementsAre("0.1", "0.2", "0.3"));
}

TEST(Axes, AValueReplacesTheScenariosAndNullTakesItAway) {
  const auto axes =
      read("{engine.max_num_seqs: [null, 7]}",
           "{model: llama-3.1-8b, gpu: h100, engine: {max_num_seqs: 5, block_size: 16}}");
  ASSERT_TRUE(axes);
  EXPECT_EQ(scenario::flow_text(axes->point(0).scenario),
            "{model: llama-3.1-8b, gpu: h100, engine: {block_size: 16}}");
  EXPECT_EQ(scenario::flow_text(axes->point(1).scenario),
            "{model: llama-3.1-8b, gpu: h100, engine: {max_num_seqs: 7, block_size: 16}}");
}

TEST(Axes, VaryWhatPatchesAndModelSettingsSet) {
  const auto axes = read("{set: {model.num_hidden_layers: [16, 32]}, latency.set.spareTime: [1]}");
  ASSERT_TRUE(axes);
  EXPECT_EQ(scenario::flow_text(axes->point(0).scenario),
            "{model: llama-3.1-8b, gpu: h100, engine: vllm@0.15, set: {model.num_hidden_layers: "
            "16}, latency: {set: {spareTime: 1}}}");
}

TEST(Axes, LeaveOutWhatIsExcluded) {
  EXPECT_THAT(points(read("{gpu: [h100, l40s], engine: {tensor_parallel_size: [1, 2, 4]}, exclude: "
                          "[{gpu: l40s, engine: {tensor_parallel_size: [2, 4]}}, "
                          "{engine.tensor_parallel_size: 4}]}")),
              ElementsAre("h100 1", "h100 2", "l40s 1"));
}

TEST(Axes, AutomaticTensorParallelismFitsNodeAndHeads) {
  // 8 GPUs a node; Qwen2.5-7B has 28 heads, which 8 does not divide.
  EXPECT_THAT(points(read("{engine.tensor_parallel_size: auto}")), ElementsAre("1", "2", "4", "8"));
  EXPECT_THAT(
      points(read("{model: [llama-3.1-8b, qwen2.5-7b], engine.tensor_parallel_size: auto}")),
      ElementsAre("llama-3.1-8b 1",
                  "llama-3.1-8b 2",
                  "llama-3.1-8b 4",
                  "llama-3.1-8b 8",
                  "qwen2.5-7b 1",
                  "qwen2.5-7b 2",
                  "qwen2.5-7b 4"));
}

TEST(Axes, AutomaticExpertParallelismNeedsExperts) {
  EXPECT_THAT(points(read("{model: [llama-3.1-8b, mixtral-8x7b], engine.enable_expert_parallel: "
                          "auto}")),
              ElementsAre("llama-3.1-8b false", "mixtral-8x7b false", "mixtral-8x7b true"));
}

TEST(Axes, TheNetworkOfAFlagCounts) {
  const auto axes = Axes::read(yaml("{engine.tensor_parallel_size: auto}"),
                               yaml(kBase),
                               {{.path = "model", .text = "qwen2.5-7b"}});
  EXPECT_THAT(points(axes), ElementsAre("1", "2", "4"));
}

TEST(Axes, CallersHaveKeysOfTheirOwn) {
  const auto axes =
      Axes::read(yaml("{replicas: auto, gpu: [h100]}"), yaml(kBase), {}, {.own = {"replicas"}});
  EXPECT_THAT(points(axes), ElementsAre("auto h100"));
  ASSERT_TRUE(axes);
  EXPECT_EQ(axes->point(0).scenario.find("replicas"), nullptr);
  EXPECT_EQ(axes->index_of("gpu"), 1U);
  EXPECT_EQ(axes->index_of("model"), 2U);
}

TEST(Axes, RefuseInOneLineEach) {
  const auto first = [](std::string_view axes) { return points(read(axes)).front(); };
  EXPECT_THAT(first("{engine.max_num_seqs: {from: 64, to: 512}}"),
              HasSubstr("engine.max_num_seqs: a continuous range cannot be searched"));
  EXPECT_THAT(first("{engine.max_num_seqs: {to: 512, step: 1}}"), HasSubstr("has no `from`"));
  EXPECT_THAT(first("{engine.max_num_seqs: {from: 1, step: 1}}"), HasSubstr("has no `to`"));
  EXPECT_THAT(first("{engine.max_num_seqs: {from: 1, to: 9, step: 1, factor: 2}}"),
              HasSubstr("has both"));
  EXPECT_THAT(first("{engine.max_num_seqs: {from: 9, to: 1, step: 1}}"),
              HasSubstr("ends at 1 before it begins at 9"));
  EXPECT_THAT(first("{engine.max_num_seqs: {from: 1, to: 9, step: 0}}"),
              HasSubstr("step 0 does not lead from 1 to 9"));
  EXPECT_THAT(first("{engine.max_num_seqs: {from: 1, to: 9, factor: 1}}"),
              HasSubstr("factor 1 does not lead from 1 to 9"));
  EXPECT_THAT(first("{workload.request_rate: {from: 0.001, to: 9, step: 0.00001}}"),
              HasSubstr("more than 100000 values"));
  EXPECT_THAT(first("{engine.max_num_seqs: {from: 1ms, to: 9, step: 1}}"),
              HasSubstr("expected a plain number, found \"1ms\""));
  EXPECT_THAT(first("{engine.max_num_seqs: []}"), HasSubstr("found 0 values"));
  EXPECT_THAT(first("{engine.max_num_seqs: [0]}"), HasSubstr("0 is out of range"));
  EXPECT_THAT(first("{engine.max_num_seqs: [64, 128, 64]}"), HasSubstr("64 stands twice"));
  EXPECT_THAT(first("{engine.max_num_seqs: auto}"), HasSubstr("`auto` is not known here"));
  EXPECT_THAT(first("{engine.max_num_seq: [64]}"), HasSubstr("did you mean engine.max_num_seqs?"));
  EXPECT_THAT(first("{router: [llm-d]}"), HasSubstr("did you mean cluster.router.name?"));
  EXPECT_THAT(first("{engine.max_num_seqs: [64], engine: {max_num_seqs: [64]}}"),
              HasSubstr("is varied twice"));
  EXPECT_THAT(first("{gpu: [h100], exclude: [{gpu: h200}]}"),
              HasSubstr("exclude.gpu: h200 is none of the axis's values"));
  EXPECT_THAT(first("{gpu: [h100], exclude: [{model: x}]}"),
              HasSubstr("exclude.model: is not varied by any axis"));
  EXPECT_THAT(first("{gpu: [h100], exclude: {gpu: h100}}"), HasSubstr("expected a list of maps"));
  EXPECT_THAT(first("{gpu: [h100], exclude: [{gpu: h100}]}"),
              HasSubstr("none of 1 combinations is left"));
  EXPECT_THAT(first("{}"), HasSubstr("is missing or is empty, expected a map of keys"));
  EXPECT_THAT(first("{gpu: [h100, h1000]}"), HasSubstr("did you mean"));
  EXPECT_THAT(first("{model: [llama-3.1-8b, llama-3.1-8bb]}"), HasSubstr("did you mean"));
  EXPECT_THAT(first("{gpu: [H100, h100]}"), HasSubstr("gpu: H100 and h100 are the same"));
  EXPECT_THAT(first("{model: [llama-3.1-8b, Llama-3.1-8B]}"), HasSubstr("are the same"));
  EXPECT_THAT(first("{gpu: [h101], engine.tensor_parallel_size: auto}"), HasSubstr("h101"));
}

TEST(Axes, RefuseMoreThanTheMostPoints) {
  EXPECT_THAT(points(read("{engine.max_num_seqs: {from: 1, to: 65536, step: 1}, "
                          "engine.max_num_batched_tokens: {from: 1, to: 65536, step: 1}}")),
              ElementsAre(HasSubstr("more than 10000000 combinations")));
}

TEST(Axes, RefuseAFlagThatAnAxisVaries) {
  EXPECT_THAT(points(Axes::read(yaml("{gpu: [h100]}"),
                                yaml(kBase),
                                {{.path = "gpu", .text = "h200"}, {.path = "set", .text = "a=b"}})),
              ElementsAre(HasSubstr("gpu: is varied by an axis and stated by a flag")));
}

TEST(AxisOfFlag, ReadsValuesByCommasOrWhatAFileHolds) {
  const auto text = [](std::string_view flag) {
    const auto member = axis_of_flag(flag);
    return member ? member->key + " " + scenario::flow_text(member->value)
                  : core::to_string(member.error().front());
  };
  EXPECT_EQ(text("engine.max_num_seqs=64,128"), "engine.max_num_seqs [64, 128]");
  EXPECT_EQ(text("max_num_seqs=64"), "engine.max_num_seqs [64]");
  EXPECT_EQ(text("max-num-seqs=64"), "engine.max_num_seqs [64]");
  EXPECT_EQ(text("gpu=h100,h200"), "gpu [h100, h200]");
  EXPECT_EQ(text("engine.tensor_parallel_size=auto"), "engine.tensor_parallel_size auto");
  EXPECT_EQ(text("max_num_seqs={from: 1, to: 4, step: 1}"),
            "engine.max_num_seqs {from: 1, to: 4, step: 1}");
  EXPECT_THAT(text("gpu"), HasSubstr("expected KEY=VALUE,VALUE"));
  EXPECT_THAT(text("gpu=h100,"), HasSubstr("\"gpu=h100,\" has an empty value"));
  EXPECT_THAT(text("gpu=,h100"), HasSubstr("has an empty value"));
  EXPECT_THAT(text("gpu=h100,,h200"), HasSubstr("has an empty value"));
  EXPECT_THAT(text("name=a"), HasSubstr("\"name\" may mean latency.name or "));
}

TEST(PointId, IsThatOfTheScenarioAndItsEstimator) {
  const auto run = yaml("{measure: run}");
  const std::string id = point_id(yaml("{a: 1}"), run);
  EXPECT_EQ(id.size(), 32U);
  EXPECT_EQ(point_id(yaml("{ a:   1 }"), run), id);
  EXPECT_NE(point_id(yaml("{a: 2}"), run), id);
  EXPECT_NE(point_id(yaml("{a: 1}"), yaml("{measure: capacity}")), id);
}

}  // namespace
}  // namespace ridgeline::sweep
