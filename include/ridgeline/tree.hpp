#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ridgeline/error.hpp"

namespace ridgeline {

namespace document {
class Node;
}

inline namespace v0 {

/// A result as `--format json` has it, to be read: maps and lists of numbers and texts. Copies
/// share the tree, which stays as long as one of them does. What is not there is null.
class RIDGELINE_EXPORTED Tree {
 public:
  enum class Kind { kNull, kBool, kInteger, kReal, kString, kList, kMap };

  Tree() = default;
  /// For the library itself.
  explicit Tree(std::shared_ptr<const document::Node> node) : node_(std::move(node)) {}

  [[nodiscard]] Kind kind() const;
  [[nodiscard]] bool is_null() const { return kind() == Kind::kNull; }
  /// The value, where it is of that kind; number() takes integers as well.
  [[nodiscard]] std::optional<bool> boolean() const;
  [[nodiscard]] std::optional<std::int64_t> integer() const;
  [[nodiscard]] std::optional<double> number() const;
  [[nodiscard]] std::optional<std::string> text() const;

  /// Items of a list or members of a map, else 0.
  [[nodiscard]] std::size_t size() const;
  /// The item, or the member's value, of that number from 0; null beyond size().
  [[nodiscard]] Tree operator[](std::size_t index) const;
  /// The key of a map's member of that number; empty for anything else.
  [[nodiscard]] std::string key(std::size_t index) const;
  /// The member of that key; null where there is none.
  [[nodiscard]] Tree operator[](std::string_view key) const;

  /// As indented JSON, with a line break at its end.
  [[nodiscard]] std::string json() const;

 private:
  std::shared_ptr<const document::Node> node_;
};

}  // namespace v0
}  // namespace ridgeline
