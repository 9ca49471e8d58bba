#include "deploy/read.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/article.hpp"
#include "core/result.hpp"
#include "deploy/flags.hpp"
#include "deploy/header.hpp"
#include "deploy/images.hpp"
#include "deploy/layout.hpp"
#include "deploy/paths.hpp"
#include "deploy/registry.hpp"
#include "deploy/shell.hpp"
#include "deploy/targets.hpp"
#include "document/document.hpp"
#include "model/network_id.hpp"
#include "scenario/options.hpp"

namespace ridgeline::deploy {
namespace {

using document::Node;

/// `map` with a value at a dotted path; a map there keeps its members that `value` lacks.
Node with_value(const Node& map, std::string_view path, const Node& value) {
  const auto dot = path.find('.');
  const std::string key(path.substr(0, dot));
  std::vector<Node::Member> members = map.is_map() ? map.members() : std::vector<Node::Member>();
  auto found = std::ranges::find(members, key, &Node::Member::key);
  if (found == members.end()) {
    members.push_back({.key = key, .value = Node(), .where = value.where()});
    found = members.end() - 1;
  }
  if (dot != std::string_view::npos) {
    found->value = with_value(found->value, path.substr(dot + 1), value);
  } else if (found->value.is_map() && value.is_map()) {
    for (const Node::Member& member : value.members()) {
      found->value = with_value(found->value, member.key, member.value);
    }
  } else {
    found->value = value;
  }
  return Node::map(std::move(members), map.where());
}

const Node* value_at(const Node& map, std::string_view path) {
  const Node* node = &map;
  while (node != nullptr && !path.empty()) {
    const auto dot = path.find('.');
    node = node->find(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return node;
}

std::optional<std::int64_t> count_at(const Node& map, std::string_view path) {
  const Node* node = value_at(map, path);
  return node != nullptr && node->kind() == Node::Kind::kInteger ? std::optional(node->as_integer())
                                                                 : std::nullopt;
}

std::int64_t count_in(const OptionNodes& options, std::string_view path) {
  for (const auto& [option, value] : options) {
    if (option == path && value.kind() == Node::Kind::kInteger) {
      return value.as_integer();
    }
  }
  return 1;
}

bool are_same(const OptionNodes& one, const OptionNodes& other) {
  return std::ranges::equal(one, other, [](const auto& a, const auto& b) {
    return a.first == b.first && scenario::flow_text(a.second) == scenario::flow_text(b.second);
  });
}

/// Puts the servers of a file into the scenario that its "#:" lines begin.
class Assembly {
 public:
  Assembly(Node assumed, std::vector<ServerFound> servers)
      : scenario_(std::move(assumed)), servers_(std::move(servers)) {}

  core::Result<Node> run() {
    name_version();
    name_network();
    const Dialect* dialect = find_dialect(engine_name());
    if (dialect == nullptr) {
      return core::fail({.field = std::string(kEngineVersion),
                         .message = fmt::format("deployments of {} are not read", engine_name()),
                         .where = value_at(scenario_, kEngineVersion)->where()});
    }
    for (const ServerFound& server : servers_) {
      options_.push_back(dialect->read(server.words, server.variables, errors_));
      check_gpus(server, options_.back());
    }
    if (errors_.empty()) {
      put_options();
      put_replicas();
    }
    if (!errors_.empty()) {
      return core::fail(std::move(errors_));
    }
    return std::move(scenario_);
  }

 private:
  void set(std::string_view path, const Node& value) {
    scenario_ = with_value(scenario_, path, value);
  }
  void set(std::string_view path, std::int64_t count) {
    set(path, Node::integer(count, servers_.front().network.where));
  }

  [[nodiscard]] std::string engine_name() const {
    const Node* version = value_at(scenario_, kEngineVersion);
    const std::string text =
        version != nullptr && version->is_string() ? version->as_string() : "vllm";
    return text.substr(0, text.find('@'));
  }

  /// An image of another version than the one that is assumed is what runs.
  void name_version() {
    const auto& image = servers_.front().image;
    const auto version = image ? version_of_image(image->text) : std::nullopt;
    if (!version) {
      return;
    }
    const Node* assumed = value_at(scenario_, kEngineVersion);
    const std::string text =
        assumed != nullptr && assumed->is_string() ? assumed->as_string() : std::string();
    const auto cut = text.find('@');
    if (cut == std::string::npos ||
        image_of(text.substr(0, cut), text.substr(cut + 1)) != image->text) {
      set(kEngineVersion,
          Node::string(fmt::format("{}@{}", engine_name(), *version), image->where));
    }
  }

  /// The name that the scenario has for the network of the file, where it means that one.
  void name_network() {
    const Word& network = servers_.front().network;
    if (network.text.empty()) {
      errors_.push_back({.field = "model",
                         .message = "found no network behind the server's command",
                         .where = network.where});
      return;
    }
    const Node* model = scenario_.find("model");
    if (model != nullptr && model->is_string()) {
      const auto id = model::network_id(model->as_string());
      if (id && *id == network.text) {
        return;
      }
    }
    set("model", Node::string(network.text, network.where));
  }

  void check_gpus(const ServerFound& server, const OptionNodes& options) {
    std::int64_t gpus = 1;
    for (const std::string_view path : {"engine.tensor_parallel_size",
                                        "engine.pipeline_parallel_size",
                                        "engine.data_parallel_size",
                                        "engine.prefill_context_parallel_size"}) {
      gpus *= count_in(options, path);
    }
    const bool shares = std::ranges::any_of(
        options, [](const auto& option) { return option.first == "engine.enable_dp_attention"; });
    if (shares) {
      gpus /= count_in(options, "engine.data_parallel_size");
    }
    if (server.gpus && *server.gpus != gpus) {
      errors_.push_back({.message = fmt::format(
                             "a replica has {} GPUs, and its flags ask for {}", *server.gpus, gpus),
                         .where = server.network.where});
    }
  }

  void put_options() {
    const Node* pools = value_at(scenario_, kPools);
    if (pools != nullptr && pools->is_list() && pools->items().size() == servers_.size()) {
      std::vector<Node> items = pools->items();
      for (std::size_t i = 0; i < items.size(); ++i) {
        for (const auto& [option, value] : options_[i]) {
          items[i] = with_value(items[i], option.substr(kEngineSection.size() + 1), value);
        }
        if (count_at(items[i], "instances").value_or(1) != servers_[i].replicas) {
          items[i] = with_value(items[i], "instances", Node::integer(servers_[i].replicas, {}));
        }
      }
      set(kPools, Node::list(std::move(items), pools->where()));
      return;
    }
    if (servers_.size() > 1 && !are_same(options_.front(), options_.back())) {
      errors_.push_back({.message =
                             "prefill and decode differ in their flags, and no cluster.pools "
                             "behind \"#:\" says which is which",
                         .where = servers_.back().network.where});
      return;
    }
    for (const auto& [option, value] : options_.front()) {
      set(option, value);
    }
  }

  /// Numbers of instances, where they are not what is assumed: one for each data-parallel rank.
  void put_replicas() {
    const std::int64_t ranks = count_in(options_.front(), "engine.data_parallel_size");
    const bool is_apart = servers_.size() > 1;
    std::int64_t replicas = 0;
    for (const ServerFound& server : servers_) {
      replicas += server.replicas;
    }
    const auto assume = [&](std::string_view path, std::int64_t count, bool is_needed) {
      const auto assumed = count_at(scenario_, path);
      if (assumed ? *assumed != count : is_needed) {
        set(path, count);
      }
    };
    if (value_at(scenario_, kPools) == nullptr) {
      assume(kInstances, replicas * ranks, replicas > 1 || is_apart);
    }
    if (is_apart) {
      assume(kPrefillInstances, servers_.front().replicas * ranks, true);
      assume(kDecodeInstances, servers_.back().replicas * ranks, false);
    }
  }

  Node scenario_;
  std::vector<ServerFound> servers_;
  std::vector<OptionNodes> options_;
  core::Errors errors_;
};

/// The servers of a YAML document; nothing where no target writes such a one.
core::Result<std::optional<std::vector<ServerFound>>> servers_of_document(const Node& document) {
  for (const Target* target : targets()) {
    if (target->is_its == nullptr || !target->is_its(document)) {
      continue;
    }
    core::Errors errors;
    std::vector<ServerFound> servers = target->read(document, errors);
    if (servers.empty() && errors.empty()) {
      errors.push_back({.message = "found no server in it", .where = document.where()});
    }
    if (!errors.empty()) {
      return core::fail(std::move(errors));
    }
    return servers;
  }
  const Node* kind = document.find("kind");
  if (document.find("apiVersion") != nullptr && kind != nullptr && kind->is_string()) {
    return core::fail({.field = "kind",
                       .message = fmt::format("{} says nothing of a scenario",
                                              core::with_article(kind->as_string())),
                       .where = kind->where(),
                       .hint = "deployment.yaml, or scenario.yaml beside it"});
  }
  return std::nullopt;
}

bool is_script(std::string_view path) {
  return path.ends_with(".sh");
}

}  // namespace

core::Result<std::optional<Node>> scenario_in(const std::string& text, const std::string& file) {
  std::vector<ServerFound> servers;
  if (is_script(file)) {
    core::Errors errors;
    servers = servers_of_script(text, file, errors);
    if (!errors.empty()) {
      return core::fail(std::move(errors));
    }
  } else {
    const auto document = document::parse_yaml(text, file);
    if (!document || !document->is_map()) {
      return std::nullopt;  // The scenario's reader says what is wrong with it.
    }
    auto found = servers_of_document(*document);
    if (!found) {
      return core::fail(std::move(found).error());
    }
    if (!*found) {
      return std::nullopt;
    }
    servers = std::move(**found);
  }
  auto assumed = assumed_in(text, file);
  if (!assumed) {
    return core::fail(std::move(assumed).error());
  }
  auto scenario = Assembly(std::move(*assumed), std::move(servers)).run();
  if (!scenario) {
    return core::fail(std::move(scenario).error());
  }
  return std::move(*scenario);
}

core::Result<std::optional<Node>> scenario_in_file(const std::string& path) {
  if (!is_script(path) && !path.ends_with(".yaml") && !path.ends_with(".yml")) {
    return std::nullopt;
  }
  const auto text = document::read_file(path);
  if (!text) {
    return std::nullopt;
  }
  return scenario_in(*text, path);
}

}  // namespace ridgeline::deploy
