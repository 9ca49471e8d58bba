#include "verbs/run/expected_error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "accuracy/bands.hpp"
#include "accuracy/error_tree.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/text_lines.hpp"

namespace ridgeline::verbs {
namespace {

using document::list_node;
using document::MapBuilder;
using document::text_node;

/// Ends of bands that are narrower, in percent, have a decimal.
constexpr double kNarrow = 2.0;

std::string signed_range_text(const accuracy::Range& range, bool ascii) {
  const int digits = range.half_width() < kNarrow ? 1 : 0;
  const auto signed_text = [&](double percent) {
    return fmt::format(
        "{}{:.{}f}", percent < 0.0 ? (ascii ? "-" : "\u2212") : "+", std::abs(percent), digits);
  };
  return fmt::format(
      "{}{}{} %", signed_text(range.low), ascii ? " to " : "\u2026", signed_text(range.high));
}

/// "39 unseen deployments (vllm)", "4 measurements of this server"
std::string band_words(const accuracy::Band& band) {
  if (band.slice == accuracy::kOwnSlice) {
    return fmt::format("{} measurements of {}", band.records, band.slice);
  }
  return fmt::format("{} {} deployments{}",
                     band.groups,
                     band.fitted ? "measured" : "unseen",
                     band.slice == "all" ? "" : fmt::format(" ({})", band.slice));
}

}  // namespace

std::vector<report::Piece> expected_error_pieces(const std::vector<accuracy::ExpectedError>& errors,
                                                 const report::TextStyle& style) {
  constexpr std::array<std::pair<accuracy::Metric, std::string_view>, 3> kShown = {
      {{accuracy::Metric::kTpot, "TPOT"},
       {accuracy::Metric::kTtft, "TTFT"},
       {accuracy::Metric::kOutputThroughput, "output"}}};
  std::vector<report::Piece> pieces;
  for (const auto& [metric, name] : kShown) {
    const auto error =
        std::ranges::find(errors, metric, [](const accuracy::ExpectedError& candidate) {
          return candidate.band.metric;
        });
    if (error != errors.end()) {
      pieces.push_back({.text = fmt::format("{} {} (90 %), {} (half), as {}",
                                            name,
                                            signed_range_text(error->band.p90, style.ascii),
                                            signed_range_text(error->band.p50, style.ascii),
                                            band_words(error->band))});
    }
  }
  if (!pieces.empty()) {
    pieces.push_back({.text = "above 0: predicted too high"});
  }
  if (!errors.empty() && !errors.front().unknown.empty()) {
    std::vector<std::string> unlike = accuracy::unlike_names(errors.front());
    std::ranges::replace(unlike, "deployment", "network or layout");
    pieces.push_back({.text = fmt::format("never measured; the nearest that was has another {}",
                                          fmt::join(unlike, ", "))});
  }
  return pieces;
}

}  // namespace ridgeline::verbs
