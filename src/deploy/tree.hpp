#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "document/document.hpp"
#include "scenario/node_builder.hpp"

namespace ridgeline::deploy {

using scenario::MapBuilder;

[[nodiscard]] inline document::Node text_node(std::string_view text) {
  return document::Node::string(std::string(text), {});
}
[[nodiscard]] inline document::Node list_node(std::vector<document::Node> items) {
  return document::Node::list(std::move(items), {});
}
[[nodiscard]] inline document::Node texts_node(const std::vector<std::string>& texts) {
  std::vector<document::Node> items;
  for (const std::string& text : texts) {
    items.push_back(text_node(text));
  }
  return list_node(std::move(items));
}

}  // namespace ridgeline::deploy
