#include "deploy/manifest.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/article.hpp"
#include "core/check.hpp"
#include "core/glob.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "deploy/catalogue.hpp"
#include "deploy/flag_names.hpp"
#include "deploy/flags.hpp"
#include "deploy/launch.hpp"
#include "deploy/launch_flags.hpp"
#include "deploy/manifest_path.hpp"
#include "deploy/marks.hpp"
#include "deploy/script.hpp"
#include "deploy/targets.hpp"
#include "document/document.hpp"
#include "document/embedded_file.hpp"
#include "document/yaml_documents.hpp"

namespace ridgeline::deploy {
namespace {

using document::Node;

constexpr std::string_view kTableFile = "manifests.yaml";
constexpr std::string_view kRest = "rest";

const Node& table() {
  static const Node kTable = [] {
    const auto files = data_files();
    const auto file = std::ranges::find(files, kTableFile, &document::EmbeddedFile::name);
    RIDGELINE_CHECK(file != files.end(), kTableFile);
    auto read = document::parse_yaml(file->text, std::string(kTableFile));
    RIDGELINE_CHECK(read.has_value(), kTableFile);
    return *read;
  }();
  return kTable;
}

std::string text_at(const Node& row, std::string_view key) {
  const Node* node = row.find(key);
  return node == nullptr ? std::string() : plain_text(*node);
}

bool lists(const Node* list, std::string_view text) {
  return list != nullptr && list->is_list() &&
         std::ranges::any_of(list->items(), [&](const Node& item) {
           return core::matches_glob(text, plain_text(item));
         });
}

std::string kind_of(const Node& document) {
  const Node* kind = document.find("kind");
  return document.find("apiVersion") != nullptr && kind != nullptr && kind->is_string()
             ? kind->as_string()
             : std::string();
}

/// The row of a document; null where there is none.
const Node* row_of(const Node& document) {
  const std::string kind = kind_of(document);
  for (const Node& row : table().find("kinds")->items()) {
    const Node* paths = row.find("has");
    const bool is_it =
        paths == nullptr
            ? lists(row.find("kind"), kind) &&
                  text_at(document, "apiVersion").starts_with(text_at(row, "api"))
            : kind.empty() && std::ranges::all_of(paths->items(), [&](const Node& path) {
                return !places_at(document, {.node = &document}, path.as_string()).empty();
              });
    if (is_it) {
      return &row;
    }
  }
  return nullptr;
}

/// A map with the members of another that it has not itself.
Node with_rest(const Node& own, const Node& other) {
  std::vector<Node::Member> members = own.members();
  for (const Node::Member& member : other.members()) {
    if (own.find(member.key) == nullptr) {
      members.push_back(member);
    }
  }
  return Node::map(std::move(members), own.where());
}

/// "hf://ORG/NAME" without what is before the name.
std::string without_scheme(const std::string& text) {
  const std::size_t scheme = text.find("://");
  return scheme == std::string::npos ? text : text.substr(scheme + 3);
}

std::string engine_of(std::string_view text) {
  const std::string name = core::lower_case(text);
  return name.starts_with("vllm")                                ? "vllm"
         : name.starts_with("sglang")                            ? "sglang"
         : name.starts_with("trt") || name.starts_with("tensor") ? "tensorrt-llm"
                                                                 : "";
}

/// A number of GPUs: 8, "8", "H100:8".
std::optional<std::int64_t> gpus_in(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const std::string_view last =
      std::string_view(text).substr(colon == std::string::npos ? 0 : colon + 1);
  return read_count(last.substr(0, last.find("..")));
}

/// Refuses keys that stand twice in a map.
void refuse_duplicates(const Node& node, core::Errors& errors) {
  if (node.is_map()) {
    std::map<std::string_view, core::Location> seen;
    for (const Node::Member& member : node.members()) {
      const auto [first, is_new] = seen.try_emplace(member.key, member.where);
      if (!is_new) {
        errors.push_back(
            {.field = member.key,
             .message = fmt::format(
                 "given twice, first at {}:{}", first->second.line, first->second.column),
             .where = member.where});
      }
      refuse_duplicates(member.value, errors);
    }
  }
  for (const Node& item : node.is_list() ? node.items() : std::vector<Node>()) {
    refuse_duplicates(item, errors);
  }
}

/// Reads the servers of one document by its row.
class RowReader {
 public:
  RowReader(const Node& document,
            const Node& row,
            const Values& given,
            Manifest& manifest,
            core::Errors& errors)
      : document_(document), row_(row), given_(given), manifest_(manifest), errors_(errors) {}

  void run() {
    const std::size_t before = errors_.size();
    if (row_.find("once") != nullptr) {
      refuse_duplicates(document_, errors_);
    }
    if (errors_.size() > before) {
      return;
    }
    for (const Node::Member& member : document_.members()) {
      if (kind_of(document_).empty() && lists(row_.find("refuses"), member.key)) {
        refuse(member.key, "makes several deployments of the file", member.where, "write one out");
        return;
      }
    }
    warn_of_named(row_, {.node = &document_});
    read_router();
    Node server;
    for (const Node& own : row_.find("servers")->items()) {
      server = own.find("like") == nullptr ? own : with_rest(own, server);
      const std::string each = text_at(server, "each");
      for (const Place& place :
           places_at(document_, {.node = &document_}, each.empty() ? "." : each)) {
        if (is_there(server, place) && is_whole(server, place)) {
          read_server(server, place);
        }
      }
    }
  }

 private:
  void refuse(std::string_view field,
              std::string message,
              const core::Location& where,
              std::string hint = {}) {
    errors_.push_back({.field = std::string(field),
                       .message = std::move(message),
                       .where = where,
                       .hint = std::move(hint)});
  }

  [[nodiscard]] std::vector<Place> at(const Node& server,
                                      std::string_view key,
                                      const Place& place) const {
    const std::string path = text_at(server, key);
    return path.empty() ? std::vector<Place>() : places_at(document_, place, path);
  }

  /// Whether one of the paths of a map holds one of the texts beside it.
  [[nodiscard]] bool holds(const Node* conditions, const Place& place) const {
    return conditions != nullptr && conditions->is_map() &&
           std::ranges::any_of(conditions->members(), [&](const Node::Member& condition) {
             const auto found = places_at(document_, place, condition.key);
             return std::ranges::any_of(found, [&](const Place& one) {
               return lists(&condition.value, plain_text(*one.node));
             });
           });
  }

  [[nodiscard]] bool is_there(const Node& server, const Place& place) const {
    const bool is_asked = text_at(server, "if").empty() || !at(server, "if", place).empty();
    return is_asked && place.node->is_map() && !holds(server.find("unless"), place);
  }

  /// Whether a node stands for itself, and is started by default; says so where it is not.
  bool is_whole(const Node& server, const Place& place) {
    for (const Node::Member& member : place.node->members()) {
      const bool is_empty = member.value.is_list() && member.value.items().empty();
      if (lists(server.find("extended_by"), member.key)) {
        refuse(member.key, "takes members of another service, which are not read", member.where);
        return false;
      }
      if (lists(server.find("optional_by"), member.key) && !is_empty) {
        manifest_.warnings.push_back(
            {.code = "W-not-modelled",
             .message = fmt::format("{} ({}:{}): not started by default, left out",
                                    member.key,
                                    member.where.file.text(),
                                    member.where.line)});
        return false;
      }
    }
    return true;
  }

  void warn_of_named(const Node& row, const Place& place) {
    const Node* named = row.find("named");
    for (const Node& path : named == nullptr ? std::vector<Node>() : named->items()) {
      for (const Place& found : places_at(document_, place, path.as_string())) {
        manifest_.warnings.push_back({.code = "W-not-modelled",
                                      .message = fmt::format("{} ({}:{}): not in the result",
                                                             path.as_string(),
                                                             found.node->where().file.text(),
                                                             found.node->where().line)});
      }
    }
  }

  // ---- The router

  void read_router() {
    const Node* router = row_.find("router");
    if (router == nullptr) {
      return;
    }
    const auto found = places_at(document_, {.node = &document_}, text_at(*router, "at"));
    const std::string behind = text_at(*router, "behind");
    std::string name;
    for (const Place& place : found) {
      name += (name.empty() ? "" : " ") + plain_text(*place.node);
    }
    if (!behind.empty()) {
      const std::size_t at = name.find(behind);
      name = at == std::string::npos ? "" : name.substr(at + behind.size() + 1);
      name = name.substr(0, name.find_first_of(" \n\"'\\"));
    }
    if (found.empty() || name.empty()) {
      return;
    }
    const core::Location& where = found.front().node->where();
    const Node* names = router->find("names");
    if (names == nullptr) {
      manifest_.router = Word{.text = text_at(*router, "name"), .where = where};
    } else if (const Node* ours = names->find(name)) {
      manifest_.router = Word{.text = ours->as_string(), .where = where};
      manifest_.warnings.push_back(
          {.code = "W-router",
           .message = fmt::format("the router \"{}\" is read as {}", name, ours->as_string())});
    } else {
      refuse(text_at(*router, behind.empty() ? "at" : "behind"),
             fmt::format("several servers behind a router of the kind \"{}\" are not read", name),
             where,
             "--server 1 reads the first alone");
    }
  }

  // ---- Numbers

  std::int64_t product(const Node& server, const Place& place) {
    std::int64_t product = 1;
    for (const char* key : {"groups", "replicas"}) {
      if (const auto found = at(server, key, place); !found.empty()) {
        product *= count_in(*found.front().node);
      }
    }
    return product;
  }

  /// "1..4" and 1: the least.
  std::int64_t count_in(const Node& node) {
    const std::string text = plain_text(node);
    const auto count = read_count(std::string_view(text).substr(0, text.find("..")));
    if (text == "auto") {
      return 1;
    }
    constexpr std::int64_t kMost = 100'000;
    if (!count || *count < 1 || *count > kMost) {
      refuse("replicas",
             fmt::format("found {}, expected 1 or more", node.describe()),
             node.where(),
             "the file starts none: write how many");
      return 1;
    }
    return *count;
  }

  std::int64_t nodes_of(const Node& server, const Place& place) {
    std::int64_t nodes = 1;
    if (const auto found = at(server, "nodes", place); !found.empty()) {
      nodes = std::max<std::int64_t>(1, gpus_in(plain_text(*found.front().node)).value_or(1));
    } else if (const auto share = share_of(server, place); share && share->per_node == 0) {
      nodes = std::max<std::int64_t>(1, share->nodes / std::max<std::int64_t>(1, share->among));
    }
    for (const Place& more : at(server, "more_nodes", place)) {
      nodes += gpus_in(plain_text(*more.node)).value_or(0);
    }
    return nodes;
  }

  struct Share {
    std::int64_t nodes = 1;
    std::int64_t per_node = 0;  ///< GPUs; 0: not said.
    std::int64_t among = 1;
  };
  [[nodiscard]] std::optional<Share> share_of(const Node& server, const Place& place) const {
    const Node* share = server.find("share");
    if (share == nullptr) {
      return std::nullopt;
    }
    const auto number = [&](std::string_view key, std::int64_t otherwise) {
      const auto found = at(*share, key, place);
      return found.empty() ? otherwise
                           : gpus_in(plain_text(*found.front().node)).value_or(otherwise);
    };
    return Share{.nodes = number("nodes", 1),
                 .per_node = number("per_node", 0),
                 .among = number("among", 1)};
  }

  /// GPUs of one pod.
  std::optional<std::int64_t> gpus_of_pod(const Node& server,
                                          const Place& place,
                                          const Node& container) {
    for (const char* key : {"limits", "requests"}) {
      const Node* resources = container.find("resources");
      const Node* held = resources == nullptr ? nullptr : resources->find(key);
      for (const Node::Member& member :
           held == nullptr || !held->is_map() ? std::vector<Node::Member>() : held->members()) {
        const std::string& name = member.key;
        if (name.starts_with("nvidia.com/mig-")) {
          refuse(name, "a part of a GPU is not modelled", member.where);
        } else if (name.ends_with(".com/gpu") || name.starts_with("gpu.intel.com/") ||
                   name == "habana.ai/gaudi" || name == "google.com/tpu") {
          return gpus_in(plain_text(member.value));
        }
      }
    }
    for (const Place& found : at(server, "gpus", place)) {
      return gpus_in(plain_text(*found.node));
    }
    const std::string counted = text_at(server, "gpus");
    if (counted.starts_with('#')) {
      const std::size_t bar = counted.find('|');
      const auto all = places_at(document_, place, counted.substr(1, bar - 1));
      const auto one = places_at(document_, place, counted.substr(bar + 1));
      return !all.empty()   ? std::optional(static_cast<std::int64_t>(all.size()))
             : !one.empty() ? gpus_in(plain_text(*one.front().node))
                            : std::nullopt;
    }
    if (const auto share = share_of(server, place); share && share->per_node > 0) {
      return share->nodes * share->per_node / std::max<std::int64_t>(1, share->among);
    }
    return std::nullopt;
  }

  // ---- A server

  std::string role_of(const Node& server, const Place& place) {
    std::string_view paths;
    const std::string all = text_at(server, "role");
    if (all.starts_with(':')) {
      return all.substr(1);
    }
    for (paths = all; !paths.empty();) {
      const std::size_t bar = std::min(paths.find('|'), paths.size());
      const std::string path(paths.substr(0, bar));
      paths.remove_prefix(std::min(bar + 1, paths.size()));
      const bool is_key = path.find('@') != std::string::npos;
      const auto found = is_key ? std::vector<Place>() : places_at(document_, place, path);
      const std::string text = core::lower_case(
          is_key ? place.key : (found.empty() ? "" : plain_text(*found.front().node)));
      for (const char* role : {"prefill", "decode"}) {
        if (text.find(role) != std::string::npos) {
          return role;
        }
      }
    }
    return std::string(kRest);
  }

  /// The engine that the row or the node names; empty where neither does.
  std::optional<std::string> named_engine(const Node& server, const Place& place) {
    const std::string stated = text_at(server, "engine");
    if (stated.empty() || stated.starts_with(':')) {
      return stated.substr(stated.empty() ? 0 : 1);
    }
    for (const Place& found : places_at(document_, place, stated)) {
      const std::string text = plain_text(*found.node);
      std::string engine = engine_of(text);
      if (engine.empty()) {
        refuse(
            "engine", fmt::format("{} is no engine that is modelled", text), found.node->where());
        return std::nullopt;
      }
      return engine;
    }
    return text_at(server, "engine_default");
  }

  std::vector<Word> environment(const Node& server, const Place& place, const Place& container) {
    std::vector<Word> all;
    const auto add = [&](std::string_view paths, const Place& from) {
      for (const Place& found : places_at(document_, from, paths)) {
        add_variables(*found.node, all);
      }
    };
    const std::string path = text_at(server, "env");
    add(path.empty() ? "env" : path, path.empty() ? container : place);
    const Node* more = server.find("more_env");
    for (const Node& each : more == nullptr ? std::vector<Node>() : more->items()) {
      add(each.as_string(), place);
    }
    const Node* values = server.find("values");
    for (const Node::Member& value :
         values == nullptr ? std::vector<Node::Member>() : values->members()) {
      const std::string text = value_of(plain_text(value.value), server, place, *container.node);
      if (!text.empty()) {
        all.push_back(
            {.text = fmt::format("{}={}", value.key, text), .where = place.node->where()});
        note_value(server, place, value.key, text);
      }
    }
    for (const auto& [name, value] : given_) {
      all.push_back({.text = fmt::format("{}={}", name, value), .where = place.node->where()});
    }
    return all;
  }

  /// Says where a script has a variable from that its scheduler sets.
  void note_value(const Node& server,
                  const Place& place,
                  const std::string& name,
                  const std::string& value) {
    const std::vector<Word> words = script_words(server, place);
    if (!words.empty() && words.back().text.find(name) != std::string::npos) {
      manifest_.warnings.push_back(
          {.code = "W-scheduler-variable",
           .message = fmt::format("{} is {}, by the resources of the file", name, value)});
    }
  }

  std::string value_of(const std::string& path,
                       const Node& server,
                       const Place& place,
                       const Node& container) {
    if (path.starts_with(':')) {
      return path.substr(1);
    }
    if (path == "gpus") {
      const auto gpus = gpus_of_pod(server, place, container);
      return gpus ? fmt::format("{}", *gpus) : "";
    }
    if (path == "nodes") {
      return fmt::format("{}", nodes_of(server, place));
    }
    const auto found = places_at(document_, place, path);
    return found.empty() ? "" : plain_text(*found.front().node);
  }

  /// Variables stand as a list of {name, value} or of "NAME=VALUE", or as a map.
  static void add_variables(const Node& node, std::vector<Word>& all) {
    if (node.is_map()) {
      for (const Node::Member& member : node.members()) {
        all.push_back({.text = fmt::format("{}={}", member.key, plain_text(member.value)),
                       .where = member.where});
      }
    }
    for (const Node& item : node.is_list() ? node.items() : std::vector<Node>()) {
      const Node* name = item.find("name");
      const Node* value = item.find("value");
      if (item.is_string() && item.as_string().find('=') != std::string::npos) {
        all.push_back({.text = item.as_string(), .where = item.where()});
      } else if (name != nullptr && value != nullptr) {
        all.push_back({.text = fmt::format(
                           "{}={}", plain_text(*name), with_single_dollars(plain_text(*value))),
                       .where = item.where()});
      }
    }
  }

  static std::string with_single_dollars(std::string_view text) {
    std::string single;
    for (std::size_t i = 0; i < text.size(); ++i) {
      single += text[i];
      i += text.substr(i).starts_with("$$") ? 1U : 0U;
    }
    return single;
  }

  /// A word with the variables that Kubernetes puts in: $(NAME).
  static Word expanded(Word word, const std::vector<Word>& variables) {
    std::string whole;
    std::string_view text = word.text;
    while (!text.empty()) {
      const std::size_t end = text.find(')');
      if (text.starts_with("$$")) {
        whole += '$';
        text.remove_prefix(2);
      } else if (text.starts_with("$(") && end != std::string_view::npos) {
        const std::string name(text.substr(2, end - 2));
        const auto found = std::ranges::find_if(
            variables, [&](const Word& variable) { return variable.text.starts_with(name + "="); });
        whole +=
            found == variables.end() ? unknown_mark(name) : found->text.substr(name.size() + 1);
        text.remove_prefix(end + 1);
      } else {
        whole += text.front();
        text.remove_prefix(1);
      }
    }
    word.text = std::move(whole);
    return word;
  }

  /// The words of `command` or `args`: a list, or a text that is split as a shell does.
  std::vector<Word> words_of(const std::vector<Place>& places, const std::vector<Word>& variables) {
    std::vector<Word> words;
    for (const Place& place : places) {
      if (place.node->is_list()) {
        for (const Node& item : place.node->items()) {
          words.push_back(expanded({.text = plain_text(item), .where = item.where()}, variables));
        }
      } else {
        split(expanded({.text = plain_text(*place.node), .where = place.node->where()}, variables),
              words);
      }
    }
    return words;
  }

  void split(const Word& text, std::vector<Word>& words) {
    Values given;
    for (const ScriptCommand& command :
         read_script(text.text, text.where, given_, errors_, true).commands) {
      words.insert(words.end(), command.words.begin(), command.words.end());
    }
  }

  /// A first word that holds the whole line: "vllm serve X --port 1".
  std::vector<Word> split_lines(std::vector<Word> words) {
    const bool is_line = !words.empty() && words.front().text.find(' ') != std::string::npos;
    std::vector<Word> whole;
    for (Word& word : words) {
      if (is_line && &word == &words.front()) {
        split(word, whole);
      } else {
        whole.push_back(std::move(word));
      }
    }
    return whole;
  }

  /// The container's own words.
  std::vector<Word> words_of_container(const Node& server,
                                       const Place& place,
                                       const Place& container,
                                       const std::vector<Word>& variables,
                                       bool& has_command) {
    const auto words_at = [&](const char* key) {
      const std::string path = text_at(server, key);
      return words_of(places_at(document_,
                                path.empty() ? container : place,
                                path.empty() ? std::string_view(key) : std::string_view(path)),
                      variables);
    };
    std::vector<Word> words = words_at("command");
    has_command = !words.empty();
    for (Word& word : words_at("args")) {
      words.push_back(std::move(word));
    }
    return split_lines(std::move(words));
  }

  /// The words that the kind makes of its own members, as flags of the engine.
  std::vector<Word> words_of_kind(const Node& server, const Place& place, std::string_view engine) {
    std::vector<Node::Member> members;
    const Node* words = server.find("words");
    const bool is_asked =
        server.find("words_if") == nullptr || holds(server.find("words_if"), place);
    for (const Node::Member& word :
         words == nullptr || !is_asked ? std::vector<Node::Member>() : words->members()) {
      for (const Place& found : places_at(document_, place, word.key)) {
        members.push_back(
            {.key = word.value.as_string(), .value = *found.node, .where = found.node->where()});
      }
    }
    for (const Place& flags : at(server, "flags", place)) {
      for (const Node::Member& member :
           flags.node->is_map() ? flags.node->members() : std::vector<Node::Member>()) {
        const bool is_switch = member.value.is_string() && member.value.as_string().empty();
        members.push_back({.key = member.key,
                           .value = is_switch ? Node::boolean(true, member.where) : member.value,
                           .where = member.where});
      }
    }
    return words_of_config(engine, Node::map(std::move(members), place.node->where()));
  }

  void rename(const Node& server, std::vector<Word>& words) const {
    const Node* names = server.find("rename");
    for (Word& word : words) {
      const std::size_t equals = std::min(word.text.find('='), word.text.size());
      const Node* name = names == nullptr ? nullptr : names->find(word.text.substr(0, equals));
      if (name != nullptr) {
        word.text = name->as_string() + word.text.substr(equals);
      }
    }
  }

  void read_server(const Node& server, const Place& place) {
    const std::size_t before = manifest_.servers.size();
    const std::vector<Place> containers = containers_of(server, place);
    for (const Place& container : containers) {
      read_container(server, place, container, false);
      if (manifest_.servers.size() > before) {
        break;
      }
    }
    if (manifest_.servers.size() == before && !text_at(server, "engine").empty()) {
      const Place none{.node = place.node};
      read_container(server, place, containers.empty() ? none : containers.front(), true);
    }
    for (std::size_t i = before; i < manifest_.servers.size(); ++i) {
      ServerFound& found = manifest_.servers[i];
      found.role = role_of(server, place);
      found.replicas = product(server, place);
      found.nodes = nodes_of(server, place);
      warn_of_named(server, place);
    }
  }

  [[nodiscard]] std::vector<Place> containers_of(const Node& server, const Place& place) const {
    std::vector<Place> all;
    for (const Place& found : at(server, "containers", place)) {
      if (found.node->is_list()) {
        for (const Node& item : found.node->items()) {
          all.push_back({.node = &item});
        }
      } else {
        all.push_back(found);
      }
    }
    return all;
  }

  /// The servers of a container. `is_engine`: it is the kind's own server, whatever its words say.
  void read_container(const Node& server, const Place& place, const Place& from, bool is_engine) {
    const std::vector<Word> variables = environment(server, place, from);
    Container container{.image = {.text = {}, .where = from.node->where()},
                        .words = {},
                        .variables = variables,
                        .given = given_};
    const std::string tag = text_at(server, "tag");
    for (const Place& image :
         places_at(document_, from, tag.empty() ? "image" : text_at(server, "image"))) {
      container.image = {.text = plain_text(*image.node), .where = image.node->where()};
      for (const Place& at : tag.empty() ? std::vector<Place>() : places_at(document_, from, tag)) {
        container.image.text += ":" + plain_text(*at.node);
      }
    }
    std::vector<Word> full_image;  // "vllm/vllm-openai:${TAG:-v0.10.0}"
    if (container.image.text.find('$') != std::string::npos) {
      split(container.image, full_image);
    }
    if (full_image.size() == 1 && !is_unknown(full_image.front().text)) {
      container.image.text = full_image.front().text;
    }
    container.gpus = gpus_of_pod(server, place, *from.node);
    if (container.gpus == 0) {
      container.gpus.reset();
    }
    container.words = script_words(server, place);
    if (container.words.empty()) {
      container.words =
          words_of_container(server, place, from, variables, container.has_entrypoint);
    } else {
      container.has_entrypoint = true;
    }
    if (is_engine) {
      put_engine(server, place, std::move(container));
      return;
    }
    const Word image = container.image;
    if (!text_at(server, "engine").empty()) {
      container.image.text.clear();  // Its words alone say that they are a launch.
    }
    Script script;
    for (ServerFound& found : servers_of_container(container, script, errors_)) {
      found.image = image.text.empty() ? std::nullopt : std::optional(image);
      manifest_.servers.push_back(std::move(found));
    }
    manifest_.files.merge(script.files);
    manifest_.warnings.insert(
        manifest_.warnings.end(), script.warnings.begin(), script.warnings.end());
  }

  /// bash -c TEXT, of a kind whose member is a script.
  [[nodiscard]] std::vector<Word> script_words(const Node& server, const Place& place) const {
    std::string text;
    core::Location where;
    for (const Place& found : at(server, "script", place)) {
      where = found.node->where();
      for (const Node& line :
           found.node->is_list() ? found.node->items() : std::vector<Node>{*found.node}) {
        text += plain_text(line) + "\n";
      }
    }
    return text.empty() ? std::vector<Word>()
                        : std::vector<Word>{{.text = "bash", .where = where},
                                            {.text = "-c", .where = where},
                                            {.text = std::move(text), .where = where}};
  }

  void put_engine(const Node& server, const Place& place, Container container) {
    const auto engine = named_engine(server, place);
    if (!engine || engine->empty()) {
      return;
    }
    ServerFound found{
        .role = {}, .engine = *engine, .variables = container.variables, .gpus = container.gpus};
    found.network.where = place.node->where();
    if (!container.image.text.empty()) {
      found.image = container.image;
    }
    for (const Place& model : at(server, "model", place)) {
      found.network = {.text = without_scheme(plain_text(*model.node)),
                       .where = model.node->where()};
    }
    found.words = words_of_kind(server, place, *engine);
    if (!container.has_entrypoint) {
      rename(server, container.words);
      found.words.insert(found.words.end(), container.words.begin(), container.words.end());
    }
    const Node* inner = server.find("words_in");
    for (const Node& name : inner == nullptr ? std::vector<Node>() : inner->items()) {
      for (const Word& variable : container.variables) {
        const std::string prefix = name.as_string() + "=";
        if (variable.text.starts_with(prefix)) {
          split({.text = variable.text.substr(prefix.size()), .where = variable.where},
                found.words);
        }
      }
    }
    manifest_.servers.push_back(std::move(found));
  }

  const Node& document_;
  const Node& row_;
  const Values& given_;
  Manifest& manifest_;
  core::Errors& errors_;
};

/// Reads the documents of a file.
class Documents {
 public:
  Documents(const Values& given, core::Errors& errors) : given_(given), errors_(errors) {}

  std::optional<Manifest> run(const std::vector<Node>& documents) {
    for (const Node& document : documents) {
      take(document);
    }
    if (titles_.empty() && refused_.empty()) {
      return std::nullopt;
    }
    if (manifest_.servers.empty() && errors_.empty()) {
      refuse_empty(documents.front());
    }
    const bool is_apart = std::ranges::find(manifest_.servers, "prefill", &ServerFound::role) !=
                          manifest_.servers.end();
    for (ServerFound& server : manifest_.servers) {
      if (server.role == kRest) {
        server.role = is_apart ? "decode" : "serve";
      }
    }
    manifest_.title = fmt::format("{}", fmt::join(titles_, ", "));
    return std::move(manifest_);
  }

 private:
  void take(const Node& document) {
    const std::string kind = kind_of(document);
    if (kind == "List") {
      const Node* items = document.find("items");
      for (const Node& item :
           items != nullptr && items->is_list() ? items->items() : std::vector<Node>()) {
        take(item);
      }
      return;
    }
    if (kind == "ConfigMap") {
      keep_files(document);
    }
    const Node* row = row_of(document);
    if (row == nullptr) {
      note_other(document, kind);
      return;
    }
    if (const std::string path = text_at(*row, "text"); !path.empty()) {
      take_text(document, path);
      return;
    }
    const std::string title =
        kind.empty() ? text_at(*row, "title") : fmt::format("{} {}", text_at(*row, "title"), kind);
    const std::size_t before = manifest_.servers.size();
    const std::size_t problems = errors_.size();
    RowReader(document, *row, given_, manifest_, errors_).run();
    if (manifest_.servers.size() > before || errors_.size() > problems) {
      if (std::ranges::find(titles_, title) == titles_.end()) {
        titles_.push_back(title);
      }
    } else {
      refused_.push_back({.field = kind.empty() ? "servers" : kind,
                          .message = "no container of it starts a server of vLLM, SGLang or "
                                     "TensorRT-LLM",
                          .where = document.where()});
    }
  }

  void take_text(const Node& document, const std::string& path) {
    for (const Place& text : places_at(document, {.node = &document}, path)) {
      auto inner =
          document::parse_yaml_documents(plain_text(*text.node), document.where().file.text());
      if (!inner) {
        errors_.insert(errors_.end(), inner.error().begin(), inner.error().end());
        continue;
      }
      inner_.push_back(std::move(*inner));
      for (const Node& each : inner_.back()) {
        take(each);
      }
    }
  }

  void keep_files(const Node& document) {
    const Node* data = document.find("data");
    for (const Node::Member& member :
         data != nullptr && data->is_map() ? data->members() : std::vector<Node::Member>()) {
      manifest_.files[member.key] = plain_text(member.value);
    }
  }

  void note_other(const Node& document, const std::string& kind) {
    const Node* why = table().find("refused")->find(kind);
    if (lists(table().find("autoscalers"), kind)) {
      manifest_.warnings.push_back(
          {.code = "W-not-modelled",
           .message = fmt::format("{} ({}:{}): scaling is not read, the replicas are as they stand",
                                  kind,
                                  document.where().file.text(),
                                  document.where().line)});
    } else if (!kind.empty() && !lists(table().find("passed"), kind)) {
      refused_.push_back({.field = "kind",
                          .message = why != nullptr ? fmt::format("{}: {}", kind, why->as_string())
                                                    : fmt::format("{} says nothing of a scenario",
                                                                  core::with_article(kind)),
                          .where = document.where()});
    } else if (!kind.empty()) {
      refused_.push_back(
          {.field = "kind",
           .message = fmt::format("{} says nothing of a scenario", core::with_article(kind)),
           .where = document.where(),
           .hint = "deployment.yaml, or scenario.yaml beside it"});
    }
  }

  void refuse_empty(const Node& document) {
    if (refused_.empty()) {
      errors_.push_back({.field = "kind",
                         .message = "no document of it starts a server",
                         .where = document.where()});
    } else {
      errors_.push_back(refused_.front());
    }
  }

  const Values& given_;
  core::Errors& errors_;
  Manifest manifest_;
  std::vector<std::string> titles_;
  core::Errors refused_;  ///< Documents that start no server.
  std::vector<std::vector<Node>> inner_;
};

}  // namespace

std::optional<Manifest> read_manifest(const std::vector<Node>& documents,
                                      const Values& given,
                                      core::Errors& errors) {
  return Documents(given, errors).run(documents);
}

}  // namespace ridgeline::deploy
