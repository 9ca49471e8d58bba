#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lab/studies/expression.hpp"

/// What expressions do with single values.
namespace ridgeline::studies {

[[nodiscard]] inline bool both_whole(const Value& a, const Value& b) {
  return a.kind() == Value::Kind::kInteger && b.kind() == Value::Kind::kInteger;
}

/// A figure by a format such as ".1f", "+.2f" or "05"; nothing where that is no format.
[[nodiscard]] std::optional<std::string> figure_text(const Value& value, const std::string& format);
/// Whole numbers stay whole; nothing where the result would be too large.
[[nodiscard]] std::optional<Value> of_whole(std::string_view sign, std::int64_t a, std::int64_t b);
[[nodiscard]] Value of_real(std::string_view sign, double a, double b);
/// Negative, 0 or positive, of two numbers or two texts.
[[nodiscard]] std::optional<int> order_of(const Value& a, const Value& b);

}  // namespace ridgeline::studies
