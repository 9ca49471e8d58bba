#include "scenario/token_count.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/parse.hpp"
#include "core/text.hpp"

namespace ridgeline::scenario {

std::optional<std::int64_t> parse_token_count(std::string_view text) {
  constexpr std::string_view kDecimal = "kmgt";
  constexpr std::string_view kBinary = "KMGT";
  constexpr double kThousand = 1000.0;
  constexpr double kKibi = 1024.0;
  if (text.size() < 2) {
    return std::nullopt;
  }
  const std::string_view digits = text.substr(0, text.size() - 1);
  const std::size_t decimal = kDecimal.find(text.back());
  const std::size_t binary = kBinary.find(text.back());
  const bool is_decimal = decimal != std::string_view::npos;
  const std::string_view allowed = is_decimal ? "0123456789." : "0123456789";
  if ((!is_decimal && binary == std::string_view::npos) ||
      digits.find_first_not_of(allowed) != std::string_view::npos) {
    return std::nullopt;
  }
  auto number = core::parse_whole<double>(digits);
  if (!number) {
    return std::nullopt;
  }
  for (std::size_t power = 0; power <= (is_decimal ? decimal : binary); ++power) {
    *number *= is_decimal ? kThousand : kKibi;
  }
  const double tokens = std::floor(*number);
  return tokens <= core::kLargestExactInteger ? std::optional(static_cast<std::int64_t>(tokens))
                                              : std::nullopt;
}

}  // namespace ridgeline::scenario
