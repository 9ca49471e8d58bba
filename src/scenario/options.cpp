#include "scenario/options.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/time.hpp"
#include "document/document.hpp"
#include "document/parameter.hpp"
#include "scenario/length.hpp"
#include "scenario/scenario.hpp"
#include "scenario/speculation.hpp"
#include "workload/options.hpp"

namespace ridgeline::scenario {

namespace {

document::Node node_of(const std::string& value) {
  return document::Node::string(value, {});
}
document::Node node_of(std::int64_t value) {
  return document::Node::integer(value, {});
}
document::Node node_of(double value) {
  return document::Node::real(value, {});
}
document::Node node_of(bool value) {
  return document::Node::boolean(value, {});
}
document::Node node_of(core::Duration value) {
  return document::Node::string(fmt::format("{}s", value.to_seconds()), {});
}
document::Node node_of(const workload::Length& value) {
  return to_node(value);
}
document::Node node_of(const SpeculativeConfig& value) {
  return to_node(value);
}
document::Node node_of(const document::Node& value) {
  return value;
}
template <class T>
document::Node node_of(const std::optional<T>& value) {
  return value ? node_of(*value) : document::Node();
}
/// What a slot holds.
template <class T>
document::Node held_by(const T* slot) {
  return node_of(*slot);
}
document::Node held_by(const NamedSlot& slot) {
  const auto found = std::ranges::find(*slot.values, slot.name, &document::NamedValue::name);
  return found == slot.values->end() ? document::Node() : found->value;
}

/// The options by path.
const std::unordered_map<std::string_view, const Option*>& options_by_path() {
  static const auto kByPath = [] {
    std::unordered_map<std::string_view, const Option*> by_path;
    for (const Option& option : options()) {
      by_path.emplace(option.path, &option);
    }
    return by_path;
  }();
  return kByPath;
}

}  // namespace

std::string_view Option::section() const {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(0, dot);
}

std::string_view Option::key() const {
  return path.substr(path.rfind('.') + 1);
}

bool Option::is_switch() const {
  return kind() == "true or false";
}

std::string_view Option::kind() const {
  static Scenario scratch;  // For the types of its members alone: nothing reads or writes it.
  return std::visit(
      [this](auto value) -> std::string_view {
        using T = std::remove_pointer_t<decltype(value)>;
        if constexpr (std::is_same_v<T, NamedSlot>) {
          return named_kind;
        } else if constexpr (std::is_same_v<T, std::optional<document::Node>>) {
          return shape == Shape::kItems ? "list" : "map";
        } else if constexpr (std::is_same_v<T, std::int64_t> ||
                             std::is_same_v<T, std::optional<std::int64_t>>) {
          return "integer";
        } else if constexpr (std::is_same_v<T, std::optional<double>>) {
          return "number";
        } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::optional<bool>>) {
          return "true or false";
        } else if constexpr (std::is_same_v<T, std::optional<core::Duration>>) {
          return "duration";
        } else if constexpr (std::is_same_v<T, std::optional<workload::Length>>) {
          return "integer or distribution";
        } else if constexpr (std::is_same_v<T, std::optional<SpeculativeConfig>>) {
          return "map";
        } else {
          return "text";
        }
      },
      slot_of(*this, scratch));
}

std::string Option::default_text() const {
  return unset.empty() ? value_text(*this, Scenario()) : std::string(unset);
}

std::string Option::range_text() const {
  if (!choices.empty()) {
    return fmt::format("{}", fmt::join(choices, ", "));
  }
  return lowest == highest ? "" : fmt::format("{} to {}", lowest, highest);
}

const Option* find_option(std::string_view path) {
  const auto found = options_by_path().find(path);
  return found == options_by_path().end() ? nullptr : found->second;
}

std::vector<std::string> sections_below(std::string_view section) {
  std::vector<std::string> keys;
  const std::string before = section.empty() ? "" : fmt::format("{}.", section);
  for (const Option& option : options()) {
    const std::string_view own = option.section();
    if (own.size() <= before.size() || !own.starts_with(before)) {
      continue;
    }
    const std::string_view rest = own.substr(before.size());
    const std::string key(rest.substr(0, rest.find('.')));
    if (std::ranges::find(keys, key) == keys.end()) {
      keys.push_back(key);
    }
  }
  return keys;
}

std::string_view naming_key(std::string_view section) {
  if (section == "engine") {
    return "version";
  }
  return find_option(fmt::format("{}.name", section)) == nullptr ? "" : "name";
}

Slot slot_of(const Option& option, Scenario& scenario) {
  struct Finder {
    Scenario& scenario;
    const Option& option;
    Slot operator()(Slot (*slot)(DeploymentSection&)) const { return slot(scenario.deployment); }
    Slot operator()(Slot (*slot)(DeploymentSection&, std::string_view)) const {
      return slot(scenario.deployment, option.key());
    }
    Slot operator()(Slot (*slot)(WorkloadSection&)) const { return slot(scenario.workload); }
    Slot operator()(Slot (*slot)(RunSettings&)) const { return slot(scenario.run); }
    Slot operator()(Slot (*slot)(RunSettings&, std::string_view)) const {
      return slot(scenario.run, option.key());
    }
  };
  return std::visit(Finder{scenario, option}, option.slot);
}

std::optional<Slot> slot_of(const Option& option, DeploymentSection& deployment) {
  if (const auto* slot = std::get_if<Slot (*)(DeploymentSection&)>(&option.slot)) {
    return (*slot)(deployment);
  }
  const auto* named = std::get_if<Slot (*)(DeploymentSection&, std::string_view)>(&option.slot);
  return named == nullptr ? std::nullopt : std::optional((*named)(deployment, option.key()));
}

document::Node value_node(const Option& option, const Scenario& scenario) {
  // Slots are made for reading and writing alike; this one is read.
  auto& readable =
      const_cast<Scenario&>(scenario);  // NOLINT(cppcoreguidelines-pro-type-const-cast)
  return std::visit([](const auto& slot) { return held_by(slot); }, slot_of(option, readable));
}

std::string value_text(const Option& option, const Scenario& scenario) {
  return flow_text(value_node(option, scenario));
}

std::string flow_text(const document::Node& node) {
  switch (node.kind()) {
    case document::Node::Kind::kNull:
      return "null";
    case document::Node::Kind::kBool:
      return node.as_bool() ? "true" : "false";
    case document::Node::Kind::kInteger:
      return fmt::format("{}", node.as_integer());
    case document::Node::Kind::kReal:
      return fmt::format("{}", node.as_real());
    case document::Node::Kind::kString:
      return node.as_string();
    case document::Node::Kind::kList: {
      std::vector<std::string> items;
      for (const auto& item : node.items()) {
        items.push_back(flow_text(item));
      }
      return fmt::format("[{}]", fmt::join(items, ", "));
    }
    case document::Node::Kind::kMap: {
      std::vector<std::string> members;
      for (const auto& member : node.members()) {
        members.push_back(fmt::format("{}: {}", member.key, flow_text(member.value)));
      }
      return fmt::format("{{{}}}", fmt::join(members, ", "));
    }
  }
  return {};
}

}  // namespace ridgeline::scenario
