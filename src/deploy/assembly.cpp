#include "deploy/assembly.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "deploy/flags.hpp"
#include "deploy/images.hpp"
#include "deploy/launch_flags.hpp"
#include "deploy/marks.hpp"
#include "deploy/paths.hpp"
#include "deploy/read.hpp"
#include "deploy/script.hpp"
#include "deploy/targets.hpp"
#include "document/document.hpp"
#include "model/network_id.hpp"
#include "scenario/foreign_flags.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::deploy {
namespace {

using document::Node;

constexpr std::string_view kRouterName = "cluster.router.name";

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

/// Data-parallel ranks of a server, each an instance: with TensorRT-LLM's attention in data
/// parallel all its GPUs.
std::int64_t ranks_in(const OptionNodes& options) {
  const bool has_ranks = std::ranges::any_of(options, [](const auto& option) {
    return option.first == "engine.enable_attention_dp" &&
           option.second.kind() == Node::Kind::kBool && option.second.as_bool();
  });
  return count_in(options, "engine.data_parallel_size") *
         (has_ranks ? count_in(options, "engine.tensor_parallel_size") : 1);
}

bool are_same(const OptionNodes& one, const OptionNodes& other) {
  return std::ranges::is_permutation(one, other, [](const auto& a, const auto& b) {
    return a.first == b.first && scenario::flow_text(a.second) == scenario::flow_text(b.second);
  });
}

/// "a.sh:4"
std::string place_text(const core::Location& where) {
  return where.line == 0 ? where.file.text() : fmt::format("{}:{}", where.file.text(), where.line);
}

/// The name by which a path of a machine is a network of the catalogue: ORG/NAME of the hub's cache
/// ("models--ORG--NAME/snapshots/HASH"), else its last part.
std::string name_in_path(std::string_view path) {
  while (path.ends_with('/')) {
    path.remove_suffix(1);
  }
  constexpr std::string_view kCached = "models--";
  if (const std::size_t cached = path.find(kCached); cached != std::string_view::npos) {
    std::string name(path.substr(cached + kCached.size()));
    name = name.substr(0, name.find('/'));
    if (const std::size_t dashes = name.find("--"); dashes != std::string::npos) {
      name.replace(dashes, 2, "/");
    }
    return name;
  }
  return std::string(path.substr(path.rfind('/') + 1));
}

/// Puts the servers of a file into the scenario that its "#:" lines begin.
class Assembly {
 public:
  Assembly(Node assumed,
           std::vector<ServerFound> servers,
           Script script,
           const LaunchChoice& choice)
      : scenario_(std::move(assumed)),
        servers_(std::move(servers)),
        script_(std::move(script)),
        choice_(choice),
        is_ours_(!scenario_.members().empty()) {}

  core::Result<Deployed> run(const std::string& title, const std::optional<Word>& router) {
    choose_server();
    name_version();
    const std::string engine = engine_name();
    if (engine != "vllm" && engine != "sglang" && engine != "tensorrt-llm") {
      return core::fail({.field = std::string(kEngineVersion),
                         .message = fmt::format("deployments of {} are not read", engine),
                         .where = value_at(scenario_, kEngineVersion)->where()});
    }
    for (const ServerFound& server : servers_) {
      launches_.push_back(
          read_launch({.engine = server.engine.empty() ? engine : std::string_view(server.engine),
                       .words = server.words,
                       .variables = server.variables,
                       .version = version(),
                       .files = &script_.files,
                       .needs_acceptance = choice_.needs_acceptance,
                       .has_statement = is_ours_ || choice_.has_acceptance},
                      errors_));
    }
    raise_version();
    settle();
    if (errors_.empty()) {
      name_network();
      for (std::size_t i = 0; i < servers_.size(); ++i) {
        check_gpus(servers_[i], launches_[i]);
      }
    }
    if (errors_.empty()) {
      put_options();
      put_replicas();
      put_router(router);
    }
    if (!errors_.empty()) {
      shorten();
      return core::fail(std::move(errors_));
    }
    warn_of_notes();
    std::string read_as = sentence(title);
    return Deployed{.scenario = std::move(scenario_),
                    .warnings = std::move(script_.warnings),
                    .read_as = std::move(read_as)};
  }

 private:
  void set(std::string_view path, const Node& value) {
    scenario_ = with_value(scenario_, path, value);
  }
  void set(std::string_view path, std::int64_t count) {
    set(path, Node::integer(count, servers_.front().network.where));
  }
  void warn(std::string_view code, std::string message) {
    script_.warnings.push_back({.code = std::string(code), .message = std::move(message)});
  }

  [[nodiscard]] std::string version_text() const {
    const Node* version = value_at(scenario_, kEngineVersion);
    return version != nullptr && version->is_string() ? version->as_string() : std::string();
  }
  [[nodiscard]] std::string engine_name() const {
    const std::string text = version_text();
    return text.empty() ? "vllm" : text.substr(0, text.find('@'));
  }
  [[nodiscard]] std::optional<scenario::Version> version() const {
    return version_text().find('@') == std::string::npos ? std::nullopt
                                                         : scenario::parse_version(version_text());
  }

  /// --server N of a file with several.
  void choose_server() {
    if (choice_.server) {
      const auto at = static_cast<std::size_t>(*choice_.server - 1);
      if (at < servers_.size()) {
        servers_ = {servers_[at]};
        servers_.front().role = "serve";
      } else {
        errors_.push_back(
            {.field = "--server",
             .message = fmt::format("found {}, expected 1 to {}", *choice_.server, servers_.size()),
             .where = {.file = "command line"}});
      }
    }
  }

  /// An image of another version than the one that is assumed is what runs.
  void name_version() {
    const ServerFound& first = servers_.front();
    if (value_at(scenario_, kEngineVersion) == nullptr && !first.engine.empty() &&
        first.engine != "vllm") {
      set(kEngineVersion, Node::string(first.engine, first.network.where));
    }
    const auto& image = first.image;
    const auto version = image ? version_of_image(image->text) : std::nullopt;
    if (!version) {
      if (image && !first.engine.empty()) {
        warn("W-engine-version",
             fmt::format("the image {} says no version of the engine that is known: "
                         "--engine-version states it",
                         shown(image->text)));
      }
      return;
    }
    constexpr scenario::Version kOldestVllm = {0, 8};
    const auto numbers = scenario::parse_version(*version);
    if (engine_name() == "vllm" && numbers && *numbers < kOldestVllm) {
      errors_.push_back(
          {.field = "image",
           .message = fmt::format("{} is older than vLLM 0.8, the first that is modelled",
                                  shown(image->text)),
           .where = image->where,
           .hint = "state a version in a copy of the file"});
      return;
    }
    const std::string text = version_text();
    const auto cut = text.find('@');
    if (cut == std::string::npos ||
        image_of(text.substr(0, cut), text.substr(cut + 1)) != image->text) {
      set(kEngineVersion,
          Node::string(fmt::format("{}@{}", engine_name(), *version), image->where));
    }
  }

  /// A launch that states no version, but flags of later releases than the one that is assumed, is
  /// of such a release.
  void raise_version() {
    std::optional<scenario::Version> since;
    for (const LaunchOptions& launch : launches_) {
      since = std::max(since, launch.since);
    }
    const scenario::EngineSection standard;
    if (since && version_text().empty() && engine_name() == "vllm" &&
        scenario::parse_version(standard.version) < since) {
      const std::string text = fmt::format("vllm@{}.{}", since->first, since->second);
      warn("W-engine-version",
           fmt::format("the launch names no version: {}, the first that is known to have all its "
                       "flags; --engine-version states it",
                       text));
      set(kEngineVersion, Node::string(text, servers_.front().network.where));
    }
  }

  // ---- Several servers

  /// Names what has no value and what is not decided; then makes of equal servers one.
  void settle() {
    refuse_unknown();
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      ServerFound& server = servers_[i];
      if (server.network.text.empty()) {
        const core::Location where = server.network.where;
        server.network = launches_[i].network;
        if (server.network.text.empty()) {
          server.network.where = where;
        }
      }
      if (!launches_[i].role.empty()) {
        server.role = launches_[i].role;
      }
    }
    if (!errors_.empty()) {
      return;
    }
    drop_parts();
    refuse_roleless();
    for (std::size_t i = 1; i < servers_.size();) {
      const auto same = first_alike(i);
      if (!same) {
        ++i;
        continue;
      }
      if (servers_[i].loop_line != 0 && servers_[i].place == servers_[*same].place) {
        errors_.push_back({.message = fmt::format("the loop of line {} starts the same server at "
                                                  "the same place, one after the other",
                                                  servers_[i].loop_line),
                           .where = servers_[i].network.where});
        return;
      }
      servers_[*same].replicas += servers_[i].replicas;
      servers_.erase(servers_.begin() + static_cast<std::ptrdiff_t>(i));
      launches_.erase(launches_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (servers_.size() == 2 && servers_[0].role == "decode" && servers_[1].role == "prefill") {
      std::swap(servers_[0], servers_[1]);
      std::swap(launches_[0], launches_[1]);
    }
    const bool is_apart =
        servers_.size() == 2 && servers_[0].role == "prefill" && servers_[1].role == "decode";
    if (servers_.size() > 1 && !is_apart) {
      refuse_several();
    } else if (servers_.size() == 1 && servers_.front().role != "serve") {
      warn("W-not-modelled",
           fmt::format("the file has the {} servers alone: they are read as whole ones",
                       servers_.front().role));
      servers_.front().role = "serve";
    }
  }

  /// The first server that is like the one at `at`.
  [[nodiscard]] std::optional<std::size_t> first_alike(std::size_t at) const {
    for (std::size_t i = 0; i < at; ++i) {
      if (servers_[i].engine == servers_[at].engine && servers_[i].role == servers_[at].role &&
          servers_[i].network.text == servers_[at].network.text &&
          servers_[i].gpus == servers_[at].gpus && servers_[i].nodes == servers_[at].nodes &&
          are_same(launches_[i].options, launches_[at].options) &&
          std::ranges::is_permutation(launches_[i].not_modelled,
                                      launches_[at].not_modelled,
                                      {},
                                      &LaunchNote::what,
                                      &LaunchNote::what)) {
        return i;
      }
    }
    return std::nullopt;
  }

  /// Ranks that another command's replica has on other nodes.
  void drop_parts() {
    const bool has_whole =
        std::ranges::any_of(launches_, [](const LaunchOptions& launch) { return !launch.is_part; });
    for (std::size_t i = launches_.size(); has_whole && i-- > 0;) {
      if (launches_[i].is_part) {
        servers_.erase(servers_.begin() + static_cast<std::ptrdiff_t>(i));
        launches_.erase(launches_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }

  /// Servers that hand KV on to each other, of which none says which way.
  void refuse_roleless() {
    const auto is_open = [](const LaunchOptions& launch) {
      return launch.role.empty() && !launch.connector.empty();
    };
    const bool is_apart = std::ranges::any_of(
        servers_, [](const ServerFound& server) { return server.role != "serve"; });
    if (!is_apart && !is_ours_ && std::ranges::count_if(launches_, is_open) > 1) {
      const auto first = std::ranges::find_if(launches_, is_open);
      errors_.push_back({.field = "--kv-transfer-config",
                         .message = fmt::format(
                             "several servers with {} kv_both: which of them prefill and which "
                             "decode is not said",
                             first->connector),
                         .where = servers_.front().network.where,
                         .hint = "kv_producer and kv_consumer, or --server 1 for the first alone"});
    }
  }

  void refuse_several() {
    std::string lines;
    for (const ServerFound& server : servers_) {
      lines += fmt::format("{}{}", lines.empty() ? "" : ", ", server.network.where.line);
    }
    errors_.push_back(
        {.field = "launches",
         .message = fmt::format("the file starts several servers, of lines {}, that "
                                "are no replicas: each differs in more than its place",
                                lines),
         .where = servers_[1].network.where,
         .hint = "--server 1 reads the first alone"});
  }

  void refuse_unknown() {
    std::vector<std::string> names;
    std::vector<std::string> placeholders;
    core::Location where;
    std::string flag;
    const auto add = [&](const LaunchNote& note) {
      const bool is_placeholder =
          note.what.find('<') != std::string::npos || note.what.starts_with("__") ||
          note.what.find("YOUR") != std::string::npos || note.what.starts_with('.');
      auto& to = is_placeholder ? placeholders : names;
      if (std::ranges::find(to, note.what) == to.end()) {
        to.push_back(note.what);
      }
      where = where.line == 0 ? note.where : where;
      flag = flag.empty() && is_placeholder ? note.why : flag;
    };
    std::vector<std::string> conditions;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      for (const LaunchNote& note : launches_[i].unknown) {
        add(note);
      }
      const Word& network = launches_[i].network;
      for (const std::string& name : unknowns_in(network.text)) {
        const bool is_part = name.starts_with('<') && name != network.text;
        add({.what = is_part ? network.text : name, .why = {}, .where = network.where});
      }
      const std::string& condition = servers_[i].condition;
      if (!condition.empty() && !is_ours_ &&
          std::ranges::find(conditions, condition) == conditions.end()) {
        conditions.push_back(condition);
        errors_.push_back(
            {.field = "launch",
             .message = fmt::format("stands under {}, which is not decided", condition),
             .where = launches_[i].network.where,
             .hint = "--env NAME=VALUE for what it asks"});
      }
    }
    if (!placeholders.empty()) {
      errors_.push_back(
          {.field = flag.empty() ? placeholders.front() : flag,
           .message = fmt::format("stands for what is yours: {}", fmt::join(placeholders, ", ")),
           .where = where,
           .hint = "put it into the file"});
    }
    if (!names.empty()) {
      errors_.push_back(
          {.field = names.front(),
           .message = fmt::format(
               "the file gives no value to {}{}", fmt::join(names, ", "), reasons_of(names)),
           .where = where,
           .hint = names.front().starts_with('$') ? "put it into the file"
                                                  : fmt::format("--env {}=VALUE", names.front())});
    }
  }

  /// The conditions that the variables hang on.
  [[nodiscard]] std::string reasons_of(const std::vector<std::string>& names) const {
    std::string text;
    for (const std::string& name : names) {
      if (const auto reason = script_.reasons.find(name); reason != script_.reasons.end()) {
        text += fmt::format("; {} hangs on {}", name, reason->second);
      }
    }
    return text;
  }

  /// At most 20 problems, in the order of their places, then a count; each once.
  void shorten() {
    constexpr std::size_t kMost = 20;
    std::ranges::stable_sort(
        errors_, {}, [](const core::Error& error) { return error.where.line; });
    core::Errors kept;
    for (core::Error& error : errors_) {
      const bool is_new = std::ranges::none_of(kept, [&](const core::Error& other) {
        return other.field == error.field && other.message == error.message;
      });
      if (is_new) {
        kept.push_back(std::move(error));
      }
    }
    errors_ = std::move(kept);
    if (errors_.size() > kMost) {
      const std::size_t more = errors_.size() - kMost;
      errors_.resize(kMost);
      errors_.push_back({.message = fmt::format("and {} more", more)});
    }
  }

  // ---- What is in no scenario

  /// One warning for each reason: W-not-modelled, and W-ignored-flag where little hangs on it.
  void warn_of_notes() {
    for (const auto& [code, notes] : {std::pair("W-not-modelled", &LaunchOptions::not_modelled),
                                      std::pair("W-ignored-flag", &LaunchOptions::ignored)}) {
      std::vector<std::pair<std::string, std::string>> said;  // Reasons, and what has them.
      for (const LaunchOptions& launch : launches_) {
        for (const LaunchNote& note : launch.*notes) {
          auto found =
              std::ranges::find(said, note.why, &std::pair<std::string, std::string>::first);
          if (found == said.end()) {
            found = said.emplace(said.end(), note.why, "");
          }
          if (found->second.find(note.what) == std::string::npos) {
            found->second += fmt::format(
                "{}{} ({})", found->second.empty() ? "" : ", ", note.what, place_text(note.where));
          }
        }
      }
      for (const auto& [why, what] : said) {
        warn(code, fmt::format("{}: {}", what, why));
      }
    }
  }

  /// The name that the scenario has for the network of the file, where it means that one.
  void name_network() {
    const Word& network = servers_.front().network;
    if (network.text.empty()) {
      errors_.push_back({.field = "serve",
                         .message = "found no network behind the server's command",
                         .where = network.where,
                         .hint = "--model of the server"});
      return;
    }
    const Node* model = scenario_.find("model");
    if (model != nullptr && model->is_string()) {
      const auto id = model::network_id(model->as_string());
      if (id && *id == network.text) {
        return;
      }
    }
    std::string name = network.text;
    std::error_code error;
    const bool is_path = name.starts_with('/') || name.starts_with('.') || name.starts_with('~') ||
                         std::ranges::count(name, '/') > 1;
    if (is_path && !std::filesystem::exists(name, error)) {
      if (std::string last = name_in_path(name); model::network_id(last)) {
        warn("W-network-path", fmt::format("{} is not here: read as {}", name, last));
        name = last + (name.ends_with('/') ? "/" : "");
      }
    }
    set("model", Node::string(name, network.where));
  }

  void check_gpus(const ServerFound& server, const LaunchOptions& launch) {
    const OptionNodes& options = launch.options;
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
    const std::int64_t has = server.gpus.value_or(0) * std::max(launch.nodes, server.nodes);
    if (has > gpus) {
      warn("W-idle-gpus",
           fmt::format("{} of {} GPUs are idle: the flags ask for {}", has - gpus, has, gpus));
    } else if (server.gpus && has != gpus) {
      errors_.push_back(
          {.field = "gpus",
           .message = fmt::format("a replica has {} GPUs, and its flags ask for {}", has, gpus),
           .where = server.network.where});
    }
  }

  void put_options() {
    const Node* pools = value_at(scenario_, kPools);
    const bool is_apart = servers_.size() > 1;
    if (pools == nullptr && is_apart &&
        !are_same(launches_.front().options, launches_.back().options)) {
      std::vector<Node> both;
      for (const ServerFound& server : servers_) {
        both.push_back(Node::map({{.key = "name",
                                   .value = Node::string(server.role, server.network.where),
                                   .where = server.network.where}},
                                 server.network.where));
      }
      set(kPools, Node::list(std::move(both), servers_.front().network.where));
      pools = value_at(scenario_, kPools);
    }
    if (pools != nullptr && pools->is_list() && pools->items().size() == servers_.size()) {
      std::vector<Node> items = pools->items();
      for (std::size_t i = 0; i < items.size(); ++i) {
        for (const auto& [option, value] : launches_[i].options) {
          if (option == "set") {
            if (i == 0) {  // The network is that of the first.
              set(option, value);
            }
          } else {
            items[i] = with_value(items[i], option.substr(kEngineSection.size() + 1), value);
          }
        }
        const std::int64_t ranks = ranks_in(launches_[i].options);
        const std::int64_t count = servers_[i].replicas * (is_ours_ ? 1 : ranks);
        if (count_at(items[i], "instances").value_or(0) != count) {
          items[i] = with_value(items[i], "instances", Node::integer(count, {}));
        }
      }
      set(kPools, Node::list(std::move(items), pools->where()));
      return;
    }
    for (const auto& [option, value] : launches_.front().options) {
      set(option, value);
    }
  }

  /// Numbers of instances, where they are not what is assumed: one for each data-parallel rank.
  void put_replicas() {
    const std::int64_t ranks = ranks_in(launches_.front().options);
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
      const std::int64_t behind = ranks_in(launches_.back().options);
      assume(kPrefillInstances, servers_.front().replicas * ranks, true);
      assume(kDecodeInstances, servers_.back().replicas * behind, false);
    }
  }

  /// The router of the file, where there is something to route.
  void put_router(const std::optional<Word>& router) {
    const bool routes = servers_.size() == 1 && servers_.front().replicas > 1;
    if (router && routes && value_at(scenario_, kRouterName) == nullptr) {
      set(kRouterName, Node::string(router->text, router->where));
    }
  }

  /// "3 servers: 2 prefill TP2, 1 decode TP4"
  [[nodiscard]] std::string sentence(const std::string& title) const {
    std::string text = title;
    std::string list;
    std::int64_t count = 0;
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      const OptionNodes& options = launches_[i].options;
      std::string shape;
      for (const auto& [letters, path] : {std::pair("TP", "engine.tensor_parallel_size"),
                                          std::pair("PP", "engine.pipeline_parallel_size"),
                                          std::pair("DP", "engine.data_parallel_size")}) {
        if (const std::int64_t size = count_in(options, path); size > 1) {
          shape += fmt::format(" {}{}", letters, size);
        }
      }
      count += servers_[i].replicas;
      const bool is_apart = servers_[i].role != "serve";
      list += fmt::format("{}{} {}{}",
                          list.empty() ? "" : ", ",
                          servers_[i].replicas,
                          is_apart ? servers_[i].role : servers_[i].engine,
                          shape);
    }
    std::vector<std::string> missing;
    for (const LaunchOptions& launch : launches_) {
      for (const LaunchNote& note : launch.not_modelled) {
        const std::string name = note.what.substr(0, note.what.find_first_of(" ="));
        if (std::ranges::find(missing, name) == missing.end()) {
          missing.push_back(name);
        }
      }
    }
    const Node* router = value_at(scenario_, kRouterName);
    const bool is_routed = router != nullptr && router->is_string();
    return fmt::format("{}: {} server{}: {}{}{}{}",
                       text,
                       count,
                       count == 1 ? "" : "s",
                       list,
                       is_routed ? "; router " + router->as_string() : "",
                       missing.empty() ? "" : "; not modelled: ",
                       fmt::join(missing, ", "));
  }

  Node scenario_;
  std::vector<ServerFound> servers_;
  Script script_;  ///< Without commands where the file is no script.
  const LaunchChoice& choice_;
  bool is_ours_;  ///< Written by `deploy`: its conditions ask for the node, and all nodes run.
  std::vector<LaunchOptions> launches_;
  core::Errors errors_;
};

}  // namespace

core::Result<Deployed> assemble(Found found, Node assumed, const LaunchChoice& choice) {
  return Assembly(std::move(assumed), std::move(found.servers), std::move(found.script), choice)
      .run(found.title, found.router);
}

}  // namespace ridgeline::deploy
