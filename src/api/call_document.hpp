#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::api {

/// A call's document, from which a verb takes its own keys; the rest is the scenario.
class CallDocument {
 public:
  explicit CallDocument(const document::Node& document) : members_(document.members()) {}

  /// The value of a key, which is then no part of the scenario; null where it is not there.
  document::Node take(std::string_view key) {
    const auto found = std::ranges::find(members_, key, &document::Node::Member::key);
    if (found == members_.end()) {
      return {};
    }
    document::Node value = found->value;
    members_.erase(found);
    return value;
  }
  /// A text; empty where the key is not there.
  std::string take_text(std::string_view key) {
    const document::Node value = take(key);
    if (value.is_null()) {
      return {};
    }
    if (!value.is_string()) {
      expected(key, value, "a text");
      return {};
    }
    return value.as_string();
  }
  bool take_bool(std::string_view key, bool otherwise) {
    const document::Node value = take(key);
    if (value.is_null()) {
      return otherwise;
    }
    if (value.kind() != document::Node::Kind::kBool) {
      expected(key, value, "true or false");
      return otherwise;
    }
    return value.as_bool();
  }
  std::vector<std::string> take_texts(std::string_view key) {
    const document::Node value = take(key);
    std::vector<std::string> texts;
    if (value.is_null()) {
      return texts;
    }
    if (!value.is_list() || !std::ranges::all_of(value.items(), &document::Node::is_string)) {
      expected(key, value, "a list of texts");
      return texts;
    }
    for (const document::Node& item : value.items()) {
      texts.push_back(item.as_string());
    }
    return texts;
  }
  /// A count of at least 1; `otherwise` where the key is not there.
  std::int64_t take_count(std::string_view key, std::int64_t otherwise, std::int64_t highest) {
    return take_integer(key, otherwise, 1, highest);
  }
  std::int64_t take_integer(std::string_view key,
                            std::int64_t otherwise,
                            std::int64_t lowest,
                            std::int64_t highest) {
    const document::Node value = take(key);
    if (value.is_null()) {
      return otherwise;
    }
    if (value.kind() != document::Node::Kind::kInteger || value.as_integer() < lowest ||
        value.as_integer() > highest) {
      expected(key, value, fmt::format("a whole number from {} to {}", lowest, highest));
      return otherwise;
    }
    return value.as_integer();
  }
  std::optional<double> take_number(std::string_view key) {
    const document::Node value = take(key);
    if (value.is_null()) {
      return std::nullopt;
    }
    if (value.kind() != document::Node::Kind::kInteger &&
        value.kind() != document::Node::Kind::kReal) {
      expected(key, value, "a number");
      return std::nullopt;
    }
    return value.as_real();
  }
  /// Ends a verb that has no scenario: each key that is left is an error.
  void end() {
    for (const auto& member : members_) {
      errors_.push_back({.field = member.key, .message = "unknown key", .where = member.where});
    }
  }
  [[nodiscard]] const core::Errors& errors() const { return errors_; }
  [[nodiscard]] document::Node scenario() const { return document::Node::map(members_, {}); }

 private:
  void expected(std::string_view key, const document::Node& found, const std::string& what) {
    errors_.push_back({.field = std::string(key),
                       .message = fmt::format("found {}, expected {}", found.describe(), what),
                       .where = found.where()});
  }

  std::vector<document::Node::Member> members_;
  core::Errors errors_;
};

}  // namespace ridgeline::api
