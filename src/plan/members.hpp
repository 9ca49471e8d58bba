#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::plan {

/// The place of what flags say, and a text of theirs.
inline constexpr const char* kFlags = "command line";
inline document::Node flag_node(std::string_view text) {
  return document::Node::string(std::string(text), {.file = kFlags});
}

/// A map that is read member by member and put together again.
class Members {
 public:
  explicit Members(std::vector<document::Node::Member> members) : members_(std::move(members)) {}

  std::optional<document::Node> take(std::string_view key) {
    const auto found = std::ranges::find(members_, key, &document::Node::Member::key);
    if (found == members_.end()) {
      return std::nullopt;
    }
    document::Node node = std::move(found->value);
    members_.erase(found);
    return node;
  }
  void set(std::string_view key, document::Node node) {
    const core::Location where = node.where();
    take(key);
    members_.push_back({.key = std::string(key), .value = std::move(node), .where = where});
  }
  [[nodiscard]] document::Node map() const { return document::Node::map(members_, {}); }
  [[nodiscard]] bool empty() const { return members_.empty(); }

 private:
  std::vector<document::Node::Member> members_;
};

/// Whether a document states what stands at a dotted path.
[[nodiscard]] inline bool has_path(const document::Node& node, std::string_view path) {
  if (node.find(path) != nullptr) {
    return true;
  }
  const auto dot = path.find('.');
  const document::Node* below =
      dot == std::string_view::npos ? nullptr : node.find(path.substr(0, dot));
  return below != nullptr && has_path(*below, path.substr(dot + 1));
}

}  // namespace ridgeline::plan
