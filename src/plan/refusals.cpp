#include "plan/refusals.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/options.hpp"

namespace ridgeline::plan {
namespace {

std::string below(const std::string& path, const std::string& key) {
  return path.empty() ? key : fmt::format("{}.{}", path, key);
}

}  // namespace

void refuse_duplicates(const document::Node& map, const std::string& path, core::Errors& errors) {
  const auto& members = map.members();
  for (auto member = members.begin(); member != members.end(); ++member) {
    if (std::find_if(members.begin(), member, [&](const auto& earlier) {
          return earlier.key == member->key;
        }) != member) {
      errors.push_back({.field = below(path, member->key),
                        .message = "is given twice, expected once",
                        .where = member->where});
    }
  }
}

void refuse_lists(const document::Node& node, const std::string& path, core::Errors& errors) {
  if (!node.is_map()) {
    return;
  }
  for (const auto& member : node.members()) {
    const std::string field = below(path, member.key);
    const scenario::Option* option = scenario::find_option(field);
    const bool one_value = option != nullptr && option->shape == scenario::Option::Shape::kOne &&
                           option->kind() != "list" && option->kind() != "map";
    if (member.value.is_list() && one_value) {
      errors.push_back({.field = field,
                        .message = "is a list outside `space`",
                        .where = member.where,
                        .hint = fmt::format("space: {{{}: [...]}}", field)});
    } else if (option == nullptr) {
      refuse_lists(member.value, field, errors);
    }
  }
}

}  // namespace ridgeline::plan
