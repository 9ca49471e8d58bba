#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "deploy/launch.hpp"
#include "deploy/layout.hpp"
#include "deploy/nginx.hpp"
#include "deploy/pod.hpp"
#include "deploy/script.hpp"
#include "deploy/targets.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/yaml_writer.hpp"
#include "scenario/options.hpp"

namespace ridgeline::deploy {
namespace {

using document::list_node;
using document::MapBuilder;
using document::texts_node;

using document::Node;

constexpr std::string_view kServicePrefix = "vllm-";
/// The image of the gateway, from memory: a release with all policies of kNginxRouters.
constexpr std::string_view kNginxImage = "nginx:1.27";

Node compose_devices(std::int64_t first, std::int64_t count) {
  std::vector<std::string> ids;
  for (std::int64_t i = 0; i < count; ++i) {
    ids.push_back(fmt::format("{}", first + i));
  }
  return MapBuilder().add(
      "resources",
      MapBuilder().add(
          "reservations",
          MapBuilder().add("devices",
                           list_node({MapBuilder()
                                          .add("driver", "nvidia")
                                          .add("device_ids", texts_node(ids))
                                          .add("capabilities", texts_node({"gpu"}))}))));
}

Node compose_service(const Layout& layout, std::int64_t replica) {
  const Role& role = layout.roles.front();
  const std::int64_t port = role.replicas == 1 ? kPort : kFirstReplicaPort + replica;
  std::vector<std::string> command = {layout.network};
  for (const std::string& item : flag_items(role)) {
    command.push_back(item);
  }
  // A name without a value passes the one of the environment on.
  std::vector<std::string> environment = {"HF_TOKEN", "HF_HOME=/models"};
  for (const Variable& variable : role.variables) {
    environment.push_back(with_dollars(fmt::format("{}={}", variable.name, variable.value)));
  }
  const std::vector<std::string> check = {
      "CMD-SHELL",
      fmt::format(
          "python3 -c 'import urllib.request as u; u.urlopen(\"http://localhost:{}/health\")'",
          kPort)};
  return MapBuilder()
      .add("image", layout.image)
      .add("entrypoint", texts_node({"vllm", "serve"}))
      .add("command", texts_node(command))
      .add("environment", texts_node(environment))
      .add("ports", texts_node({fmt::format("{}:{}", port, kPort)}))
      .add("ipc", "host")
      .add("volumes", texts_node({"~/.cache/huggingface:/models"}))
      .add("deploy", compose_devices(replica * role.gpus, role.gpus))
      .add("healthcheck",
           MapBuilder()
               .add("test", texts_node(check))
               .add("interval", "10s")
               .add("start_period", "30m"));
}

std::vector<File> write_compose(const Layout& layout) {
  const std::int64_t replicas = layout.roles.front().replicas;
  std::vector<File> files;
  MapBuilder services;
  for (std::int64_t i = 0; i < replicas; ++i) {
    services.add(fmt::format("{}{}", kServicePrefix, i), compose_service(layout, i));
  }
  if (replicas > 1) {
    services.add("gateway",
                 MapBuilder()
                     .add("image", kNginxImage)
                     .add("network_mode", "host")
                     .add("volumes", texts_node({"./nginx.conf:/etc/nginx/nginx.conf:ro"})));
    files.push_back({.name = "nginx.conf", .text = nginx_conf(layout)});
  }
  const Node root = MapBuilder().add("services", std::move(services));
  files.push_back({.name = "compose.yaml", .text = layout.header + document::yaml_text(root)});
  return files;
}

}  // namespace

const Target kDockerComposeTarget = {
    .abilities = {.target = "docker-compose", .routers = kNginxRouters, .one_node = true},
    .summary =
        "compose.yaml: a service per replica of one machine, behind NGINX where there are several",
    .write = write_compose};

}  // namespace ridgeline::deploy
