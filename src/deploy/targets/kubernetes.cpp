#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

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

/// kube-proxy gives each connection to a pod at random (its mode iptables, the default; IPVS is
/// another).
constexpr std::array<std::string_view, 1> kKubernetesRouters = {"random"};
constexpr std::string_view kDeployment = "Deployment";
constexpr std::string_view kMetric = "vllm:num_requests_waiting";

MapBuilder kubernetes_object(std::string_view version,
                             std::string_view kind,
                             const Layout& layout) {
  return std::move(
      MapBuilder()
          .add("apiVersion", version)
          .add("kind", kind)
          .add("metadata",
               MapBuilder()
                   .add("name", layout.name)
                   .add("labels", MapBuilder().add("app.kubernetes.io/name", layout.name))));
}

Node pod_spec(const Layout& layout) {
  const Role& role = layout.roles.front();
  MapBuilder container;
  container.add("name", "vllm")
      .add("image", layout.image)
      .add("command", texts_node({"vllm", "serve", layout.network}))
      .add("args", texts_node(flag_items(role)))
      .add("env", environment_node(role))
      .add("ports", list_node({MapBuilder().add("name", "http").add("containerPort", kPort)}))
      .add("resources", gpus_node(role.gpus))
      .add("volumeMounts", memory_mount_node())
      .add("startupProbe", startup_probe_node(kPort))
      .add("readinessProbe", probe_node(kPort, 5, 3))
      .add("livenessProbe", probe_node(kPort, 10, 6));
  MapBuilder spec;
  if (Node selector = selector_node(layout); !selector.is_null()) {
    spec.add("nodeSelector", std::move(selector));
  }
  spec.add("containers", list_node({container.build()})).add("volumes", memory_volume_node());
  return spec.build();
}

Node deployment_object(const Layout& layout) {
  const auto labels = [&] { return MapBuilder().add("app.kubernetes.io/name", layout.name); };
  MapBuilder spec;
  spec.add("replicas", layout.roles.front().replicas)
      .add("selector", MapBuilder().add("matchLabels", labels()))
      .add("template",
           MapBuilder()
               .add("metadata", MapBuilder().add("labels", labels()))
               .add("spec", pod_spec(layout)));
  return kubernetes_object("apps/v1", kDeployment, layout).add("spec", std::move(spec));
}

Node service_object(const Layout& layout) {
  MapBuilder spec;
  spec.add("selector", MapBuilder().add("app.kubernetes.io/name", layout.name))
      .add("ports",
           list_node(
               {MapBuilder().add("name", "http").add("port", kPort).add("targetPort", "http")}));
  return kubernetes_object("v1", "Service", layout).add("spec", std::move(spec));
}

/// Through an adapter that gives Kubernetes the pods' own metrics.
Node autoscaler_object(const Layout& layout) {
  const std::int64_t planned = layout.roles.front().replicas;
  Node metric = MapBuilder()
                    .add("type", "Pods")
                    .add("pods",
                         MapBuilder()
                             .add("metric", MapBuilder().add("name", kMetric))
                             .add("target",
                                  MapBuilder()
                                      .add("type", "AverageValue")
                                      .add("averageValue", fmt::format("{}", kWaitingPerReplica))));
  MapBuilder spec;
  spec.add("scaleTargetRef",
           MapBuilder()
               .add("apiVersion", "apps/v1")
               .add("kind", kDeployment)
               .add("name", layout.name))
      .add("minReplicas", layout.min_replicas.value_or(planned))
      .add("maxReplicas", layout.max_replicas.value_or(planned))
      .add("metrics", list_node({std::move(metric)}));
  return kubernetes_object("autoscaling/v2", "HorizontalPodAutoscaler", layout)
      .add("spec", std::move(spec));
}

std::vector<File> write_kubernetes(const Layout& layout) {
  const auto file = [&](const char* name, const Node& node) {
    return File{.name = name, .text = layout.header + document::yaml_text(node)};
  };
  std::vector<File> files = {file("deployment.yaml", deployment_object(layout)),
                             file("service.yaml", service_object(layout))};
  if (layout.min_replicas || layout.max_replicas) {
    files.push_back(file("autoscaler.yaml", autoscaler_object(layout)));
  }
  return files;
}

}  // namespace

const Target kKubernetesTarget = {
    .abilities = {.target = "kubernetes", .routers = kKubernetesRouters, .autoscales = true},
    .summary = "deployment.yaml, service.yaml, and autoscaler.yaml where the plan leaves room",
    .write = write_kubernetes};

}  // namespace ridgeline::deploy
