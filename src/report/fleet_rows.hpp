#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/summary.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/text_lines.hpp"

namespace ridgeline::report {

/// The first column of what a table says of a fleet.
inline constexpr std::size_t kFleetTitleWidth = 13;

/// Pieces behind a title in the first column, wrapped beside it.
[[nodiscard]] std::string fleet_line(std::string_view title,
                                     const std::vector<Piece>& pieces,
                                     const TextStyle& style);

/// Rows of numbers of a fleet: counts, the medians and p99 of TTFT and TPOT in the units of the
/// whole run, then shares.
class FleetRows {
 public:
  /// `style` outlives it.
  FleetRows(const metrics::Summary& summary, const TextStyle& style);

  [[nodiscard]] std::string header(std::string_view title,
                                   std::initializer_list<std::string_view> counts,
                                   std::initializer_list<std::string_view> shares) const;
  [[nodiscard]] std::string row(std::string_view title,
                                std::initializer_list<std::int64_t> counts,
                                const std::optional<metrics::Distribution>& ttft_ms,
                                const std::optional<metrics::Distribution>& tpot_ms,
                                std::initializer_list<std::optional<double>> shares) const;
  /// A name of the user's as a row's title.
  [[nodiscard]] std::string title_of(std::string_view name) const;

  /// The rows of `count` things; of more than a screen takes, the first, and how many there are
  /// more. `row` gives that of a place.
  template <class Row>
  [[nodiscard]] static std::string all(std::size_t count, const Row& row) {
    std::string text;
    for (std::size_t i = 0; i < count && i < kMostRows; ++i) {
      text += row(i);
    }
    return text + left_out(count);
  }

 private:
  /// The other formats have all.
  static constexpr std::size_t kMostRows = 16;

  [[nodiscard]] static std::string left_out(std::size_t count);
  [[nodiscard]] std::string missing() const { return style_.ascii ? "-" : "\u2013"; }

  const TextStyle& style_;
  TimeUnit ttft_;
  TimeUnit tpot_;
};

}  // namespace ridgeline::report
