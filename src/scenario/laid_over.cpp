#include "scenario/laid_over.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/options.hpp"
#include "scenario/override_document.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

using document::Node;

/// Whether there are options below a path, so that what stands there is no value of one option.
bool is_section(std::string_view path) {
  if (path.empty()) {
    return true;
  }
  const std::string before = fmt::format("{}.", path);
  return std::ranges::any_of(scenario::options(), [&](const scenario::Option& option) {
    return option.path.starts_with(before);
  });
}

/// A section as a map: a plain word stands for the option that names it.
Node as_map(const Node& section, std::string_view path) {
  const std::string_view key = scenario::naming_key(path);
  if (section.is_map() || section.is_null() || key.empty()) {
    return section;
  }
  return Node::map({{.key = std::string(key), .value = section, .where = section.where()}},
                   section.where());
}

Node laid_over_at(const std::string& path, const Node& base, const Node& over) {
  if (!is_section(path)) {
    return over;
  }
  const Node below = as_map(base, path);
  const Node above = as_map(over, path);
  if (!below.is_map() || !above.is_map()) {
    return over;
  }
  std::vector<Node::Member> members = below.members();
  for (const Node::Member& member : above.members()) {
    const std::string place = path.empty() ? member.key : path + "." + member.key;
    const auto found = std::ranges::find(members, member.key, &Node::Member::key);
    if (found == members.end()) {
      members.push_back(member);
    } else {
      found->value = laid_over_at(place, found->value, member.value);
    }
  }
  return Node::map(std::move(members), below.where());
}

}  // namespace

Node laid_over(const Node& base, const Node& over) {
  return laid_over_at("", base, over);
}

Node laid_over(const Node& base, const std::vector<Override>& overrides) {
  core::Errors errors;  // Reading the scenario has noted them.
  OverrideDocument changes(errors);
  for (const Override& change : overrides) {
    changes.add(change);
  }
  return laid_over(base, changes.finish());
}

}  // namespace ridgeline::scenario
