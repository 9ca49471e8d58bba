#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "deploy/layout.hpp"
#include "deploy/pod.hpp"
#include "deploy/script.hpp"
#include "deploy/shell.hpp"
#include "deploy/targets.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/yaml_writer.hpp"

namespace ridgeline::deploy {
namespace {

using document::list_node;
using document::MapBuilder;

using document::Node;

/// KServe's scheduler is llm-d's router, with the profile of its loader.
constexpr std::array<std::string_view, 1> kKserveRouters = {"llm-d"};
constexpr std::array<std::string_view, 1> kKserveSystems = {"llm-d"};
constexpr std::string_view kKserveKind = "LLMInferenceService";
/// KServe's templates hand these words to `vllm serve`.
constexpr std::string_view kArguments = "VLLM_ADDITIONAL_ARGS";

Node kserve_parallelism(const Role& role) {
  const auto& engine = role.deployment->section.engine;
  MapBuilder map;
  map.add("tensor", engine.tensor_parallel_size);
  if (engine.pipeline_parallel_size > 1) {
    map.add("pipeline", engine.pipeline_parallel_size);
  }
  if (engine.data_parallel_size > 1) {
    map.add("data", engine.data_parallel_size).add("dataLocal", engine.data_parallel_size);
  }
  if (engine.enable_expert_parallel) {
    map.add("expert", true);
  }
  return map.build();
}

Node pod_template(const Layout& layout, const Role& role) {
  std::string words;
  std::vector<Flag> flags = role.flags;
  if (layout.is_apart()) {
    flags.push_back(transfer_flag());
  }
  for (const Flag& flag : flags) {
    words += (words.empty() ? "" : " ") + flag_words(flag);
  }
  std::vector<Node> environment = environment_node(role).items();
  environment.push_back(MapBuilder().add("name", kArguments).add("value", with_dollars(words)));
  MapBuilder container;
  container.add("name", "main")
      .add("image", layout.image)
      .add("env", list_node(std::move(environment)))
      .add("resources", gpus_node(role.gpus));
  MapBuilder map;
  if (Node selector = selector_node(layout); !selector.is_null()) {
    map.add("nodeSelector", std::move(selector));
  }
  return map.add("containers", list_node({container.build()}));
}

std::vector<File> write_kserve(const Layout& layout) {
  const Role& decode = layout.roles.back();
  MapBuilder spec;
  spec.add("model", MapBuilder().add("uri", "hf://" + layout.network).add("name", layout.network))
      .add("replicas", decode.replicas)
      .add("parallelism", kserve_parallelism(decode))
      .add("template", pod_template(layout, decode));
  if (layout.is_apart()) {
    const Role& prefill = layout.roles.front();
    spec.add("prefill",
             MapBuilder()
                 .add("replicas", prefill.replicas)
                 .add("parallelism", kserve_parallelism(prefill))
                 .add("template", pod_template(layout, prefill)));
  }
  spec.add("router",
           MapBuilder()
               .add("scheduler", MapBuilder())
               .add("route", MapBuilder())
               .add("gateway", MapBuilder()));
  const Node root = MapBuilder()
                        .add("apiVersion", "serving.kserve.io/v1alpha2")
                        .add("kind", kKserveKind)
                        .add("metadata", MapBuilder().add("name", layout.name))
                        .add("spec", std::move(spec));
  return {{.name = "kserve.yaml",
           .text = layout.header + "# API serving.kserve.io/v1alpha2, of KServe 0.20.\n" +
                   document::yaml_text(root)}};
}

}  // namespace

const Target kKserveTarget = {
    .abilities = {.target = "kserve", .routers = kKserveRouters, .systems = kKserveSystems},
    .summary = "kserve.yaml: an LLMInferenceService (serving.kserve.io/v1alpha2)",
    .write = write_kserve};

}  // namespace ridgeline::deploy
