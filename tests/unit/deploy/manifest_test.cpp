#include "deploy/manifest.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "deploy/read.hpp"
#include "scenario/options.hpp"

namespace ridgeline::deploy {
namespace {

using testing::HasSubstr;

std::string manifest_scenario(const std::string& text, const LaunchChoice& choice = {}) {
  const auto read = scenario_in(text, "x.yaml", choice);
  if (!read) {
    return core::to_string(read.error().front());
  }
  return *read ? scenario::flow_text((*read)->scenario) : "nothing";
}

std::string read_as(const std::string& text) {
  const auto read = scenario_in(text, "x.yaml");
  return read && *read ? (*read)->read_as : "";
}

const std::string kDeployment =
    "apiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas: 2\n  template:\n    spec:\n"
    "      containers:\n      - name: proxy\n        image: nginx\n      - image: "
    "vllm/vllm-openai:latest\n        env: [{name: TP, value: '2'}]\n"
    "        args: [--model, a/b, --tensor-parallel-size, $(TP)]\n"
    "        resources: {limits: {nvidia.com/gpu: '2'}}\n";

TEST(Manifest, TheServersContainerOfADeploymentIsRead) {
  EXPECT_EQ(manifest_scenario("apiVersion: v1\nkind: Service\n---\n" + kDeployment),
            "{model: a/b, engine: {tensor_parallel_size: 2}, cluster: {instances: 2}}");
  EXPECT_EQ(read_as(kDeployment), "Kubernetes Deployment: 2 servers: 2 vllm TP2");
  EXPECT_THAT(manifest_scenario("apiVersion: v1\nkind: Service\n"), HasSubstr("says nothing"));
}

TEST(Manifest, VariablesOfTheClusterAreNamed) {
  EXPECT_THAT(
      manifest_scenario("apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - command: [vllm, "
                        "serve, a/b, --max-model-len, $(LEN)]\n"),
      HasSubstr("LEN"));
}

TEST(Manifest, AShellInAContainerIsReadAsAScript) {
  EXPECT_EQ(manifest_scenario(
                "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nspec:\n"
                "  leaderWorkerTemplate:\n    size: 2\n    leaderTemplate:\n      spec:\n"
                "        containers:\n        - command: [sh, -c, 'ray start; vllm serve a/b "
                "-tp 8 -pp $(LWS_GROUP_SIZE)']\n          resources: {limits: "
                "{nvidia.com/gpu: 8}}\n"),
            "{model: a/b, engine: {tensor_parallel_size: 8, pipeline_parallel_size: 2}}");
}

TEST(Manifest, AControllerWritesFlagsOfItsOwnMembers) {
  EXPECT_EQ(
      manifest_scenario("apiVersion: serving.kserve.io/v1alpha2\nkind: LLMInferenceService\nspec:\n"
                        "  model: {uri: hf://a/b}\n  replicas: 2\n  parallelism: {tensor: 2}\n"
                        "  router: {scheduler: {}}\n"),
      "{model: a/b, engine: {tensor_parallel_size: 2}, cluster: {instances: 2, router: {name: "
      "llm-d}}}");
  EXPECT_EQ(manifest_scenario(
                "servingEngineSpec:\n  modelSpec:\n  - modelURL: a/b\n    replicaCount: 2\n"
                "    vllmConfig: {maxModelLen: 4096, enablePrefixCaching: false, extraArgs: "
                "[--max-model-len, '8192']}\n"),
            "{model: a/b, engine: {enable_prefix_caching: false, max_model_len: 8192}, cluster: "
            "{instances: 2}}");
}

TEST(Manifest, RolesAreRead) {
  EXPECT_EQ(manifest_scenario(
                "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nspec:\n"
                "  services:\n    Frontend: {componentType: frontend}\n"
                "    A:\n      subComponentType: prefill\n      replicas: 3\n      extraPodSpec: "
                "{mainContainer: &c {command: [python3, -m, dynamo.vllm], args: [--model, a/b]}}\n"
                "    B:\n      extraPodSpec: {mainContainer: {<<: *c}}\n"),
            "{model: a/b, cluster: {instances: 4, disaggregation: {prefill_instances: 3}}}");
  EXPECT_THAT(
      manifest_scenario("backend: {type: sglang, sglang_config: {prefill: {tp-size: 4}, decode: "
                        "{tp-size: 8}}}\nmodel: {path: a/b}\nresources: {gpus_per_node: 4, "
                        "prefill_nodes: 2, prefill_workers: 2, decode_nodes: 2, decode_workers: "
                        "1}\n"),
      HasSubstr("{name: prefill, tensor_parallel_size: 4, instances: 2}"));
}

TEST(Manifest, TemplatesAndTemplatesOfServicesAreRefused) {
  EXPECT_THAT(manifest_scenario("apiVersion: v1\n{{- if .Values.x }}\nkind: Pod\n{{- end }}\n"),
              HasSubstr("helm template"));
  EXPECT_THAT(manifest_scenario(
                  "apiVersion: serving.kserve.io/v1alpha1\nkind: LLMInferenceServiceConfig\n"),
              HasSubstr("give the LLMInferenceService"));
}

TEST(Manifest, TwoThatHandOnKvWithoutARoleAreRefused) {
  const std::string one =
      "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - command: [vllm, serve, a/b, "
      "--kv-transfer-config, '{\"kv_connector\": \"NixlConnector\", \"kv_role\": \"kv_both\"}']\n";
  EXPECT_THAT(manifest_scenario(one + "---\n" + one), HasSubstr("NixlConnector kv_both"));
  EXPECT_EQ(manifest_scenario(one), "{model: a/b}");
}

TEST(Manifest, ComposeServicesThatAreNotWholeAreNamed) {
  const std::string one = "    command: --model a/b\n    image: vllm/vllm-openai:v0.10.0\n";
  EXPECT_EQ(manifest_scenario("services:\n  a:\n" + one + "  b:\n    profiles: [debug]\n" + one),
            manifest_scenario("services:\n  a:\n" + one));
  EXPECT_THAT(manifest_scenario("services:\n  a:\n    extends: {service: x}\n" + one),
              HasSubstr("takes members of another service"));
  EXPECT_THAT(manifest_scenario("services:\n  a:\n" + one + "  a:\n" + one),
              HasSubstr("given twice, first at 2:3"));
  EXPECT_EQ(manifest_scenario("services:\n  a:\n    command: --model a/b\n    image: "
                              "vllm/vllm-openai:${TAG:-v0.10.0}\n"),
            manifest_scenario("services:\n  a:\n" + one));
}

TEST(Manifest, ScriptsOfOtherSchedulersAreRead) {
  EXPECT_EQ(manifest_scenario("type: service\ncommands:\n- vllm serve a/b --tensor-parallel-size "
                              "$DSTACK_GPUS_NUM\nresources: {gpu: H100:8}\nreplicas: 2..4\n"),
            "{model: a/b, engine: {tensor_parallel_size: 8}, cluster: {instances: 2}}");
  EXPECT_EQ(manifest_scenario("resources: {accelerators: H100:2}\nrun: |\n  vllm serve a/b -tp "
                              "$SKYPILOT_NUM_GPUS_PER_NODE\n"),
            "{model: a/b, engine: {tensor_parallel_size: 2}}");
}

}  // namespace
}  // namespace ridgeline::deploy
