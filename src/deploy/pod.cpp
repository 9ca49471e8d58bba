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

const Node* below(const Node& node, std::initializer_list<std::string_view> keys) {
  const Node* at = &node;
  for (const std::string_view key : keys) {
    if (at->is_list() && !at->items().empty()) {
      at = &at->items().front();
    }
    at = at->find(key);
    if (at == nullptr) {
      return nullptr;
    }
  }
  return at;
}

namespace {

/// Undoes with_dollars().
std::string without_dollars(std::string_view text) {
  std::string single;
  for (std::size_t i = 0; i < text.size(); ++i) {
    single += text[i];
    i += text.substr(i).starts_with("$$") ? 1U : 0U;
  }
  return single;
}

}  // namespace

std::vector<Word> words_of(const Node* list, core::Errors& errors) {
  std::vector<Word> words;
  if (list == nullptr || !list->is_list()) {
    return words;
  }
  for (const Node& item : list->items()) {
    if (item.is_string()) {
      words.push_back({.text = without_dollars(item.as_string()), .where = item.where()});
    } else {
      errors.push_back(
          {.message = fmt::format("found {}, expected a word in quotes", item.describe()),
           .where = item.where()});
    }
  }
  return words;
}

std::vector<Word> variables_of(const Node* env) {
  std::vector<Word> words;
  if (env == nullptr || !env->is_list()) {
    return words;
  }
  for (const Node& item : env->items()) {
    const Node* name = item.find("name");
    const Node* value = item.find("value");
    if (name != nullptr && value != nullptr && name->is_string() && value->is_string()) {
      words.push_back(
          {.text = fmt::format("{}={}", name->as_string(), without_dollars(value->as_string())),
           .where = item.where()});
    }
  }
  return words;
}

std::optional<std::int64_t> gpus_of(const Node& container) {
  const Node* gpus = below(container, {"resources", "limits", kGpus});
  if (gpus == nullptr) {
    return std::nullopt;
  }
  if (gpus->kind() == Node::Kind::kInteger) {
    return gpus->as_integer();
  }
  return gpus->is_string() ? read_count(gpus->as_string()) : std::nullopt;
}

std::int64_t replicas_of(const Node* node, core::Errors& errors) {
  if (node == nullptr) {
    return 1;
  }
  if (node->kind() != Node::Kind::kInteger || node->as_integer() < 1) {
    errors.push_back({.field = "replicas",
                      .message = fmt::format("found {}, expected 1 or more", node->describe()),
                      .where = node->where()});
    return 1;
  }
  return node->as_integer();
}

std::optional<Word> word_of(const Node* node) {
  if (node == nullptr || !node->is_string()) {
    return std::nullopt;
  }
  return Word{.text = node->as_string(), .where = node->where()};
}

}  // namespace ridgeline::deploy
