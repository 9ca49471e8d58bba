#include "deploy/launch.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"

namespace ridgeline::deploy {
namespace {

std::vector<ServerFound> servers_in(const std::string& text) {
  core::Errors errors;
  Script script = read_script(text, {.file = "x.sh"}, {}, errors);
  auto servers = servers_of_script(script, errors);
  EXPECT_TRUE(errors.empty());
  return servers;
}

TEST(Launch, IsFoundBehindOtherPrograms) {
  for (const char* text :
       {"vllm serve a/b --x",
        "A=1 nohup vllm serve a/b --x > log 2>&1 &",
        "export A=1\nsudo -E env B=2 /usr/bin/vllm serve a/b --x",
        "bash -c 'A=1 vllm serve a/b --x'",
        "export A=1; uv run python3 -m vllm.entrypoints.openai.api_server a/b --x",
        "export A=1\n$WRAPPER vllm serve a/b --x",
        "numactl -N 0 bash -lc \"A=1 vllm serve a/b --x\""}) {
    const auto servers = servers_in(text);
    ASSERT_EQ(servers.size(), 1U) << text;
    EXPECT_EQ(servers[0].engine, "vllm");
    EXPECT_EQ(servers[0].words.size(), 2U) << text;
  }
  EXPECT_EQ(servers_in("python -m sglang.launch_server --model-path a")[0].engine, "sglang");
  EXPECT_EQ(servers_in("mpirun -n 1 trtllm-serve serve a")[0].engine, "tensorrt-llm");
}

TEST(Launch, WordsOfOtherCommandsAreNone) {
  EXPECT_TRUE(
      servers_in("echo vllm serve a/b\npkill -f 'vllm serve'\ncat <<E\nvllm serve a\nE\n").empty());
  EXPECT_TRUE(servers_in("vllm serve --help\nvllm bench serve --model a\n").empty());
}

TEST(Launch, AContainersArgumentsAreTheServers) {
  auto servers = servers_in(
      "docker run --gpus '\"device=0,1\"' --rm -it -e A=1 -p 8000:8000 vllm/vllm-openai:v0.19.0 "
      "--model a/b");
  ASSERT_EQ(servers.size(), 1U);
  EXPECT_EQ(servers[0].gpus, 2);
  EXPECT_EQ(servers[0].image->text, "vllm/vllm-openai:v0.19.0");
  EXPECT_EQ(servers[0].variables[0].text, "A=1");
  EXPECT_EQ(servers[0].words.size(), 2U);
  servers = servers_in("docker run --entrypoint vllm my/image serve a/b");
  EXPECT_EQ(servers[0].words.size(), 1U);
  servers =
      servers_in("docker run lmsysorg/sglang bash -c 'python3 -m sglang.launch_server --tp 2'");
  EXPECT_EQ(servers[0].engine, "sglang");
  EXPECT_TRUE(servers_in("docker run nginx --model a").empty());
}

TEST(Launch, ServersKnowTheirPlace) {
  const auto servers =
      servers_in("for i in 0 1; do CUDA_VISIBLE_DEVICES=$i vllm serve a --port $((8000+i)) & done");
  ASSERT_EQ(servers.size(), 2U);
  EXPECT_NE(servers[0].place, servers[1].place);
  EXPECT_EQ(servers[0].loop_line, 1);
  EXPECT_EQ(servers[0].gpus, 1);
}

}  // namespace
}  // namespace ridgeline::deploy
