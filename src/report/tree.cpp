#include "report/tree.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::report {

document::Node text_node(std::string_view text) {
  return document::Node::string(std::string(text), {});
}

document::Node integer_node(std::int64_t value) {
  return document::Node::integer(value, {});
}

document::Node number_node(std::optional<double> value) {
  return value && std::isfinite(*value) ? document::Node::real(*value, {})
                                        : document::Node::null({});
}

document::Node bool_node(std::optional<bool> value) {
  return value ? document::Node::boolean(*value, {}) : document::Node::null({});
}

document::Node list_node(std::vector<document::Node> items) {
  return document::Node::list(std::move(items), {});
}

document::Node texts_node(const std::vector<std::string>& texts) {
  std::vector<document::Node> items;
  items.reserve(texts.size());
  for (const std::string& text : texts) {
    items.push_back(text_node(text));
  }
  return list_node(std::move(items));
}

MapBuilder& MapBuilder::add(std::string_view key, document::Node value) {
  members_.push_back({.key = std::string(key), .value = std::move(value), .where = {}});
  return *this;
}

document::Node MapBuilder::build() {
  return document::Node::map(std::move(members_), {});
}

document::Node warnings_tree(const core::Warnings& warnings) {
  std::vector<document::Node> items;
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
