#include "evidence/validate/strict_map.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "evidence/validate/loose_node.hpp"

namespace ridgeline::evidence::validate {

StrictMap::StrictMap(const document::Node* node, std::string path) : path_(std::move(path)) {
  if (node != nullptr && !node->is_map()) {
    problem_ = fmt::format("{}: found {}, expected a map", path_, node->describe());
  } else {
    node_ = node;
  }
}

const document::Node* StrictMap::find(std::string_view key) {
  known_.emplace_back(key);
  return node_ == nullptr ? nullptr : member_at(*node_, key);
}

void StrictMap::refuse(std::string_view key, std::string_view expected) {
  if (problem_.empty()) {
    const document::Node* found = node_ == nullptr ? nullptr : member_at(*node_, key);
    const std::string what = found == nullptr ? "nothing" : found->describe();
    problem_ = fmt::format("{}.{}: found {}, expected {}", path_, key, what, expected);
  }
}

std::optional<std::int64_t> StrictMap::count(std::string_view key) {
  if (find(key) == nullptr) {
    return std::nullopt;
  }
  const auto number = number_at(*node_, key);
  const auto count = count_at(*node_, key);
  if (!count || static_cast<double>(*count) != *number) {
    refuse(key, "a whole number, 0 or more");
  }
  return count;
}

std::optional<double> StrictMap::number(std::string_view key) {
  if (find(key) == nullptr) {
    return std::nullopt;
  }
  const auto number = number_at(*node_, key);
  if (!number || *number < 0.0) {
    refuse(key, "a number, 0 or more");
  }
  return number;
}

std::string StrictMap::text(std::string_view key) {
  const document::Node* found = find(key);
  std::string text = found == nullptr ? "" : text_at(*node_, key);
  if (found != nullptr && text.empty()) {
    refuse(key, "a text");
  }
  return text;
}

const document::Node* StrictMap::map(std::string_view key) {
  const document::Node* found = find(key);
  if (found != nullptr && !found->is_map()) {
    refuse(key, "a map");
    return nullptr;
  }
  return found;
}

const document::Node* StrictMap::list(std::string_view key) {
  const document::Node* found = find(key);
  if (found == nullptr || !found->is_list() || found->items().empty()) {
    refuse(key, "a list that is not empty");
    return nullptr;
  }
  return found;
}

std::string StrictMap::flag(std::string_view key) {
  const document::Node* found = find(key);
  const auto truth = found == nullptr ? std::nullopt : truth_at(*node_, key);
  return truth              ? (*truth ? "true" : "false")
         : found == nullptr ? std::string()
                            : text_at(*node_, key);
}

std::vector<std::string> StrictMap::rest() const {
  std::vector<std::string> keys;
  if (node_ != nullptr) {
    for (const auto& member : node_->members()) {
      if (std::ranges::find(known_, member.key) == known_.end()) {
        keys.push_back(member.key);
      }
    }
  }
  return keys;
}

std::vector<std::string> StrictMap::unread() const {
  std::vector<std::string> lines;
  for (const std::string& key : rest()) {
    lines.push_back(fmt::format("{}.{} is not read", path_, key));
  }
  return lines;
}

}  // namespace ridgeline::evidence::validate
