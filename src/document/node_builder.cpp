#include "document/node_builder.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::document {

Node text_node(std::string_view text) {
  return Node::string(std::string(text), {});
}

Node integer_node(std::int64_t value) {
  return Node::integer(value, {});
}

Node number_node(std::optional<double> value) {
  return value && std::isfinite(*value) ? Node::real(*value, {}) : Node();
}

Node bool_node(std::optional<bool> value) {
  return value ? Node::boolean(*value, {}) : Node();
}

Node list_node(std::vector<Node> items) {
  return Node::list(std::move(items), {});
}

Node texts_node(const std::vector<std::string>& texts) {
  return list_of(texts, text_node);
}

Node warnings_node(const core::Warnings& warnings) {
  return list_of(warnings, [](const core::Warning& warning) -> Node {
    return MapBuilder()
        .add("code", warning.code)
        .add("message", warning.message)
        .add("hint", warning.hint);
  });
}

core::Warnings warnings_of(const Node& list) {
  core::Warnings warnings;
  const auto text = [](const Node& one, std::string_view key) {
    const Node* const found = one.find(key);
    return found != nullptr && found->is_string() ? found->as_string() : std::string();
  };
  for (const Node& one : list.is_list() ? list.items() : std::vector<Node>()) {
    warnings.push_back(
        {.code = text(one, "code"), .message = text(one, "message"), .hint = text(one, "hint")});
  }
  return warnings;
}

Node text_or_null(std::string_view text) {
  return text.empty() ? Node() : text_node(text);
}

MapBuilder& MapBuilder::add(std::string_view key, Node value) {
  members_.push_back({.key = std::string(key), .value = std::move(value), .where = {}});
  return *this;
}

}  // namespace ridgeline::document
