#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "document/document.hpp"

namespace ridgeline::document {

/// The value at "summary.ttft_ms.p99"; nullptr where there is none. An empty path is the node.
[[nodiscard]] inline const Node* at_path(const Node& tree, std::string_view path) {
  const Node* node = &tree;
  while (node != nullptr && !path.empty()) {
    const std::size_t dot = path.find('.');
    node = node->find(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return node;
}

/// The value there, or null.
[[nodiscard]] inline const Node& node_at(const Node& tree, std::string_view path) {
  static const Node kNothing;
  const Node* const node = at_path(tree, path);
  return node != nullptr ? *node : kNothing;
}

/// The members of a map there; none where there is no map.
[[nodiscard]] inline std::span<const Node::Member> members_at(const Node& tree,
                                                              std::string_view path) {
  const Node& node = node_at(tree, path);
  return node.is_map() ? std::span(node.members()) : std::span<const Node::Member>();
}

}  // namespace ridgeline::document
