#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "evidence/validate/evidence.hpp"

/// Published runs name a network and, beside it, a precision: what ran is the checkpoint of the
/// network in that precision.
namespace ridgeline::evidence::validate {

/// Formats of weights that one word of a record may mean.
enum class WeightKind : unsigned char { k32Bit, k16Bit, kFp8, kInt8, kFp4, kInt4 };

/// "nvfp4", "mxfp4" and "fp4" mean FP4; "awq", "gptq" and "w4a16" INT4. Nothing for other words.
[[nodiscard]] std::optional<WeightKind> weight_kind(std::string_view word);

/// The kind of most of a network's weights: its routed experts', else its dense layers'. Nothing
/// for a network that is not known.
[[nodiscard]] std::optional<WeightKind> kind_of_network(const std::string& network);

/// The catalogue's network of the same shape whose weights are of that kind; of several the one
/// whose name begins most like the network's. Nothing where there is none.
[[nodiscard]] std::optional<std::string> sibling_of(const std::string& network, WeightKind kind);

}  // namespace ridgeline::evidence::validate
