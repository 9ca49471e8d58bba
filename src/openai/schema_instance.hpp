#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "openai/api_error.hpp"

namespace ridgeline::openai {

/// So many nodes of a schema are looked at.
inline constexpr std::int64_t kSchemaBudget = 10'000;
/// An instance is no longer.
inline constexpr std::size_t kMostInstanceBytes = std::size_t{1} << 20U;

/// The smallest instance of a JSON schema, as compact JSON: const, the first of enum, anyOf and
/// oneOf, all of allOf, the required keys of an object, minItems of an array; 0 or the least number
/// that is allowed, "text" (repeated or cut to its length), true. Refuses what is outside of that
/// (pattern, not, if), what takes more than kSchemaBudget nodes, cycles of $ref among them, and
/// what is longer than kMostInstanceBytes. Takes time in proportion to the schema.
[[nodiscard]] ApiResult<std::string> schema_instance(std::string_view schema);

}  // namespace ridgeline::openai
