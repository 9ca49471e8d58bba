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

TEST(KubernetesTarget, WritesADeploymentAndAService) {
  const auto resolved =
      resolved_of({{"cluster.instances", "3"}, {"cluster.router.name", "random"}});
  const std::string text = file_of(resolved, kKubernetesTarget, "deployment.yaml");
  EXPECT_THAT(text, HasSubstr("  name: llama-3-3-70b-instruct-fp8\n"));
  EXPECT_THAT(text, HasSubstr("  replicas: 3\n"));
  EXPECT_THAT(text, HasSubstr("nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3\n"));
  EXPECT_THAT(text, HasSubstr("            - --max-model-len=8192\n"));
  EXPECT_EQ(digest_in(text, "deployment.yaml"), digest_of(resolved));
  EXPECT_THAT(file_of(resolved, kKubernetesTarget, "service.yaml"), HasSubstr("kind: Service\n"));
  EXPECT_EQ(file_of(resolved, kKubernetesTarget, "autoscaler.yaml"), "");
}

TEST(KubernetesTarget, ScalesWhereThereIsRoom) {
  const auto resolved = resolved_of({});
  const Target* const only = &kKubernetesTarget;
  const auto files = deployment_files(
      {.resolved = resolved, .ridgeline = "1", .min_replicas = 1, .max_replicas = 4}, {&only, 1});
  ASSERT_TRUE(files);
  const auto is_scaler = [](const File& file) { return file.name == "autoscaler.yaml"; };
  const auto scaler = std::find_if(files->begin(), files->end(), is_scaler);
  ASSERT_NE(scaler, files->end());
  EXPECT_THAT(scaler->text, HasSubstr("  minReplicas: 1\n  maxReplicas: 4\n"));
}

TEST(KubernetesTarget, RoutesAtRandomAlone) {
  EXPECT_THAT(
      refusals(resolved_of({{"cluster.instances", "2"}}), kKubernetesTarget),
      HasSubstr("cluster.router.name: kubernetes: cannot route by round-robin, only by random"));
}

TEST(KubernetesTarget, RefusesGpusThatAreNotWhatTheFlagsAskFor) {
  std::string text = file_of(resolved_of({}), kKubernetesTarget, "deployment.yaml");
  text.replace(text.find("--tensor-parallel-size=2"), 24, "--tensor-parallel-size=4");
  const auto read = scenario_in(text, "deployment.yaml");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().front().message, "a replica has 2 GPUs, and its flags ask for 4");
}

TEST(KubernetesTarget, OtherKindsSayNothingOfAScenario) {
  const auto read = scenario_in("apiVersion: v1\nkind: Service\n", "service.yaml");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().front().message, "a Service says nothing of a scenario");
}

}  // namespace
}  // namespace ridgeline::deploy
