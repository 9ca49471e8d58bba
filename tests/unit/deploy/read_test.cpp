#include "deploy/read.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "scenario/options.hpp"

namespace ridgeline::deploy {
namespace {

using testing::HasSubstr;

std::string scenario_of(const std::string& text, const LaunchChoice& choice = {}) {
  const auto read = scenario_in(text, "x.sh", choice);
  EXPECT_TRUE(read) << core::to_string(read.error().front());
  return scenario::flow_text((*read)->scenario);
}

std::string refusal_of(const std::string& text) {
  const auto read = scenario_in(text, "x.sh");
  EXPECT_FALSE(read);
  return read ? "" : core::to_string(read.error().front());
}

TEST(ReadLaunch, EqualServersAreReplicas) {
  EXPECT_EQ(scenario_of("set -e\nX=1 CUDA_VISIBLE_DEVICES=0,1 vllm serve a/b -tp 2 --port 8001 &\n"
                        "X=1 CUDA_VISIBLE_DEVICES=2,3 vllm serve a/b -tp 2 --port 8002 &\nwait\n"),
            "{model: a/b, engine: {tensor_parallel_size: 2}, cluster: {instances: 2}}");
  EXPECT_THAT(refusal_of("vllm serve a/b -tp 2\nvllm serve a/b -tp 4\n"),
              HasSubstr("several servers"));
  EXPECT_EQ(scenario_of("vllm serve a/b -tp 2\nvllm serve a/b -tp 4\n", {.server = 2}),
            "{model: a/b, engine: {tensor_parallel_size: 4}}");
  EXPECT_THAT(refusal_of("for tp in 1 2; do vllm serve a/b; done\n"),
              HasSubstr("the loop of line 1"));
}

TEST(ReadLaunch, ProducersAndConsumersAreApart) {
  const std::string producer =
      R"( --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_producer"}')";
  const std::string consumer =
      R"( --kv-transfer-config '{"kv_connector":"NixlConnector","kv_role":"kv_consumer"}')";
  EXPECT_EQ(
      scenario_of("vllm serve a/b -tp 2" + consumer + "&\nvllm serve a/b -tp 4" + producer + "&\n"),
      "{model: a/b, cluster: {pools: [{name: prefill, tensor_parallel_size: 4, instances: 1}, "
      "{name: decode, tensor_parallel_size: 2, instances: 1}], disaggregation: {prefill_instances: "
      "1}}}");
}

TEST(ReadLaunch, AllThatHasNoValueIsNamedAtOnce) {
  const std::string text = "vllm serve $MODEL -tp $TP --max-model-len $LEN --port $PORT\n";
  EXPECT_THAT(refusal_of(text), HasSubstr("TP, LEN, MODEL"));
  EXPECT_EQ(scenario_of(text, {.given = {{"MODEL", "a/b"}, {"TP", "2"}, {"LEN", "4096"}}}),
            "{model: a/b, engine: {tensor_parallel_size: 2, max_model_len: 4096}}");
}

TEST(ReadLaunch, PathsAreTriedByTheirLastPart) {
  EXPECT_THAT(scenario_of("vllm serve /models/Llama-3.1-8B-Instruct\n"),
              HasSubstr("model: Llama-3.1-8B-Instruct"));
  EXPECT_THAT(
      scenario_of("vllm serve /c/models--meta-llama--Llama-3.1-8B-Instruct/snapshots/abc\n"),
      HasSubstr("model: meta-llama/Llama-3.1-8B-Instruct"));
}

TEST(ReadLaunch, AScriptWithoutAServerIsNone) {
  EXPECT_THAT(refusal_of("echo hello\n"), HasSubstr("found no command that starts a server"));
}

TEST(ReadLaunch, ALaterFlagIsOfALaterVersion) {
  EXPECT_THAT(scenario_of("vllm serve a/b --performance-mode throughput\n"),
              HasSubstr("vllm@0.18"));
}

TEST(ReadLaunch, AnEnginesOwnFileIsALaunch) {
  const auto read = scenario_in("model: a/b\ntensor-parallel-size: 2\n", "c.yaml");
  ASSERT_TRUE(read && *read);
  EXPECT_EQ(scenario::flow_text((*read)->scenario),
            "{model: a/b, engine: {tensor_parallel_size: 2}}");
  const auto scenario = scenario_in("model: a/b\ngpu: h100\n", "s.yaml");
  EXPECT_TRUE(scenario && !*scenario);
}

}  // namespace
}  // namespace ridgeline::deploy
