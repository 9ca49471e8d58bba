#include "report/tree.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/document.hpp"
#include "core/result.hpp"

namespace ridgeline::report {

core::Node text_node(std::string_view text) {
  return core::Node::string(std::string(text), {});
}

core::Node integer_node(std::int64_t value) {
  return core::Node::integer(value, {});
}

core::Node number_node(std::optional<double> value) {
  return value && std::isfinite(*value) ? core::Node::real(*value, {}) : core::Node::null({});
}

core::Node bool_node(std::optional<bool> value) {
  return value ? core::Node::boolean(*value, {}) : core::Node::null({});
}

core::Node list_node(std::vector<core::Node> items) {
  return core::Node::list(std::move(items), {});
}

MapBuilder& MapBuilder::add(std::string_view key, core::Node value) {
  members_.push_back({.key = std::string(key), .value = std::move(value), .where = {}});
  return *this;
}

core::Node MapBuilder::build() {
  return core::Node::map(std::move(members_), {});
}

core::Node warnings_tree(const core::Warnings& warnings) {
  std::vector<core::Node> items;
  items.reserve(warnings.size());
  for (const auto& warning : warnings) {
    items.push_back(MapBuilder()
                        .add("code", text_node(warning.code))
                        .add("message", text_node(warning.message))
                        .add("hint", text_node(warning.hint))
                        .build());
  }
  return list_node(std::move(items));
}

}  // namespace ridgeline::report
