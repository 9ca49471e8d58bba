#include "deploy/deployment.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "deploy/bench.hpp"
#include "deploy/header.hpp"
#include "deploy/images.hpp"
#include "deploy/nginx.hpp"
#include "deploy/pod.hpp"
#include "deploy/registry.hpp"
#include "deploy/statement.hpp"
#include "scenario/digest.hpp"
#include "support/deployed.hpp"

namespace ridgeline::deploy {
namespace {

using test::file_of;
using test::resolved_of;
using testing::HasSubstr;
using testing::Not;

TEST(Deployment, HasTheScenarioAndItsDigest) {
  const auto resolved = resolved_of({});
  const std::string digest = scenario::scenario_digest(resolved.scenario());
  const std::string text = file_of(resolved, kVllmTarget, "scenario.yaml");
  const auto document = document::parse_yaml(text, "scenario.yaml");
  ASSERT_TRUE(document);
  EXPECT_EQ(test::digest_of(*document), digest);
  EXPECT_THAT(text, Not(HasSubstr("num_gpu_blocks")));
  const std::string prediction = file_of(resolved, kVllmTarget, "prediction.json");
  EXPECT_THAT(prediction, HasSubstr(digest));
  EXPECT_THAT(prediction, HasSubstr("\"gpus\": 2"));
}

TEST(Deployment, BenchSendsTheWorkloadAndSaysWhatItCannot) {
  EXPECT_THAT(
      file_of(resolved_of({}), kVllmTarget, "bench.sh"),
      HasSubstr("  --random-input-len 1000 --random-output-len 200 \\\n"
                "  --random-range-ratio 0 \\\n"
                "  --num-prompts 1000 \\\n"
                "  --percentile-metrics ttft,tpot,itl,e2el --metric-percentiles 50,90,95,99 \\\n"
                "  --goodput ttft:500 \\\n"
                "  --request-rate 5 \\\n"));
  EXPECT_THAT(
      file_of(resolved_of({{"workload.input_len", "{distribution: uniform, min: 500, max: 1500}"},
                           {"workload.output_len", "{distribution: uniform, min: 100, max: 300}"}}),
              kVllmTarget,
              "bench.sh"),
      HasSubstr("  --random-range-ratio 0.5 \\\n"));
  EXPECT_THAT(
      file_of(
          resolved_of({{"workload.input_len", "{distribution: lognormal, mean: 500, std: 100}"}}),
          kVllmTarget,
          "bench.sh"),
      HasSubstr("# Not as in the scenario: all requests have the mean lengths"));
}

TEST(Deployment, BenchSendsAsManyAsADurationHolds) {
  const std::string text =
      file_of(resolved_of({{"workload.duration", "60s"}}), kVllmTarget, "bench.sh");
  EXPECT_THAT(text, HasSubstr("  --num-prompts 300 \\\n"));
}

TEST(Deployment, BenchSendsAClosedLoop) {
  auto changes = std::vector<scenario::Override>{{"workload.max_concurrency", "16"}};
  const std::string text = file_of(resolved_of(changes), kVllmTarget, "bench.sh");
  EXPECT_THAT(text, HasSubstr("  --max-concurrency 16 \\\n"));
}

TEST(Deployment, BenchKnowsTheCapacity) {
  const auto resolved = resolved_of({});
  const Target* const only = &kVllmTarget;
  const auto files =
      deployment_files({.resolved = resolved, .ridgeline = "1", .capacity_rps = 7.25}, {&only, 1});
  ASSERT_TRUE(files);
  EXPECT_THAT(files->back().text, HasSubstr("  --request-rate 7.25 \\\n"));
}

TEST(Deployment, SharesFilesAmongTargets) {
  const auto resolved = resolved_of({{"cluster.instances", "2"}});
  const std::array<const Target*, 3> all = {&kVllmTarget, &kDockerTarget, &kDockerComposeTarget};
  const auto files = deployment_files({.resolved = resolved, .ridgeline = "1"}, all);
  ASSERT_TRUE(files);
  std::string names;
  for (const File& file : *files) {
    names += file.name + " ";
  }
  EXPECT_EQ(names,
            "nginx.conf serve.sh run.sh compose.yaml scenario.yaml prediction.json bench.sh ");
}

TEST(Deployment, TargetsHaveARouterInCommonOrNone) {
  const std::array<const Target*, 2> some = {&kVllmTarget, &kKubernetesTarget};
  EXPECT_EQ(common_router(some), "random");
  const std::array<const Target*, 2> none = {&kKubernetesTarget, &kKserveTarget};
  EXPECT_EQ(common_router(none), "");
}

TEST(Image, FollowsTheVersion) {
  EXPECT_EQ(image_of("vllm", "0.15"), "vllm/vllm-openai:v0.15.1");
  EXPECT_EQ(image_of("vllm", "0.13.1"), "vllm/vllm-openai:v0.13.1");
  EXPECT_EQ(image_of("vllm", "0.27"), "vllm/vllm-openai:v0.27.0");
  EXPECT_EQ(version_of_image("vllm/vllm-openai:v0.27.0"), "0.27.0");
  EXPECT_EQ(version_of_image("mine:v1"), std::nullopt);
}

TEST(Header, KeepsThePlacesOfWhatItAssumes) {
  const auto assumed =
      assumed_in("x\n#: gpu: h100\n# other\n#: workload:\n#:   num_prompts: 3\n", "f.sh");
  ASSERT_TRUE(assumed);
  EXPECT_EQ(assumed->find("gpu")->where().line, 2);
  EXPECT_EQ(assumed->find("gpu")->where().column, 9);
  EXPECT_EQ(assumed->find("workload")->find("num_prompts")->as_integer(), 3);
  EXPECT_TRUE(assumed_in("x\n", "f.sh")->members().empty());
}

TEST(Read, PoolsKeepTheirOwnFlags) {
  const auto resolved =
      resolved_of({{"cluster.disaggregation.name", "dynamo"},
                   {"cluster.disaggregation.prefill_instances", "1"},
                   {"cluster.pools", "{name: p, instances: 1, tensor_parallel_size: 4}"},
                   {"cluster.pools", "{name: d, instances: 2, max_num_seqs: 64}"}});
  const std::string text = file_of(resolved, kDynamoTarget, "dynamo.yaml");
  EXPECT_THAT(text, HasSubstr("--tensor-parallel-size=4"));
  EXPECT_THAT(text, HasSubstr("--max-num-seqs=64"));
  const auto scenario =
      document::parse_yaml(file_of(resolved, kDynamoTarget, "scenario.yaml"), "s.yaml");
  ASSERT_TRUE(scenario);
  EXPECT_EQ(test::digest_in(text, "dynamo.yaml"), test::digest_of(*scenario));
}

}  // namespace
}  // namespace ridgeline::deploy
