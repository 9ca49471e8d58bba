#include "api/base_scenario.hpp"

#include <string>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "document/node_json.hpp"

namespace ridgeline::api {
namespace {

std::string laid(const std::string& json) {
  const auto whole = over_base(*document::parse_json(json, ""));
  return whole ? document::json_line(*whole) : whole.error().front().message + "\n";
}

TEST(BaseScenario, SectionsAreMergedAndValuesReplaced) {
  EXPECT_EQ(laid(R"({"base": {"model": "a", "engine": {"block_size": 16}}, "model": "b",)"
                 R"( "engine": {"max_num_seqs": 4}})"),
            "{\"model\":\"b\",\"engine\":{\"block_size\":16,\"max_num_seqs\":4}}\n");
  EXPECT_EQ(laid(R"({"base": {"workload": {"input_len": {"distribution": "uniform", "min": 1}}},)"
                 R"( "workload": {"input_len": {"distribution": "normal", "mean": 2}}})"),
            "{\"workload\":{\"input_len\":{\"distribution\":\"normal\",\"mean\":2}}}\n");
}

TEST(BaseScenario, APlainWordIsTheOptionThatNamesTheSection) {
  EXPECT_EQ(laid(R"({"base": {"engine": "vllm@0.10"}, "engine": {"block_size": 32}})"),
            "{\"engine\":{\"version\":\"vllm@0.10\",\"block_size\":32}}\n");
  EXPECT_EQ(laid(R"({"base": {"latency": {"lookup": "floor"}}, "latency": "v2-final"})"),
            "{\"latency\":{\"lookup\":\"floor\",\"name\":\"v2-final\"}}\n");
}

TEST(BaseScenario, BlocksFollowFromTheShareOfMemoryAnew) {
  EXPECT_EQ(laid(R"({"base": {"engine": {"num_gpu_blocks": 9, "gpu_memory_utilization": 0.9}},)"
                 R"( "gpu": "h200"})"),
            "{\"engine\":{\"gpu_memory_utilization\":0.9},\"gpu\":\"h200\"}\n");
  EXPECT_EQ(laid(R"({"base": {"engine": {"num_gpu_blocks": 9}}, "gpu": "h200"})"),
            "{\"engine\":{\"num_gpu_blocks\":9},\"gpu\":\"h200\"}\n");
}

TEST(BaseScenario, WithoutABaseNothingChanges) {
  EXPECT_EQ(laid(R"({"model": "a"})"), "{\"model\":\"a\"}\n");
  EXPECT_EQ(laid(R"({"base": null, "model": "a"})"), "{\"model\":\"a\"}\n");
}

TEST(BaseScenario, WhatIsNoScenarioIsRefused) {
  EXPECT_EQ(laid(R"({"base": 3})"), "found 3, expected the path of a scenario, or a scenario\n");
  const auto missing = over_base(*document::parse_json(R"({"base": "no/such/file.yaml"})", ""));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().front().where.file, "no/such/file.yaml");
}

}  // namespace
}  // namespace ridgeline::api
