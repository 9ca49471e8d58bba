#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "document/parameter.hpp"
#include "routing/filter_registry.hpp"
#include "routing/predictor.hpp"

namespace ridgeline::routing {

using document::NamedValue;
using document::Parameter;

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
  std::vector<NamedFilter> filters = {};  ///< In their order, before those of the profile.
  std::string picker = {};                ///< Empty: the profile's.
  std::int64_t block_tokens = 16;         ///< Tokens of a block of the instances' KV cache.
  std::int64_t instance_blocks = 0;       ///< Blocks of it; 0: not known.
  std::int64_t gateways = 1;              ///< Each gateway has a policy of its own.
  std::int64_t gateway = 0;               ///< Which of them this is.
  std::int64_t connections = 0;  ///< Connections of requests without a session (connection_of()).
  std::shared_ptr<const LatencyPredictor> predictor = {};  ///< Null: nothing is predicted.

  /// The value of a parameter: the stated one, else that of the policy's table. Requires that the
  /// table has it, with this type.
  [[nodiscard]] bool truth(std::span<const Parameter> table, std::string_view name) const {
    return document::ParameterValues(table, parameters).truth(name);
  }
  [[nodiscard]] std::int64_t integer(std::span<const Parameter> table,
                                     std::string_view name) const {
    return document::ParameterValues(table, parameters).integer(name);
  }
  [[nodiscard]] double number(std::span<const Parameter> table, std::string_view name) const {
    return document::ParameterValues(table, parameters).number(name);
  }
  [[nodiscard]] std::string word(std::span<const Parameter> table, std::string_view name) const {
    return document::ParameterValues(table, parameters).word(name);
  }
};

}  // namespace ridgeline::routing
