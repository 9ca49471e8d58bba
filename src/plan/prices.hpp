#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace ridgeline::plan {

/// A day of the Gregorian calendar.
struct Date {
  std::int64_t days = 0;  ///< Since 1970-01-01.

  /// "2026-05-07"; nothing for other texts and for days that do not exist.
  static std::optional<Date> parse(std::string_view text);
  [[nodiscard]] std::string text() const;
  friend auto operator<=>(Date, Date) = default;
};

/// What one GPU costs for an hour.
struct Price {
  std::string gpu = {};  ///< Catalogue name.
  double usd_per_hour = 0.0;
  Date date = {};
  std::string source = {};
};

struct Prices {
  std::string file = {};    ///< As the user gave it, or the built-in one's name.
  bool is_example = false;  ///< The file says that it is one.
  std::vector<Price> all = {};

  [[nodiscard]] const Price* of(std::string_view gpu) const;
};

/// Reads a price list: `currency: USD`, perhaps `example: true`, and `prices:`, a map of GPU names
/// to {value, date, source}. GPUs go by any name of the catalogue; a GPU twice, a price that is not
/// above 0, a date that is no day and a currency other than USD are errors.
[[nodiscard]] core::Result<Prices> read_prices(std::string_view text, const std::string& file);
/// The list at `path`, or the example that is compiled in where it is empty.
[[nodiscard]] core::Result<Prices> load_prices(const std::string& path);

/// An example was used (W-example-prices), or a price of one of these GPUs is more than 90 days
/// older than `as_of` (W-old-prices). A simulation reads no clock: without that day, age is not
/// judged, and W-undated-prices says the day of the oldest.
[[nodiscard]] core::Warnings price_warnings(const Prices& prices,
                                            const std::vector<std::string>& gpus,
                                            const std::optional<Date>& as_of);

}  // namespace ridgeline::plan
