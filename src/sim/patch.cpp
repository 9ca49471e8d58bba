#include "sim/patch.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/document.hpp"
#include "core/result.hpp"
#include "sim/scenario.hpp"

namespace ridgeline::sim {

namespace {

core::Location patched_location() {
  return {.file = "command line", .line = 0, .column = 0};
}

core::Node relocated(const core::Node& value) {
  switch (value.kind()) {
    case core::Node::Kind::kBool:
      return core::Node::boolean(value.as_bool(), patched_location());
    case core::Node::Kind::kInteger:
      return core::Node::integer(value.as_integer(), patched_location());
    case core::Node::Kind::kReal:
      return core::Node::real(value.as_real(), patched_location());
    case core::Node::Kind::kString:
      return core::Node::string(value.as_string(), patched_location());
    case core::Node::Kind::kNull:
    case core::Node::Kind::kList:
    case core::Node::Kind::kMap:
      break;
  }
  return value;
}

/// `map` with the value at `path` (dotted) set.
core::Result<core::Node> with_value(const core::Node& map,
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
  std::vector<core::Node::Member> members = map.members();
  auto member = std::ranges::find(members, key, &core::Node::Member::key);
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
  return core::Node::map(std::move(members), map.where());
}

}  // namespace

core::Result<core::Node> apply_patches(const core::Node& document,
                                       const std::vector<Patch>& patches,
                                       std::string_view target) {
  core::Node patched = document;
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

}  // namespace ridgeline::sim
