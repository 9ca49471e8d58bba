#include "evidence/validate/loose_node.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "document/document.hpp"
#include "document/node_path.hpp"

namespace ridgeline::evidence::validate {

namespace {

constexpr double kLargestCount = 9'007'199'254'740'992;  // 2^53: every count below is exact

}  // namespace

const document::Node* member_at(const document::Node& node, std::string_view key) {
  const document::Node* found = node.find(key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

const document::Node* member_at_path(const document::Node& node, std::string_view path) {
  const document::Node* found = at_path(node, path);
  return found == nullptr || found->is_null() ? nullptr : found;
}

std::optional<double> number_at_path(const document::Node& node, std::string_view path) {
  const std::size_t dot = path.rfind('.');
  if (dot == std::string_view::npos) {
    return number_at(node, path);
  }
  const document::Node* parent = member_at_path(node, path.substr(0, dot));
  return parent == nullptr ? std::nullopt : number_at(*parent, path.substr(dot + 1));
}

std::span<const document::Node> items_at(const document::Node& node, std::string_view key) {
  const document::Node* list = member_at(node, key);
  return list == nullptr || !list->is_list() ? std::span<const document::Node>()
                                             : std::span<const document::Node>(list->items());
}

std::optional<double> number_at(const document::Node& node, std::string_view key) {
  const document::Node* found = member_at(node, key);
  if (found == nullptr || !found->is_number() || !std::isfinite(found->as_real())) {
    return std::nullopt;
  }
  return found->as_real();
}

std::optional<double> positive_at(const document::Node& node,
                                  std::string_view key,
                                  std::string_view before,
                                  std::vector<std::string>& odd) {
  const document::Node* found = member_at(node, key);
  const auto value = number_at(node, key);
  if (found == nullptr || (value && *value > 0.0)) {
    return value;
  }
  odd.push_back(
      fmt::format("{}{} is {}, expected a number above 0", before, key, found->describe()));
  return std::nullopt;
}

std::optional<std::int64_t> count_at(const document::Node& node, std::string_view key) {
  const auto number = number_at(node, key);
  if (!number || *number < 0.0 || *number > kLargestCount) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(std::floor(*number + 0.5));
}

std::optional<bool> truth_at(const document::Node& node, std::string_view key) {
  const document::Node* found = member_at(node, key);
  if (found == nullptr || found->kind() != document::Node::Kind::kBool) {
    return std::nullopt;
  }
  return found->as_bool();
}

std::string text_at(const document::Node& node, std::string_view key) {
  const document::Node* found = member_at(node, key);
  if (found == nullptr) {
    return {};
  }
  if (found->is_string()) {
    return found->as_string();
  }
  if (found->kind() == document::Node::Kind::kInteger) {
    return fmt::format("{}", found->as_integer());
  }
  return found->is_number() ? fmt::format("{}", found->as_real()) : std::string();
}

bool mentions(std::string_view text, std::string_view word) {
  return core::lower_case(text).find(core::lower_case(word)) != std::string::npos;
}

}  // namespace ridgeline::evidence::validate
