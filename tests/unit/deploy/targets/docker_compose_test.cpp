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

TEST(DockerComposeTarget, ReservesGpusByTheirIds) {
  const auto resolved = resolved_of({{"cluster.instances", "2"}, {"engine.sampler", "flashinfer"}});
  const std::string text = file_of(resolved, kDockerComposeTarget, "compose.yaml");
  EXPECT_THAT(text, HasSubstr("device_ids:\n                - \"2\"\n                - \"3\"\n"));
  EXPECT_THAT(text, HasSubstr("- VLLM_USE_FLASHINFER_SAMPLER=1\n"));
  EXPECT_THAT(text, HasSubstr("- HF_TOKEN\n"));
  EXPECT_EQ(digest_in(text, "compose.yaml"), digest_of(resolved));
}

TEST(DockerComposeTarget, RefusesServicesThatDiffer) {
  const auto resolved = resolved_of({{"cluster.instances", "2"}});
  std::string text = file_of(resolved, kDockerComposeTarget, "compose.yaml");
  text.replace(text.rfind("--max-model-len=8192"), 20, "--max-model-len=4096");
  const auto read = scenario_in(text, "compose.yaml");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().front().message, HasSubstr("that are no replicas"));
}

}  // namespace
}  // namespace ridgeline::deploy
