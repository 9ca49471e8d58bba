#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "document/document.hpp"

namespace ridgeline::document {

/// One setting of a routing policy or an engine: a line of a table of its own, from which the
/// scenario's keys and flags, lists and the docs come.
struct Parameter {
  /// What holds when it is not given; its type is the parameter's.
  using Value = std::variant<bool, std::int64_t, double, std::string_view>;

  std::string_view name;  ///< As the system calls it.
  Value standard;
  double lowest = 0.0;  ///< Numbers: the inclusive range.
  double highest = 0.0;
  std::span<const std::string_view> choices = {};  ///< Words: what is allowed.
  std::string_view help;
  std::string_view source;      ///< Where the default is taken from.
  std::string_view unset = {};  ///< What holds in place of `standard` where that is derived.

  /// "true or false", "integer", "number" or "text".
  [[nodiscard]] std::string_view kind() const;
  [[nodiscard]] std::string default_text() const;
  /// `standard` as a node; null where the value is derived.
  [[nodiscard]] Node standard_node() const;
};

/// A stated value of a parameter.
struct NamedValue {
  std::string name;
  Node value;
};

/// Stated values before a table: each is the stated one, else the table's. What is stated has been
/// checked against the table. Each look-up requires that the table has the parameter, of this type.
class ParameterValues {
 public:
  ParameterValues(std::span<const Parameter> table, std::span<const NamedValue> stated)
      : table_(table), stated_(stated) {}

  /// The stated value; nullptr where there is none.
  [[nodiscard]] const Node* stated(std::string_view name) const;
  [[nodiscard]] bool truth(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] std::string word(std::string_view name) const;

 private:
  std::span<const Parameter> table_;
  std::span<const NamedValue> stated_;
};

}  // namespace ridgeline::document
