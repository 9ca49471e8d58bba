#include "deploy/flag_names.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "deploy/flags.hpp"
#include "document/document.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/foreign_flags.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::deploy {
namespace {

using document::Node;

std::string_view program_of(std::string_view engine) {
  return engine == "tensorrt-llm" ? "trtllm" : engine;
}

}  // namespace

std::string with_dashes(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '_', '-');
  return text;
}

FlagNames::FlagNames(std::string_view engine)
    : program_(scenario::foreign_program(program_of(engine))) {
  scenario::EngineSection section;
  section.version = engine;
  for (const scenario::StatedOption& row : program_.options) {
    const scenario::Option* option = scenario::find_option(row.option);
    if (row.flag.empty() || !scenario::applies(*option, section)) {
      continue;
    }
    add(row.flag, {.row = &row});
    if (!row.short_flag.empty()) {
      add(row.short_flag, {.row = &row});
    }
  }
  for (const scenario::LaunchFlag& flag : program_.launches) {
    if (flag.answer == "partly") {
      partly_.insert(flag.name);
    } else if (flag.means.empty()) {
      add(flag.name, {.flag = &flag});
    }
  }
  for (const scenario::LaunchFlag& flag : program_.launches) {
    if (flag.means.starts_with("engine.")) {
      add(flag.name, {.option = scenario::find_option(flag.means)});
    } else if (!flag.means.empty()) {
      const std::size_t dot = flag.means.find('.');
      FlagMeaning meaning = all_.at(flag.means.substr(0, dot));
      meaning.member = dot == std::string::npos ? "" : flag.means.substr(dot + 1);
      add(flag.name, std::move(meaning));
    }
  }
}

std::vector<std::pair<std::string, FlagMeaning>> FlagNames::find(const std::string& name) const {
  if (const auto whole = all_.find(name); whole != all_.end()) {
    return {*whole};
  }
  std::vector<std::pair<std::string, FlagMeaning>> found;
  for (auto at = all_.lower_bound(name); at != all_.end() && at->first.starts_with(name); ++at) {
    const bool is_new = std::ranges::none_of(
        found, [&](const auto& other) { return other.second.is_one(at->second); });
    if (is_new) {
      found.emplace_back(*at);
    }
  }
  return found;
}

std::vector<std::string> FlagNames::all() const {
  std::vector<std::string> names;
  for (const auto& [name, meaning] : all_) {
    names.push_back(name);
  }
  return names;
}

const FlagNames& flag_names(std::string_view engine) {
  static const std::map<std::string, FlagNames, std::less<>> kAll = [] {
    std::map<std::string, FlagNames, std::less<>> all;
    for (const std::string_view name : {"vllm", "sglang", "tensorrt-llm"}) {
      all.emplace(name, FlagNames(name));
    }
    return all;
  }();
  return kAll.find(engine)->second;
}

bool is_launch_flag(std::string_view engine, std::string_view name) {
  const auto found = flag_names(engine).find(with_dashes(name));
  return found.size() == 1 && found.front().first == with_dashes(name);
}

std::vector<Word> words_of_config(std::string_view engine, const Node& file) {
  std::vector<Word> words;
  for (const Node::Member& member : file.members()) {
    const Node& value = member.value;
    const auto put = [&](const std::string& name, const Node& node) {
      const bool is_switch = node.kind() == Node::Kind::kBool;
      if (node.is_null() || (is_switch && !node.as_bool() && engine != "vllm")) {
        return;
      }
      if (is_switch) {
        words.push_back({.text = fmt::format("--{}{}", node.as_bool() ? "" : "no-", name),
                         .where = member.where});
        return;
      }
      words.push_back({.text = "--" + name, .where = member.where});
      for (const Node& item : node.is_list() ? node.items() : std::vector<Node>{node}) {
        words.push_back({.text = item.is_map() ? one_line(item) : scenario::flow_text(item),
                         .where = item.where()});
      }
    };
    const std::string name = with_dashes(member.key);
    if (!value.is_map()) {
      put(name, value);
      continue;
    }
    // Members that are flags of their own names, then the others as JSON.
    std::vector<Node::Member> others;
    for (const Node::Member& inner : value.members()) {
      const std::string whole = fmt::format("{}.{}", name, with_dashes(inner.key));
      if (is_launch_flag(engine, whole)) {
        put(whole, inner.value);
      } else {
        others.push_back(inner);
      }
    }
    if (!others.empty()) {
      put(name, Node::map(std::move(others), value.where()));
    }
  }
  return words;
}

}  // namespace ridgeline::deploy
