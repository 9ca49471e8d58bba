#include "scenario/patch.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

namespace {

core::Location patched_location() {
  return {.file = "command line", .line = 0, .column = 0};
}

document::Node relocated(const document::Node& value) {
  switch (value.kind()) {
    case document::Node::Kind::kBool:
      return document::Node::boolean(value.as_bool(), patched_location());
    case document::Node::Kind::kInteger:
      return document::Node::integer(value.as_integer(), patched_location());
    case document::Node::Kind::kReal:
      return document::Node::real(value.as_real(), patched_location());
    case document::Node::Kind::kString:
      return document::Node::string(value.as_string(), patched_location());
    case document::Node::Kind::kNull:
    case document::Node::Kind::kList:
    case document::Node::Kind::kMap:
      break;
  }
  return value;
}

/// `map` with the value at `path` (dotted) set.
core::Result<document::Node> with_value(const document::Node& map,
                                        std::string_view path,
                                        const Patch& patch) {
  if (!map.is_map()) {
    return core::fail({.field = fmt::format("set.{}.{}", patch.target, patch.key),
                       .message = fmt::format(
                           "there is nothing at \"{}\": above it stands {}", path, map.describe()),
                       .where = patch.value.where()});
  }
  const auto dot = path.find('.');
  const std::string_view key = path.substr(0, dot);
  std::vector<document::Node::Member> members = map.members();
  auto member = std::ranges::find(members, key, &document::Node::Member::key);
  if (member == members.end()) {
    members.push_back({.key = std::string(key), .value = {}, .where = patched_location()});
    member = members.end() - 1;
  }
  if (dot == std::string_view::npos) {
    member->value = relocated(patch.value);
    member->where = patched_location();
  } else {
    auto below = with_value(member->value, path.substr(dot + 1), patch);
    if (!below) {
      return below;
    }
    member->value = std::move(*below);
  }
  return document::Node::map(std::move(members), map.where());
}

}  // namespace

core::Result<document::Node> apply_patches(const document::Node& document,
                                           const std::vector<Patch>& patches,
                                           std::string_view target) {
  document::Node patched = document;
  core::Errors errors;
  for (const auto& patch : patches) {
    if (patch.target != target) {
      continue;
    }
    auto next = with_value(patched, patch.key, patch);
    if (next) {
      patched = std::move(*next);
    } else {
      errors.insert(errors.end(), next.error().begin(), next.error().end());
    }
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return patched;
}

void locate_patch_error(core::Error& error,
                        const std::vector<Patch>& patches,
                        std::string_view target) {
  for (const auto& patch : patches) {
    if (patch.target == target &&
        (error.field == patch.key || error.field.ends_with("." + patch.key))) {
      error.field = fmt::format("set.{}.{}", patch.target, patch.key);
      error.where = patch.value.where();
      return;
    }
  }
}

}  // namespace ridgeline::scenario
