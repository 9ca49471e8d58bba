#include "deploy/launch_flags.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/glob.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/shell_word.hpp"
#include "core/text.hpp"
#include "deploy/flag_names.hpp"
#include "deploy/flags.hpp"
#include "deploy/marks.hpp"
#include "deploy/paths.hpp"
#include "deploy/script.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "scenario/draft_acceptance.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/foreign_flags.hpp"
#include "scenario/options.hpp"
#include "scenario/speculation.hpp"

namespace ridgeline::deploy {
namespace {

using document::Node;
using scenario::LaunchFlag;
using Takes = LaunchFlag::Takes;

/// Why a flag is not in the scenario, as our own command line says it.
std::string reason_of(const std::string& name) {
  for (const std::string_view program : scenario::kForeignPrograms) {
    const scenario::ForeignFlag* flag = scenario::foreign_program(program).find(name);
    if (flag != nullptr && flag->answer == scenario::ForeignFlag::Answer::kRefused) {
      std::string_view text = flag->text;
      for (const std::string_view head : {"is not modelled: ", "has another word here: "}) {
        text.remove_prefix(text.starts_with(head) ? head.size() : 0);
      }
      return std::string(text);
    }
  }
  return "not in the result";
}

/// "8k" and "8K": 8000 and 8192.
std::optional<std::int64_t> count_of(std::string_view text) {
  std::int64_t factor = 1;
  constexpr std::string_view kLetters = "kmg";
  if (!text.empty()) {
    const auto letter = static_cast<char>(std::tolower(static_cast<unsigned char>(text.back())));
    const std::size_t power = kLetters.find(letter);
    if (power != std::string_view::npos) {
      for (std::size_t i = 0; i <= power; ++i) {
        factor *= letter == text.back() ? 1000 : 1024;
      }
      text.remove_suffix(1);
    }
  }
  const auto count = core::parse_whole<std::int64_t>(text);
  std::int64_t product = 0;
  return count && !__builtin_mul_overflow(*count, factor, &product) ? std::optional(product)
                                                                    : std::nullopt;
}

/// true, false, or neither.
std::optional<bool> truth_of(std::string_view text) {
  const std::string word = core::lower_case(text);
  return word == "true"    ? std::optional(true)
         : word == "false" ? std::optional(false)
                           : std::nullopt;
}

class Reader {
 public:
  Reader(const LaunchWords& launch, core::Errors& errors)
      : launch_(launch), names_(flag_names(launch.engine)), errors_(errors) {}

  LaunchOptions run() {
    read_words(launch_.words);
    read_variables();
    finish_length();
    finish_ranks();
    finish_attention();
    finish_drafts();
    finish_own_drafts();
    return std::move(found_);
  }

 private:
  void note(const Word& word, std::string message, std::string hint = {}) {
    errors_.push_back({.field = shown(word.text.substr(0, word.text.find('='))),
                       .message = std::move(message),
                       .where = word.where,
                       .hint = std::move(hint)});
  }

  void read_words(const std::vector<Word>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const Word& word = words[i];
      if (!core::is_flag_word(word.text)) {
        take_word(word);
        continue;
      }
      i += read_flag(words, i);
    }
  }

  /// A word that is no flag's: the network.
  void take_word(const Word& word) {
    if (std::exchange(has_word_, true)) {
      unknowns_in(word.text).empty() ? note(word, "found, expected a flag") : missing(word);
    } else {
      found_.network = word;  // It wins over --model.
    }
  }

  void missing(const Word& word) {
    for (std::string& name : unknowns_in(word.text)) {
      found_.unknown.push_back({.what = std::move(name), .why = typed_, .where = word.where});
    }
  }

  void note_since(const std::optional<scenario::Version>& since) {
    if (since && (!found_.since || *found_.since < *since)) {
      found_.since = since;
    }
  }

  /// Returns how many words behind the flag are its own.
  std::size_t read_flag(const std::vector<Word>& words, std::size_t at) {
    const Word& word = words[at];
    const std::size_t equals = word.text.find('=');
    std::string typed = word.text.substr(0, equals);
    typed_ = typed;
    std::optional<Word> value;
    if (equals != std::string::npos) {
      value = Word{.text = word.text.substr(equals + 1), .where = word.where};
    }
    std::string name = with_dashes(typed.substr(typed.starts_with("--") ? 2 : 1));
    if (name.empty()) {
      return 0;
    }
    if (!typed.starts_with("--") && name.size() == 2 && name[0] == 'O') {
      value = Word{.text = name.substr(1), .where = word.where};  // "-O3"
      name = "O";
    }
    bool is_off = false;
    std::string member;
    auto meanings = names_.find(name);
    if (meanings.empty() && name.starts_with("no-")) {
      meanings = names_.find(name.substr(3));
      is_off = true;
    }
    if (const std::size_t dot = name.find('.'); meanings.empty() && dot != std::string::npos) {
      meanings = names_.find(name.substr(0, dot));
      member = typed.substr(typed.find('.') + 1);
    }
    if (meanings.size() != 1) {
      refuse_name(word, name, meanings);
      return !value && at + 1 < words.size() && !core::is_flag_word(words[at + 1].text) ? 1 : 0;
    }
    FlagMeaning meaning = meanings.front().second;
    if (!member.empty()) {
      meaning.member = member;
    }
    const Word flag{.text = fmt::format("--{}{}{}{}",
                                        is_off ? "no-" : "",
                                        meanings.front().first,
                                        member.empty() ? "" : ".",
                                        member),
                    .where = word.where};
    std::size_t taken = 0;
    Takes takes = takes_of(meaning);
    if (!value) {
      while (at + 1 + taken < words.size() && !core::is_flag_word(words[at + 1 + taken].text) &&
             (takes == Takes::kMany || (takes != Takes::kNone && taken == 0) ||
              (takes == Takes::kNone && taken == 0 && truth_of(words[at + 1].text)))) {
        const Word& next = words[at + 1 + taken++];
        value = value ? Word{.text = value->text + " " + next.text, .where = value->where} : next;
      }
      if (takes == Takes::kOne && !value && at + 1 < words.size() && meaning.flag != nullptr) {
        value = words[at + 1];  // A value that looks like a flag, as "--xyz '--a b'".
        taken = value->text.find(' ') == std::string::npos ? 0 : 1;
        value = taken == 0 ? std::nullopt : value;
      }
    }
    take(meaning, flag, value, is_off);
    return taken;
  }

  void refuse_name(const Word& word,
                   const std::string& name,
                   const std::vector<std::pair<std::string, FlagMeaning>>& meanings) {
    if (!meanings.empty()) {
      note(word,
           fmt::format("begins several flags: --{}, --{}", meanings[0].first, meanings[1].first));
      return;
    }
    const auto near = document::nearest(name, names_.all());
    note(word,
         fmt::format("is no flag of {}'s server that is known here", names_.program().title),
         near ? fmt::format("did you mean --{}?", *near) : "take it out");
  }

  static const scenario::Option* option_of(const FlagMeaning& meaning) {
    return meaning.row != nullptr ? scenario::find_option(meaning.row->option) : meaning.option;
  }

  static Takes takes_of(const FlagMeaning& meaning) {
    if (meaning.flag != nullptr) {
      return meaning.flag->takes;
    }
    const bool is_plain = meaning.row == nullptr || meaning.row->member.empty();
    return is_plain && meaning.member.empty() && option_of(meaning)->is_switch() ? Takes::kNone
                                                                                 : Takes::kOne;
  }

  void take(const FlagMeaning& meaning,
            const Word& flag,
            const std::optional<Word>& value,
            bool is_off) {
    if (meaning.flag != nullptr) {
      take_other(*meaning.flag, flag, value);
    } else if (value && !unknowns_in(value->text).empty()) {
      missing(*value);
    } else if (!meaning.member.empty() ||
               (meaning.row != nullptr && !meaning.row->member.empty())) {
      take_json(meaning, flag, value);
    } else {
      take_option(meaning, flag, value, is_off);
    }
  }

  void take_option(const FlagMeaning& meaning,
                   const Word& flag,
                   const std::optional<Word>& value,
                   bool is_off) {
    const scenario::Option& option = *option_of(meaning);
    if (meaning.row != nullptr) {
      note_since(meaning.row->since);
    }
    if (names_.is_partly_read(flag.text.substr(2))) {
      found_.ignored.push_back(
          {.what = value ? fmt::format("{} {}", flag.text, value->text) : flag.text,
           .why = "read for memory and the order of requests, not for the time of kernels",
           .where = flag.where});
    }
    if (meaning.row != nullptr && meaning.row->is_lenient && value &&
        std::ranges::find(option.choices, value->text) == option.choices.end()) {
      found_.not_modelled.push_back({.what = fmt::format("{} {}", flag.text, value->text),
                                     .why = "one of its values that are not modelled",
                                     .where = flag.where});
      return;
    }
    if (option.is_switch()) {
      const auto truth = value ? truth_of(value->text) : std::optional(true);
      if (!truth) {
        note(flag, "is a switch, expected no value");
      } else {
        give(option.path, Node::boolean(*truth != is_off, flag.where));
      }
    } else if (!value || is_off) {
      note(flag, "expected a value", std::string(option.example));
    } else if (option.kind() == "map") {
      if (auto json = json_of(*value, flag)) {
        give(option.path, std::move(*json));
      }
    } else if (option.path == "engine.max_model_len" &&
               (value->text == "auto" || value->text == "-1")) {
      erase(option.path);  // As long as the network allows.
    } else {
      give(option.path, value_of(meaning, option, *value));
    }
  }

  static Node value_of(const FlagMeaning& meaning,
                       const scenario::Option& option,
                       const Word& value) {
    if (option.kind() == "integer") {
      if (const auto count = count_of(value.text)) {
        return Node::integer(*count, value.where);
      }
    }
    if (meaning.row != nullptr) {
      for (const auto& [ours, theirs] : meaning.row->values) {
        if (theirs == value.text) {
          return Node::string(ours, value.where);
        }
      }
    }
    return typed_node(option, value);
  }

  void erase(std::string_view option) {
    std::erase_if(found_.options, [&](const auto& other) { return other.first == option; });
  }
  void give(std::string_view option, Node value) {
    erase(option);
    found_.options.emplace_back(option, std::move(value));
  }

  std::optional<Node> json_of(const Word& value, const Word& flag) {
    auto json = document::parse_json(value.text, value.where.file);
    if (!json || !json->is_map()) {
      json = document::parse_yaml(value.text, value.where.file);  // "{'method': 'mtp'}"
    }
    if (!json || !json->is_map()) {
      note(flag, fmt::format("found {}, expected a map in JSON", core::quote(value.text)));
      return std::nullopt;
    }
    return *json;
  }

  /// A flag of JSON that has options as members, or a member of one.
  void take_json(const FlagMeaning& meaning, const Word& flag, const std::optional<Word>& value) {
    if (value && meaning.member.empty() && flag.text == "--compilation-config" &&
        core::parse_whole<std::int64_t>(value->text)) {
      found_.not_modelled.push_back({.what = fmt::format("{} {}", flag.text, value->text),
                                     .why = "a level of the compiler, not in the result",
                                     .where = flag.where});
      return;
    }
    if (!value) {
      note(flag, "expected a value", "{\"cudagraph_mode\": \"FULL_DECODE_ONLY\"}");
      return;
    }
    Node json;
    if (meaning.member.empty()) {
      const auto read = json_of(*value, flag);
      if (!read) {
        return;
      }
      json = *read;
    } else {
      auto leaf = document::parse_json(value->text, value->where.file);
      json = leaf ? *leaf : Node::string(value->text, value->where);
      std::string_view rest = meaning.member;
      while (!rest.empty()) {
        const std::size_t dot = rest.rfind('.');
        const std::size_t begin = dot == std::string_view::npos ? 0 : dot + 1;
        json = Node::map(
            {{.key = std::string(rest.substr(begin)), .value = json, .where = value->where}},
            value->where);
        rest = rest.substr(0, dot == std::string_view::npos ? 0 : dot);
      }
    }
    if (meaning.row != nullptr && meaning.row->member.empty()) {
      add_members(meaning.row->option, json);
      return;
    }
    take_members(meaning.row->flag, json, "", flag);
  }

  /// Puts the members of a map to those that the option has.
  void add_members(std::string_view option, const Node& json) {
    std::vector<Node::Member> members;
    for (const auto& [path, value] : found_.options) {
      if (path == option && value.is_map()) {
        members = value.members();
      }
    }
    for (const Node::Member& member : json.members()) {
      std::erase_if(members, [&](const auto& other) { return other.key == member.key; });
      members.push_back(member);
    }
    give(option, Node::map(std::move(members), json.where()));
  }

  void take_members(const std::string& flag,
                    const Node& map,
                    const std::string& before,
                    const Word& word) {
    for (const Node::Member& member : map.members()) {
      const std::string path = before + member.key;
      const auto& rows = names_.program().options;
      const auto row = std::ranges::find_if(rows, [&](const scenario::StatedOption& other) {
        const std::size_t dot = other.member.rfind('.');
        const std::string old =
            other.before.empty() ? "" : other.member.substr(0, dot + 1) + other.before;
        return other.flag == flag && (other.member == path || old == path);
      });
      if (row != rows.end()) {
        give(row->option, member.value);
      } else if (member.value.is_map()) {
        take_members(flag, member.value, path + ".", word);
      } else {
        found_.not_modelled.push_back(
            {.what = fmt::format("--{}.{} {}", flag, path, scenario::flow_text(member.value)),
             .why = reason_of(flag),
             .where = word.where});
      }
    }
  }

  /// Reads the members of a flag's JSON that are flags of names of their own; false where none is.
  bool read_members(const LaunchFlag& row, const std::optional<Word>& value) {
    const auto json = value && value->text.starts_with('{')
                          ? document::parse_json(value->text, value->where.file)
                          : core::Result<Node>(Node());
    if (!json || !json->is_map() ||
        std::ranges::none_of(json->members(), [&](const Node::Member& member) {
          return is_launch_flag(launch_.engine, row.name + "." + member.key);
        })) {
      return false;
    }
    const core::Location where = value->where;
    std::vector<Word> words = words_of_config(
        launch_.engine, Node::map({{.key = row.name, .value = *json, .where = where}}, where));
    for (Word& word : words) {
      word.where = where;
    }
    read_words(words);
    return true;
  }

  void take_other(const LaunchFlag& row, const Word& flag, const std::optional<Word>& value) {
    if (read_members(row, value)) {
      return;
    }
    const bool is_off = row.takes == Takes::kNone && (flag.text.starts_with("--no-") ||
                                                      (value && truth_of(value->text) == false));
    const auto text = [&] {
      return is_off  ? fmt::format("--{} off", row.name)
             : value ? fmt::format("{} {}", flag.text, shown(value->text))
                     : flag.text;
    };
    const auto place = value ? value->where : flag.where;
    note_since(row.since);
    const bool is_out = launch_.version && ((row.since && *launch_.version < *row.since) ||
                                            (row.until && *row.until < *launch_.version));
    if (is_out && row.answer != "silent") {
      found_.ignored.push_back({.what = flag.text,
                                .why = fmt::format("{} {}.{} has no such flag",
                                                   names_.program().title,
                                                   launch_.version->first,
                                                   launch_.version->second),
                                .where = place});
    } else if (row.answer == "warned") {
      found_.not_modelled.push_back({.what = text(), .why = reason_of(row.name), .where = place});
    } else if (row.answer == "host") {
      found_.ignored.push_back(
          {.what = flag.text, .why = "a small effect on the host", .where = place});
    } else if (row.answer == "refused") {
      if (is_off) {
        found_.ignored.push_back({.what = text(), .why = "as it is here", .where = place});
      } else if (!value || std::ranges::find(row.unless, value->text) == row.unless.end()) {
        const bool is_beginning = flag.text.starts_with(with_dashes(typed_));
        note({.text = is_beginning ? flag.text : typed_, .where = flag.where},
             fmt::format("{} for {}, and would change it much: {}",
                         value ? fmt::format("{} is not modelled", core::quote(shown(value->text)))
                               : "is not modelled",
                         names_.program().title,
                         row.why.empty() ? reason_of(row.name) : row.why));
      }
    } else if (row.answer != "silent") {
      take_special(row, flag, value);
    }
  }

  void take_special(const LaunchFlag& row, const Word& flag, const std::optional<Word>& value) {
    if (row.answer == "part" && flag.text == "--headless") {
      found_.is_part = true;
      return;
    }
    if (row.answer == "role-switch") {  // "is-prefill-worker"
      found_.role = row.name.find("prefill") != std::string::npos ? "prefill" : "decode";
      return;
    }
    if (!value) {
      note(flag, "expected a value");
    } else if (row.answer == "model") {
      if (!has_word_) {
        missing(*value);
        found_.network = *value;
      }
    } else if (row.answer == "part") {
      const auto rank = core::parse_whole<std::int64_t>(value->text);
      found_.is_part = found_.is_part || (rank && *rank > 0);
    } else if (row.answer == "nodes") {
      found_.nodes = core::parse_whole<std::int64_t>(value->text).value_or(1);
    } else if (row.answer == "ranks") {
      ranks_ = *value;
    } else if (row.answer == "role") {
      const std::string& text = value->text;
      found_.role = text == "prefill" || text == "CONTEXT"     ? "prefill"
                    : text == "decode" || text == "GENERATION" ? "decode"
                                                               : "";
    } else if (row.answer == "config") {
      read_config(*value);
    } else if (row.answer == "network-key") {
      std::string key = row.name;
      std::ranges::replace(key, '-', '_');
      found_.ignored.push_back({.what = fmt::format("{} {}", flag.text, value->text),
                                .why = "laid over the network's own configuration",
                                .where = value->where});
      add_members("set",
                  Node::map({{.key = "model." + key,
                              .value = Node::string(value->text, value->where),
                              .where = value->where}},
                            value->where));
    } else if (!unknowns_in(value->text).empty()) {
      missing(*value);
    } else if (const auto json = json_of(*value, flag)) {
      row.answer == "network" ? take_network(*json, row.name) : take_transfer(*json, flag);
    }
  }

  /// --hf-overrides: members of the network's own config; --rope-scaling: one of them.
  void take_network(const Node& json, std::string_view name) {
    std::vector<Node::Member> members;
    const bool is_rope = name == "rope-scaling";
    if (is_rope) {
      members.push_back({.key = "model.rope_scaling", .value = json, .where = json.where()});
    }
    for (const Node::Member& member : is_rope ? std::vector<Node::Member>() : json.members()) {
      members.push_back(
          {.key = "model." + member.key, .value = member.value, .where = member.where});
    }
    found_.ignored.push_back({.what = is_rope                    ? "--rope-scaling"
                                      : launch_.engine == "vllm" ? "--hf-overrides"
                                                                 : "--json-model-override-args",
                              .why = "laid over the network's own configuration",
                              .where = json.where()});
    add_members("set", Node::map(std::move(members), json.where()));
  }

  /// Connectors that keep or carry KV in ways of their own.
  void refuse_connectors(const Node& json, const Word& flag) {
    static constexpr std::array<std::string_view, 14> kKnown = {"NixlConnector",
                                                                "NixlConnectorV1",
                                                                "P2pNcclConnector",
                                                                "MooncakeConnector",
                                                                "MooncakeConnectorV1",
                                                                "MooncakeStoreConnector",
                                                                "MoRIIOConnector",
                                                                "LMCacheConnector",
                                                                "LMCacheConnectorV1",
                                                                "LMCacheMPConnector",
                                                                "OffloadingConnector",
                                                                "SimpleCPUOffloadConnector",
                                                                "SharedStorageConnector",
                                                                "MultiConnector"};
    const Node* name = json.find("kv_connector");
    if (name != nullptr && name->is_string() &&
        std::ranges::find(kKnown, name->as_string()) == kKnown.end()) {
      errors_.push_back({.field = "kv_connector",
                         .message = fmt::format("{} is not modelled", name->as_string()),
                         .where = flag.where});
    }
    const Node* more = json.find("kv_connector_extra_config");
    const Node* list = more != nullptr && more->is_map() ? more->find("connectors") : nullptr;
    for (const Node& each :
         list != nullptr && list->is_list() ? list->items() : std::vector<Node>()) {
      if (each.is_map()) {
        refuse_connectors(each, flag);
      }
    }
  }

  void take_transfer(const Node& json, const Word& flag) {
    const auto text = [&](std::string_view key) {
      const Node* node = json.find(key);
      return node != nullptr && node->is_string() ? node->as_string() : std::string();
    };
    const std::string role = text("kv_role");
    const std::string connector = text("kv_connector");
    refuse_connectors(json, flag);
    found_.role = role == "kv_producer"   ? "prefill"
                  : role == "kv_consumer" ? "decode"
                                          : found_.role;
    if (found_.role.empty()) {
      constexpr std::array<std::string_view, 4> kHanding = {
          "NixlConnector", "P2pNcclConnector", "MooncakeConnector", "MoRIIOConnector"};
      const bool hands_on = std::ranges::find(kHanding, connector) != kHanding.end();
      found_.connector = hands_on ? connector : "";
      found_.not_modelled.push_back(
          {.what = fmt::format("{} {} {}", flag.text, connector, role),
           .why = "the server is a plain replica here, and keeps no KV outside the GPU",
           .where = flag.where});
    }
  }

  /// The text of a file that --config names: a here-document's, or one beside the launch.
  [[nodiscard]] std::optional<std::string> config_text(const Word& name) const {
    if (launch_.files != nullptr && launch_.files->contains(name.text)) {
      return plain_marks(launch_.files->at(name.text));
    }
    // A ConfigMap's file has its key for a name, wherever it is mounted.
    const std::string last = name.text.substr(name.text.rfind('/') + 1);
    if (launch_.files != nullptr && launch_.files->contains(last)) {
      return plain_marks(launch_.files->at(last));
    }
    const std::filesystem::path beside =
        std::filesystem::path(name.where.file.text()).parent_path() / name.text;
    const auto read = document::read_file(beside.string());
    return read ? std::optional(*read) : std::nullopt;
  }

  void read_config(const Word& name) {
    if (!unknowns_in(name.text).empty()) {
      missing(name);
      return;
    }
    const auto text = config_text(name);
    const auto file = text ? document::parse_yaml(*text, name.text) : core::Result<Node>(Node());
    if (!file || !file->is_map()) {
      note({.text = "--config", .where = name.where},
           fmt::format("{} is {}", core::quote(name.text), text ? "no map in YAML" : "not here"),
           text ? "" : "put it beside the launch file");
      return;
    }
    LaunchWords inner{.engine = launch_.engine,
                      .words = words_of_config(launch_.engine, *file),
                      .version = launch_.version};
    // A file in a file is none.
    std::erase_if(inner.words, [](const Word& word) { return word.text == "--config"; });
    for (Word& word : inner.words) {
      word.text = marked(word.text);
    }
    merge(read_launch(inner, errors_));
  }

  /// What stands on the command line wins over vLLM's and SGLang's file, and TensorRT-LLM's over
  /// it.
  void merge(const LaunchOptions& theirs) {
    for (const auto& [option, value] : theirs.options) {
      const bool is_given = std::ranges::any_of(
          launch_.words, [&, path = option](const Word& word) { return states(word, path); });
      if (!is_given || launch_.engine == "tensorrt-llm") {
        give(option, value);
      }
    }
    if (found_.network.text.empty()) {
      found_.network = theirs.network;
    }
    if (found_.role.empty()) {
      found_.role = theirs.role;
    }
    const auto append = [](auto& to, const auto& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(found_.not_modelled, theirs.not_modelled);
    append(found_.ignored, theirs.ignored);
    append(found_.unknown, theirs.unknown);
  }

  /// Whether a word is a flag of that option.
  [[nodiscard]] bool states(const Word& word, std::string_view path) const {
    if (!core::is_flag_word(word.text)) {
      return false;
    }
    const std::string typed = with_dashes(word.text.substr(0, word.text.find('=')));
    std::string name = typed.substr(typed.starts_with("--") ? 2 : 1);
    name = name.starts_with("no-") ? name.substr(3) : name;
    const auto meanings = names_.find(name);
    const scenario::Option* option = meanings.size() == 1 && meanings[0].second.flag == nullptr
                                         ? option_of(meanings[0].second)
                                         : nullptr;
    return option != nullptr && option->path == path;
  }

  /// With the engine's leave, the stated length is the network's.
  void finish_length() {
    const auto length = std::ranges::find(
        found_.options, "engine.max_model_len", &std::pair<std::string, Node>::first);
    const auto leave = std::ranges::find_if(launch_.variables, [](const Word& word) {
      return word.text == "VLLM_ALLOW_LONG_MAX_MODEL_LEN=1" ||
             word.text == "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1";
    });
    if (length == found_.options.end() || leave == launch_.variables.end()) {
      return;
    }
    const Node value = length->second;
    found_.ignored.push_back({.what = leave->text,
                              .why = "the length that is stated is taken for the network's longest",
                              .where = leave->where});
    add_members(
        "set",
        Node::map(
            {{.key = "model.max_position_embeddings", .value = value, .where = value.where()}},
            value.where()));
  }

  /// Expert-parallel ranks: all of the replica's GPUs, or one.
  void finish_ranks() {
    if (!ranks_ || ranks_->text == "1") {
      return;
    }
    if (!unknowns_in(ranks_->text).empty()) {
      missing(*ranks_);
      return;
    }
    std::string tensor = "1";
    for (const auto& [option, value] : found_.options) {
      if (option == "engine.tensor_parallel_size") {
        tensor = scenario::flow_text(value);
      }
    }
    give("engine.enable_expert_parallel", Node::boolean(true, ranks_->where));
    auto& notes = tensor == ranks_->text ? found_.ignored : found_.not_modelled;
    notes.push_back({.what = fmt::format("--ep-size {}", ranks_->text),
                     .why = fmt::format("whole experts are spread over all {} ranks", tensor),
                     .where = ranks_->where});
  }

  /// Attention by data-parallel ranks of which there is one is none.
  void finish_attention() {
    const auto find = [&](std::string_view path) {
      return std::ranges::find(found_.options, path, &std::pair<std::string, Node>::first);
    };
    const auto size = find("engine.data_parallel_size");
    const auto attention = find("engine.enable_dp_attention");
    if (attention != found_.options.end() &&
        (size == found_.options.end() || scenario::flow_text(size->second) == "1")) {
      found_.ignored.push_back({.what = "--enable-dp-attention",
                                .why = "without --dp-size it does nothing",
                                .where = attention->second.where()});
      found_.options.erase(attention);
    }
    const auto gpus = find("engine.tensor_parallel_size");
    if (gpus == found_.options.end() || scenario::flow_text(gpus->second) == "1") {
      erase("engine.enable_attention_dp");  // One GPU is one rank.
    }
    const auto ranks = find("engine.enable_attention_dp");
    if (ranks == found_.options.end() || scenario::flow_text(ranks->second) != "true") {
      std::erase_if(found_.options, [](const auto& option) {  // Its config does nothing.
        return option.first.starts_with("engine.attention_dp_");
      });
    }
    const auto balance = find("engine.load_balance_method");
    if (balance != found_.options.end() &&
        find("engine.enable_dp_attention") == found_.options.end()) {
      found_.ignored.push_back({.what = "--load-balance-method",
                                .why = "without --enable-dp-attention it does nothing",
                                .where = balance->second.where()});
      found_.options.erase(balance);
    }
  }

  /// TensorRT-LLM's words of a speculative config as vLLM's.
  [[nodiscard]] Node own_words(const Node& config) const {
    if (launch_.engine != "tensorrt-llm") {
      return config;
    }
    std::vector<Node::Member> members;
    for (Node::Member member : config.members()) {
      if (member.key == "decoding_type" && member.value.is_string()) {
        member.key = "method";
        member.value = Node::string(core::lower_case(member.value.as_string()), member.where);
      } else if (member.key == "num_nextn_predict_layers" || member.key == "max_draft_len") {
        member.key = "num_speculative_tokens";
      } else if (member.key == "speculative_model" || member.key == "speculative_model_dir") {
        member.key = "model";
      }
      std::erase_if(members, [&](const Node::Member& other) { return other.key == member.key; });
      members.push_back(std::move(member));
    }
    return Node::map(std::move(members), config.where());
  }

  /// Members of a speculative config that are not modelled; an acceptance, which a launch states
  /// only where it is a synthetic one.
  void finish_drafts() {
    const auto drafts =
        std::ranges::find(found_.options, kSpeculativeConfig, &std::pair<std::string, Node>::first);
    if (drafts == found_.options.end()) {
      return;
    }
    static const Node kSchema = scenario::speculative_schema();
    const Node* known = kSchema.find("properties");
    std::vector<Node::Member> members;
    bool has_acceptance = false;
    const Node words = own_words(drafts->second);
    for (const Node::Member& member : words.members()) {
      has_acceptance =
          has_acceptance || member.key == kAcceptance ||
          (member.key == "method" && member.value.is_string() &&
           scenario::has_published_acceptance(scenario::draft_method(member.value.as_string()))) ||
          (member.key == "rejection_sample_method" && member.value.is_string() &&
           member.value.as_string() == "synthetic");
      if (known == nullptr || known->find(member.key) != nullptr) {
        members.push_back(member);
      } else {
        found_.not_modelled.push_back({.what = fmt::format("--speculative-config.{}", member.key),
                                       .why = "not in the result",
                                       .where = member.where});
      }
    }
    const core::Location where = drafts->second.where();
    drafts->second = Node::map(std::move(members), where);
    if (has_acceptance || launch_.has_statement) {
      return;
    }
    if (launch_.needs_acceptance) {
      note({.text = "--speculative-config", .where = where},
           "how many drafts are accepted depends on the traffic, and a launch does not say it",
           R"(--speculative-config '{"method": ..., "acceptance": 0.7}' beside the file)");
    } else {
      found_.not_modelled.push_back(
          {.what = fmt::format("--speculative-config {}", one_line(drafts->second)),
           .why = "how many drafts are accepted is not in the file: it is read without drafts, and "
                  "a run asks for them",
           .where = where});
    }
    found_.options.erase(drafts);
  }

  /// SGLang's, of which no launch states the acceptance, either.
  void finish_own_drafts() {
    constexpr std::string_view kPrefix = "engine.speculative_";
    const auto is_of_drafts = [&](const std::pair<std::string, Node>& option) {
      return option.first.starts_with(kPrefix) && option.first != kSpeculativeConfig;
    };
    const auto states = [&](std::string_view path) {
      return std::ranges::any_of(found_.options,
                                 [&](const auto& option) { return option.first == path; });
    };
    if (!states("engine.speculative_algorithm")) {
      erase("engine.simulate_acc_len");  // The variable does nothing.
    }
    const auto algorithm = std::ranges::find_if(found_.options, [](const auto& option) {
      return option.first == "engine.speculative_algorithm" && option.second.is_string();
    });
    const bool is_eagle3 =
        algorithm != found_.options.end() && algorithm->second.as_string() == "EAGLE3";
    const bool is_mtp =
        algorithm != found_.options.end() &&
        (algorithm->second.as_string() == "EAGLE" || algorithm->second.as_string() == "NEXTN") &&
        !states("engine.speculative_draft_model_path");
    const bool has_acceptance = is_eagle3 || is_mtp || states("engine.simulate_acc_len");
    if (launch_.has_statement || launch_.needs_acceptance || has_acceptance) {
      return;
    }
    for (const auto& option : found_.options) {
      if (is_of_drafts(option)) {
        std::string flag = option.first.substr(kEngineSection.size() + 1);
        std::ranges::replace(flag, '_', '-');
        found_.not_modelled.push_back(
            {.what = fmt::format("--{} {}", flag, one_line(option.second)),
             .why = "how many drafts are accepted is not in the file: it is read without drafts, "
                    "and a run asks for them (--speculative-acceptance 0.7)",
             .where = option.second.where()});
      }
    }
    std::erase_if(found_.options, is_of_drafts);
  }

  void read_variables() {
    const scenario::LaunchVariables& known = scenario::launch_variables();
    const auto is_of = [](const std::vector<std::string>& patterns, std::string_view text) {
      return std::ranges::any_of(patterns, [&](const std::string& pattern) {
        const bool is_whole = pattern.find('=') != std::string::npos;
        return core::matches_glob(is_whole ? text : text.substr(0, text.find('=')), pattern);
      });
    };
    for (const Word& word : launch_.variables) {
      const std::size_t equals = word.text.find('=');
      const std::string name = word.text.substr(0, equals);
      if (name.empty() || equals == std::string::npos) {
        continue;
      }
      typed_ = name;
      const auto& rows = names_.program().options;
      const auto row = std::ranges::find(rows, name, &scenario::StatedOption::variable);
      if (row != rows.end()) {
        read_variable(*row, word, word.text.substr(equals + 1));
      } else if (is_of(known.refused, word.text)) {
        note(word,
             fmt::format("is {}, another engine than the one that is modelled",
                         word.text.substr(equals + 1)));
      } else if (is_of(known.modelled, word.text)) {
        found_.ignored.push_back(
            {.what = word.text, .why = "nothing here hangs on it", .where = word.where});
      } else if (is_of(known.engines, word.text) && !is_of(known.silent, word.text)) {
        found_.not_modelled.push_back(
            {.what = shown(word.text), .why = "not in the result", .where = word.where});
      }
    }
  }

  void read_variable(const scenario::StatedOption& row, const Word& word, std::string text) {
    if (!unknowns_in(text).empty()) {
      missing({.text = std::move(text), .where = word.where});
      return;
    }
    for (const auto& [ours, theirs] : row.values) {
      if (theirs == text) {
        text = ours;
        break;
      }
    }
    const scenario::Option& option = *scenario::find_option(row.option);
    const auto truth = truth_of(text);
    const bool is_there = std::ranges::any_of(
        found_.options, [&](const auto& other) { return other.first == row.option; });
    if (!is_there) {
      give(row.option,
           truth && option.is_switch() ? Node::boolean(*truth, word.where)
                                       : typed_node(option, {.text = text, .where = word.where}));
    }
  }

  const LaunchWords& launch_;
  const FlagNames& names_;
  core::Errors& errors_;
  LaunchOptions found_;
  std::optional<Word> ranks_;
  std::string typed_;  ///< The flag that is read, as it stands in the file.
  bool has_word_ = false;
};

}  // namespace

LaunchOptions read_launch(const LaunchWords& launch, core::Errors& errors) {
  return Reader(launch, errors).run();
}

}  // namespace ridgeline::deploy
