#include "plan/engines.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "engine/schedulers.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::plan {
namespace {

using document::Node;

constexpr std::string_view kSection = "engine";
constexpr std::string_view kExclude = "exclude";

std::string dotted(std::string_view key) {
  return fmt::format("{}.{}", kSection, key);
}

/// The values of an axis: a list, or one that stands alone.
std::vector<Node> items_of(const Node& node) {
  return node.is_list() ? node.items() : std::vector<Node>{node};
}

std::string text_of(const Node& version) {
  return version.is_string() ? version.as_string() : std::string();
}

/// Whether two values of `engine.version` are of one engine.
bool is_one_engine(const std::string& version, const std::string& other) {
  const auto one = engine::find_engine(scenario::named_version(version));
  const auto two = engine::find_engine(scenario::named_version(other));
  return one && two && one->engine == two->engine;
}

/// A part for some versions of one engine.
class Part {
 public:
  explicit Part(std::vector<Node> versions)
      : engine_(engine_named(text_of(versions.front()))), versions_(std::move(versions)) {}

  [[nodiscard]] EngineQuestion of(const EngineQuestion& whole) const {
    EngineQuestion part{.base = base_of(whole.base), .overrides = {}, .axes = axes_of(whole.axes)};
    for (const scenario::Override& change : whole.overrides) {
      if (has(change.path)) {
        part.overrides.push_back(change);
      }
    }
    return part;
  }

 private:
  [[nodiscard]] bool has(std::string_view path) const {
    const scenario::Option* option = scenario::find_option(path);
    return option == nullptr || scenario::applies(*option, engine_);
  }

  [[nodiscard]] Node base_of(const Node& base) const {
    std::vector<Node::Member> members = base.members();
    for (Node::Member& member : members) {
      if (member.key == kSection && member.value.is_map()) {
        std::vector<Node::Member> kept = member.value.members();
        std::erase_if(kept, [&](const auto& setting) { return !has(dotted(setting.key)); });
        member.value = Node::map(std::move(kept), member.value.where());
      }
    }
    return Node::map(std::move(members), base.where());
  }

  [[nodiscard]] Node axes_of(const Node& axes) const {
    std::vector<Node::Member> members;
    for (const Node::Member& member : axes.members()) {
      if (member.key == kEngineVersion) {
        members.push_back({.key = member.key,
                           .value = Node::list(versions_, member.value.where()),
                           .where = member.where});
      } else if (member.key == kExclude && member.value.is_list()) {
        std::vector<Node> kept;
        for (const Node& item : member.value.items()) {
          if (!item.is_map() || narrow(item)) {
            kept.push_back(item.is_map() ? *narrow(item) : item);
          }
        }
        members.push_back({.key = member.key,
                           .value = Node::list(std::move(kept), member.value.where()),
                           .where = member.where});
      } else if (has(member.key)) {
        members.push_back(member);
      }
    }
    return Node::map(std::move(members), axes.where());
  }

  /// What an exclusion says of this part; nothing where it is of other engines.
  [[nodiscard]] std::optional<Node> narrow(const Node& exclusion) const {
    std::vector<Node::Member> members = with_dotted_engine(exclusion.members());
    for (Node::Member& member : members) {
      if (!has(member.key)) {
        return std::nullopt;
      }
      if (member.key == kEngineVersion) {
        std::vector<Node> own;
        for (const Node& value : items_of(member.value)) {
          if (std::ranges::any_of(versions_, [&](const Node& version) {
                return text_of(version) == text_of(value);
              })) {
            own.push_back(value);
          }
        }
        if (own.empty()) {
          return std::nullopt;
        }
        member.value = Node::list(std::move(own), member.value.where());
      }
    }
    return Node::map(std::move(members), exclusion.where());
  }

  scenario::EngineSection engine_;
  std::vector<Node> versions_;
};

}  // namespace

Node every_engine(const core::Location& where) {
  std::vector<Node> names;
  for (const engine::SchedulerEntry& entry : engine::schedulers()) {
    names.push_back(Node::string(std::string(entry.name), where));
  }
  return Node::list(std::move(names), where);
}

std::vector<Node::Member> with_dotted_engine(const std::vector<Node::Member>& axes) {
  std::vector<Node::Member> members;
  for (const Node::Member& member : axes) {
    if (member.key != kSection) {
      members.push_back(member);
    } else if (!member.value.is_map()) {
      members.push_back({std::string(kEngineVersion), member.value, member.where});
    } else {
      for (const Node::Member& setting : member.value.members()) {
        members.push_back({dotted(setting.key), setting.value, setting.where});
      }
    }
  }
  return members;
}

scenario::EngineSection engine_named(const std::string& version) {
  scenario::EngineSection section;
  section.version = scenario::named_version(version);
  return section;
}

std::vector<std::string_view> settings_of_none(
    const std::vector<std::string>& versions,
    const std::function<bool(std::string_view path)>& is_stated) {
  std::vector<std::string_view> found;
  const bool are_known =
      std::ranges::all_of(versions, [](const auto& one) { return is_one_engine(one, one); });
  if (!are_known || std::ranges::all_of(versions, [&](const auto& one) {
        return is_one_engine(one, versions.front());
      })) {
    return found;
  }
  for (const scenario::Option& option : scenario::options()) {
    if (is_stated(option.path) && std::ranges::none_of(versions, [&](const std::string& one) {
          return scenario::applies(option, engine_named(one));
        })) {
      found.push_back(option.path);
    }
  }
  return found;
}

std::vector<EngineQuestion> by_engine(EngineQuestion question) {
  std::vector<std::vector<Node>> engines;
  if (const Node* versions = question.axes.find(kEngineVersion)) {
    for (const Node& version : items_of(*versions)) {
      const auto known = std::ranges::find_if(engines, [&](const auto& group) {
        return is_one_engine(text_of(group.front()), text_of(version));
      });
      if (known == engines.end()) {
        engines.push_back({version});
      } else {
        known->push_back(version);
      }
    }
  }
  if (engines.size() < 2) {
    return {std::move(question)};
  }
  std::vector<EngineQuestion> parts;
  for (std::vector<Node>& versions : engines) {
    parts.push_back(Part(std::move(versions)).of(question));
  }
  return parts;
}

}  // namespace ridgeline::plan
