#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "document/document.hpp"

namespace ridgeline::routing {

/// One parameter of a routing policy: a line of the policy's own table, from which the scenario's
/// keys and flags, `list routers` and the docs come.
struct Parameter {
  /// What holds when it is not given; its type is the parameter's.
  using Value = std::variant<bool, std::int64_t, double, std::string_view>;

  std::string_view name;  ///< As the system calls it.
  Value standard;
  double lowest = 0.0;  ///< Numbers: the inclusive range.
  double highest = 0.0;
  std::span<const std::string_view> choices = {};  ///< Words: what is allowed.
  std::string_view help;
  std::string_view source;  ///< Where the default is taken from.

  /// "true or false", "integer", "number" or "text".
  [[nodiscard]] std::string_view kind() const;
  [[nodiscard]] std::string default_text() const;
};

/// A stated value of a parameter.
struct NamedValue {
  std::string name;
  document::Node value;
};

/// A scorer of a profile as the user states it.
struct NamedWeight {
  std::string name;
  double weight = 1.0;
};

/// What a policy is made with, beyond its defaults. What is stated has been checked against the
/// policy's table.
struct RouterSetup {
  std::vector<NamedValue> parameters = {};
  std::vector<NamedWeight> scorers = {};  ///< In place of the profile's; empty: the profile's.
  std::string picker = {};                ///< Empty: the profile's.
  std::int64_t block_tokens = 16;         ///< Of a block of the instances' KV cache.
  std::int64_t gateways = 1;              ///< Of which each has a policy of its own.
  std::int64_t gateway = 0;               ///< Which of them this is.

  /// The value of a parameter: the stated one, else that of the policy's table. Requires that the
  /// table has it, with this type.
  [[nodiscard]] bool truth(std::span<const Parameter> table, std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::span<const Parameter> table, std::string_view name) const;
  [[nodiscard]] double number(std::span<const Parameter> table, std::string_view name) const;
  [[nodiscard]] std::string word(std::span<const Parameter> table, std::string_view name) const;
};

}  // namespace ridgeline::routing
