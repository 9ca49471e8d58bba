#include "deploy/pod.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "deploy/flags.hpp"
#include "deploy/layout.hpp"
#include "deploy/targets.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"

namespace ridgeline::deploy {

using document::list_node;
using document::MapBuilder;

using document::Node;

namespace {

constexpr std::string_view kGpus = "nvidia.com/gpu";
constexpr std::string_view kToken = "HF_TOKEN";
/// vLLM's own examples for Kubernetes give /dev/shm 2Gi; tensor parallelism over 8 GPUs wants more
/// (from memory: NCCL takes some 100 MB per pair).
constexpr std::string_view kSharedMemory = "16Gi";

}  // namespace

std::string with_dollars(std::string_view text) {
  std::string doubled;
  for (const char c : text) {
    doubled.append(c == '$' ? 2 : 1, c);
  }
  return doubled;
}

std::string flag_item(const Flag& flag) {
  return with_dollars(flag.value.empty() ? flag.name : fmt::format("{}={}", flag.name, flag.value));
}

std::vector<std::string> flag_items(const Role& role) {
  std::vector<std::string> items;
  for (const Flag& flag : role.flags) {
    items.push_back(flag_item(flag));
  }
  return items;
}

Node environment_node(const Role& role) {
  std::vector<Node> all;
  all.push_back(
      MapBuilder()
          .add("name", kToken)
          .add("valueFrom",
               MapBuilder().add(
                   "secretKeyRef",
                   MapBuilder().add("name", "hf-token").add("key", kToken).add("optional", true))));
  for (const Variable& variable : role.variables) {
    all.push_back(
        MapBuilder().add("name", variable.name).add("value", with_dollars(variable.value)));
  }
  return list_node(std::move(all));
}

Node gpus_node(std::int64_t gpus) {
  const std::string text = fmt::format("{}", gpus);
  return MapBuilder()
      .add("limits", MapBuilder().add(kGpus, text))
      .add("requests", MapBuilder().add(kGpus, text));
}

Node probe_node(std::int64_t port, std::int64_t period, std::int64_t failures) {
  return MapBuilder()
      .add("httpGet", MapBuilder().add("path", "/health").add("port", port))
      .add("periodSeconds", period)
      .add("failureThreshold", failures);
}

Node startup_probe_node(std::int64_t port) {
  constexpr std::int64_t kPeriodSeconds = 10;
  constexpr std::int64_t kHalfAnHour = 180;
  return probe_node(port, kPeriodSeconds, kHalfAnHour);
}

Node memory_mount_node() {
  return list_node({MapBuilder().add("name", "shm").add("mountPath", "/dev/shm")});
}

Node memory_volume_node() {
  return list_node(
      {MapBuilder()
           .add("name", "shm")
           .add("emptyDir", MapBuilder().add("medium", "Memory").add("sizeLimit", kSharedMemory))});
}

Node selector_node(const Layout& layout) {
  return layout.node_label ? MapBuilder().add("nvidia.com/gpu.product", *layout.node_label)
                           : Node();
}

Flag transfer_flag() {
  return {.name = "--kv-transfer-config",
          .value = R"({"kv_connector":"NixlConnector","kv_role":"kv_both"})"};
}

}  // namespace ridgeline::deploy
