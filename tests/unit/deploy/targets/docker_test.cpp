#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "deploy/targets.hpp"
#include "support/deployed.hpp"

namespace ridgeline::deploy {
namespace {

using test::digest_in;
using test::digest_of;
using test::file_of;
using test::refusals;
using test::resolved_of;
using testing::HasSubstr;
using testing::Not;

TEST(DockerTarget, StatesTheEntryPointAndPassesTheTokenByName) {
  const auto resolved = resolved_of({{"cluster.instances", "2"}});
  const std::string text = file_of(resolved, kDockerTarget, "run.sh");
  EXPECT_THAT(text, HasSubstr("  --gpus '\"device=2,3\"' \\\n  --ipc=host -p 8002:8000 \\\n"));
  EXPECT_THAT(text, HasSubstr("  -e HF_TOKEN \\\n"));
  EXPECT_THAT(text, HasSubstr("  --entrypoint vllm vllm/vllm-openai:v0.15.1 \\\n  serve nvidia/"));
  EXPECT_EQ(digest_in(text, "run.sh"), digest_of(resolved));
}

TEST(DockerTarget, NodesShareTheHostsNetwork) {
  const auto resolved =
      resolved_of({{"engine.tensor_parallel_size", "8"}, {"engine.pipeline_parallel_size", "2"}});
  const std::string text = file_of(resolved, kDockerTarget, "run.sh");
  EXPECT_THAT(text, HasSubstr("  --ipc=host --network=host \\\n"));
  EXPECT_THAT(text,
              HasSubstr("  --node-rank 1 \\\n  --master-addr node-0 \\\n  --headless\n;;\n*)"));
  EXPECT_THAT(text, Not(HasSubstr("-p 8000")));
  EXPECT_EQ(digest_in(text, "run.sh"), digest_of(resolved));
}

TEST(DockerTarget, AnotherImageIsAnotherVersion) {
  const auto resolved = resolved_of({});
  std::string text = file_of(resolved, kDockerTarget, "run.sh");
  text.replace(text.find("v0.15.1"), 7, "v0.18.0");
  const auto read = scenario_in(text, "run.sh");
  ASSERT_TRUE(read);
  EXPECT_EQ((*read)->scenario.find("engine")->find("version")->as_string(), "vllm@0.18.0");
}

}  // namespace
}  // namespace ridgeline::deploy
