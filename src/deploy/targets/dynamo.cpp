#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/result.hpp"
#include "deploy/layout.hpp"
#include "deploy/pod.hpp"
#include "deploy/targets.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/yaml_writer.hpp"

namespace ridgeline::deploy {
namespace {

using document::list_node;
using document::MapBuilder;
using document::texts_node;

using document::Node;

constexpr std::array<std::string_view, 3> kDynamoRouters = {"round-robin", "random", "dynamo"};
constexpr std::array<std::string_view, 1> kDynamoSystems = {"dynamo"};
constexpr std::string_view kDynamoKind = "DynamoGraphDeployment";
constexpr std::string_view kDisaggregationMode = "--disaggregation-mode";
/// Its runtime holds one version of vLLM; which one holds which is not known here: its own examples
/// leave the tag to the reader by this name.
constexpr std::string_view kDynamoImage = "nvcr.io/nvidia/ai-dynamo/vllm-runtime:my-tag";

/// dynamo.frontend --router-mode.
std::string_view router_mode(std::string_view router) {
  return router == "dynamo" ? "kv" : router;
}

Node dynamo_component(std::string_view name,
                      std::string_view type,
                      std::int64_t replicas,
                      Node container,
                      const Role* role,
                      const Layout& layout) {
  MapBuilder spec;
  if (role != nullptr) {
    if (Node selector = selector_node(layout); !selector.is_null()) {
      spec.add("nodeSelector", std::move(selector));
    }
  }
  spec.add("containers", list_node({std::move(container)}));
  MapBuilder map;
  map.add("name", name).add("type", type).add("replicas", replicas);
  if (role != nullptr) {
    map.add("sharedMemorySize", "16Gi");
    if (role->nodes > 1) {
      map.add("multinode", MapBuilder().add("nodeCount", role->nodes));
    }
  }
  map.add("podTemplate", MapBuilder().add("spec", std::move(spec)));
  return map.build();
}

Node dynamo_worker(const Layout& layout, const Role& role, const std::string& image) {
  std::vector<std::string> args = {"--model", layout.network};
  for (const std::string& item : flag_items(role)) {
    args.push_back(item);
  }
  if (layout.is_apart()) {
    args.insert(args.end(),
                {std::string(kDisaggregationMode), role.name, flag_item(transfer_flag())});
  }
  Node container = MapBuilder()
                       .add("name", "main")
                       .add("image", image)
                       .add("command", texts_node({"python3", "-m", "dynamo.vllm"}))
                       .add("args", texts_node(args))
                       .add("env", environment_node(role))
                       .add("resources", gpus_node(role.gpus / role.nodes));
  const std::string name = layout.is_apart() ? role.name : "worker";
  return dynamo_component(name, name, role.replicas, std::move(container), &role, layout);
}

std::vector<File> write_dynamo(const Layout& layout) {
  const std::string image = layout.is_image_stated ? layout.image : std::string(kDynamoImage);
  std::vector<std::string> frontend = {};
  if (!layout.router.empty()) {
    frontend = {"--router-mode", std::string(router_mode(layout.router))};
  }
  std::vector<Node> components = {
      dynamo_component("frontend",
                       "frontend",
                       1,
                       MapBuilder()
                           .add("name", "main")
                           .add("image", image)
                           .add("command", texts_node({"python3", "-m", "dynamo.frontend"}))
                           .add("args", texts_node(frontend)),
                       nullptr,
                       layout)};
  for (const Role& role : layout.roles) {
    components.push_back(dynamo_worker(layout, role, image));
  }
  const Node root = MapBuilder()
                        .add("apiVersion", "nvidia.com/v1beta1")
                        .add("kind", kDynamoKind)
                        .add("metadata", MapBuilder().add("name", layout.name))
                        .add("spec",
                             MapBuilder()
                                 .add("backendFramework", "vllm")
                                 .add("components", list_node(std::move(components))));
  std::string about = "# API nvidia.com/v1beta1, of Dynamo 1.4 and 1.5.\n";
  if (!layout.is_image_stated) {
    about += "# Put in place of my-tag the runtime whose vLLM is " + layout.engine_version +
             " (or state it with --image).\n";
  }
  return {{.name = "dynamo.yaml", .text = layout.header + about + document::yaml_text(root)}};
}

}  // namespace

const Target kDynamoTarget = {
    .abilities = {.target = "dynamo",
                  .routers = kDynamoRouters,
                  .systems = kDynamoSystems,
                  .spans_nodes = true},
    .summary = "dynamo.yaml: a DynamoGraphDeployment (nvidia.com/v1beta1)",
    .write = write_dynamo};

}  // namespace ridgeline::deploy
