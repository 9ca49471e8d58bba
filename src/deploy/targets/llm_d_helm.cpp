#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "deploy/layout.hpp"
#include "deploy/pod.hpp"
#include "deploy/targets.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/yaml_writer.hpp"
#include "model/operators.hpp"

namespace ridgeline::deploy {
namespace {

using document::list_node;
using document::MapBuilder;
using document::texts_node;

using document::Node;

/// The router that comes with llm-d's other chart, with the profile of its loader.
constexpr std::array<std::string_view, 1> kValuesRouters = {"llm-d"};
constexpr std::array<std::string_view, 1> kValuesSystems = {"llm-d"};
/// Where the chart has a server listen that stands behind its proxy (routing.proxy.targetPort).
constexpr std::int64_t kBehindProxy = 8200;
constexpr std::string_view kChart = "llm-d-modelservice v0.4.12";
/// Room for tokenizer, configuration and a second download in progress, beside the weights.
constexpr double kSpareShare = 1.25;
constexpr double kSpareGib = 10.0;

/// The volume that the network is loaded into.
std::string volume_size(const Layout& layout) {
  const model::ModelSpec& network = layout.roles.front().deployment->network;
  const double gib =
      core::as_gibibytes(core::Bytes(model::weight_bytes_per_rank(network, {}).value()));
  return fmt::format("{:.0f}Gi", std::ceil(gib * kSpareShare + kSpareGib));
}

MapBuilder values_parallelism(const Role& role) {
  const auto& engine = role.deployment->section.engine;
  MapBuilder map;
  map.add("tensor", engine.tensor_parallel_size)
      .add("data", engine.data_parallel_size)
      .add("dataLocal", engine.data_parallel_size / role.nodes)
      .add("workers", role.nodes);
  return map;
}

Node role_node(const Layout& layout, const Role& role) {
  std::vector<std::string> args = flag_items(role);
  if (layout.is_apart()) {
    args.push_back(flag_item(transfer_flag()));
  }
  const bool is_proxied = layout.is_apart() && &role == &layout.roles.back();
  const std::int64_t port = is_proxied ? kBehindProxy : kPort;
  MapBuilder container;
  container.add("name", "vllm")
      .add("image", layout.image)
      .add("modelCommand", "vllmServe")
      .add("args", texts_node(args))
      .add("env", environment_node(role))
      .add("ports", list_node({MapBuilder().add("containerPort", port)}))
      .add("resources", gpus_node(role.gpus / role.nodes))
      .add("mountModelVolume", true)
      .add("volumeMounts", memory_mount_node())
      .add("startupProbe", startup_probe_node(port));
  MapBuilder map;
  map.add("create", true)
      .add("replicas", role.replicas)
      .add("parallelism", values_parallelism(role));
  if (Node selector = selector_node(layout); !selector.is_null()) {
    map.add("nodeSelector", std::move(selector));
  }
  map.add("containers", list_node({container.build()})).add("volumes", memory_volume_node());
  return map.build();
}

std::vector<File> write_values(const Layout& layout) {
  MapBuilder values;
  values
      .add("modelArtifacts",
           MapBuilder()
               .add("name", layout.network)
               .add("uri", "hf://" + layout.network)
               .add("size", volume_size(layout))
               .add("authSecretName", "hf-token"))
      .add("routing",
           MapBuilder()
               .add("servicePort", kPort)
               .add("proxy",
                    layout.is_apart() ? MapBuilder().add("enabled", true).add("connector", "nixlv2")
                                      : MapBuilder().add("enabled", false)))
      .add("multinode", layout.roles.back().nodes > 1)
      .add("decode", role_node(layout, layout.roles.back()));
  if (layout.is_apart()) {
    values.add("prefill", role_node(layout, layout.roles.front()));
  } else {
    values.add("prefill", MapBuilder().add("create", false));
  }
  const std::string about = fmt::format(
      "# Values of the chart {}. Its router is installed beside it, with its default profile.\n",
      kChart);
  return {
      {.name = "values.yaml", .text = layout.header + about + document::yaml_text(values.build())}};
}

}  // namespace

const Target kLlmDHelmTarget = {.abilities = {.target = "llm-d-helm",
                                              .routers = kValuesRouters,
                                              .systems = kValuesSystems,
                                              .spans_nodes = true},
                                .summary = "values.yaml for the chart llm-d-modelservice v0.4.12",
                                .write = write_values};

}  // namespace ridgeline::deploy
