#include "deploy/layout.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "deploy/registry.hpp"
#include "deploy/targets.hpp"
#include "support/deployed.hpp"

namespace ridgeline::deploy {
namespace {

using test::refusals;
using test::resolved_of;
using testing::HasSubstr;

TEST(Layout, CountsGpusOfReplicasAndTheirRanks) {
  const auto resolved =
      resolved_of({{"cluster.instances", "3"}, {"engine.pipeline_parallel_size", "2"}});
  const auto layout = layout_of({.resolved = resolved, .ridgeline = "1"}, kDynamoTarget.abilities);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->gpus(), 12);
  EXPECT_EQ(layout->roles.front().replicas, 3);
}

TEST(Layout, RefusesWhatNoTargetWrites) {
  EXPECT_THAT(refusals(resolved_of({{"cluster.instances", "2"},
                                    {"cluster.admission.name", "token-bucket"}}),
                       kVllmTarget),
              HasSubstr("cluster.admission.name: vllm: is not written into deployment files yet"));
  EXPECT_THAT(refusals(resolved_of({{"set", "model.num_hidden_layers=40"}}), kVllmTarget),
              HasSubstr("model.num_hidden_layers is a what-if that no network on disk has"));
}

TEST(Layout, RefusesGpusOfOtherMakers) {
  EXPECT_THAT(refusals(resolved_of({{"gpu", "mi300x"}}), kKubernetesTarget),
              HasSubstr("kubernetes: writes files for GPUs of NVIDIA, and mi300x is none"));
}

TEST(Layout, AnImageIsOneAndNoFlag) {
  const auto resolved = resolved_of({});
  for (const char* image : {"-v/:/x", "a b", "a\nb", "$(x)", ""}) {
    const auto layout = layout_of({.resolved = resolved, .ridgeline = "1", .image = image},
                                  kDockerTarget.abilities);
    ASSERT_FALSE(layout) << image;
    EXPECT_EQ(layout.error().front().field, "--image");
  }
  EXPECT_TRUE(layout_of({.resolved = resolved, .ridgeline = "1", .image = "r.io:5000/a@sha256:0"},
                        kDockerTarget.abilities));
}

TEST(Layout, SaysAllThatIsWrong) {
  const std::string text = refusals(resolved_of({{"cluster.instances", "5"},
                                                 {"cluster.router.name", "session"},
                                                 {"engine.version", "vllm@0.9.2"},
                                                 {"engine.max_cudagraph_capture_size", "128"}}),
                                    kDockerComposeTarget);
  EXPECT_THAT(text, HasSubstr("cannot route by session"));
  EXPECT_THAT(text, HasSubstr("not known to have --max-cudagraph-capture-size"));
  EXPECT_THAT(text, HasSubstr("10 GPUs are more than the 8 of a node"));
}

TEST(Targets, AreFoundByName) {
  EXPECT_EQ(*find_target("kserve"), &kKserveTarget);
  const auto wrong = find_target("kubernets");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().front().hint, "did you mean kubernetes?");
}

}  // namespace
}  // namespace ridgeline::deploy
