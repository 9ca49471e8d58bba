#pragma once

#include <string>

#include <fmt/core.h>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::document {

/// A document in one line, each key and value with its place: `{a@1:2=1@1:5 }@1:1`.
inline std::string outline(const Node& node) {
  std::string text;
  if (node.is_map()) {
    text = "{";
    for (const auto& member : node.members()) {
      text += fmt::format("{}@{}:{}={} ",
                          member.key,
                          member.where.line,
                          member.where.column,
                          outline(member.value));
    }
    text += "}";
  } else if (node.is_list()) {
    text = "[";
    for (const auto& item : node.items()) {
      text += outline(item) + " ";
    }
    text += "]";
  } else {
    text = node.describe();
  }
  return text + fmt::format("@{}:{}", node.where().line, node.where().column);
}

/// The outline, or all problems, one a line.
inline std::string outline(const core::Result<Node>& result) {
  if (result) {
    return outline(*result);
  }
  std::string text;
  for (const core::Error& error : result.error()) {
    text += (text.empty() ? "" : "\n") + core::to_string(error);
  }
  return text;
}

}  // namespace ridgeline::document
