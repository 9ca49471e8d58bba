#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::document {

/// Whether a key that a schema requires may be missing: files of an earlier version lack what was
/// added since.
enum class Missing : std::uint8_t { kAllow, kRefuse };

/// Holds a value against a JSON Schema (draft 7) of ours: `type`, `enum`, `const`, `anyOf`,
/// `minimum`, `maximum`, `exclusiveMinimum`, `properties`, `additionalProperties` where it is a
/// schema, `items`, `required`, and `$ref` to a definition of `root`, of which `schema` is a part.
/// Keys that the schema does not know are no problem,
/// and an integer is one that int64 holds. Fails with the first problem: its dotted
/// field below `field`, what was found and what was expected. `file` names the value in errors.
core::Result<void> check_schema(const Node& value,
                                const Node& schema,
                                const Node& root,
                                Missing missing,
                                const std::string& field,
                                const std::string& file);

}  // namespace ridgeline::document
