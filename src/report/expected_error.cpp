#include "report/expected_error.hpp"

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

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "latency/accuracy/bands.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/text_lines.hpp"

namespace ridgeline::report {
namespace {

using document::list_node;
using document::MapBuilder;
using document::text_node;

using accuracy::ExpectedError;
using accuracy::Metric;

/// Ends of bands that are narrower, in percent, have a decimal.
constexpr double kNarrow = 2.0;

std::vector<std::string> names_of(const ExpectedError& error) {
  std::vector<std::string> names;
  for (const accuracy::Axis axis : error.unknown) {
    names.emplace_back(accuracy::kAxisNames[static_cast<std::size_t>(axis)]);
  }
  return names;
}

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

document::Node expected_errors_tree(const std::vector<ExpectedError>& errors) {
  const auto range = [](const accuracy::Range& of) {
    return MapBuilder().add("low", of.low).add("high", of.high);
  };
  MapBuilder map;
  for (const ExpectedError& error : errors) {
    std::vector<document::Node> unknown;
    for (const std::string& name : names_of(error)) {
      unknown.push_back(text_node(name));
    }
    const accuracy::Band& band = error.band;
    map.add(accuracy::kMetricNames[static_cast<std::size_t>(band.metric)],
            MapBuilder()
                .add("slice", band.slice)
                .add("fitted", band.fitted)
                .add("groups", band.groups)
                .add("records", band.records)
                .add("p50_pct", range(band.p50))
                .add("p90_pct", range(band.p90))
                .add("unknown", list_node(std::move(unknown))));
  }
  return map.build();
}

std::vector<Piece> expected_error_pieces(const std::vector<ExpectedError>& errors,
                                         const TextStyle& style) {
  constexpr std::array<std::pair<Metric, std::string_view>, 3> kShown = {
      {{Metric::kTpot, "TPOT"}, {Metric::kTtft, "TTFT"}, {Metric::kOutputThroughput, "output"}}};
  std::vector<Piece> pieces;
  for (const auto& [metric, name] : kShown) {
    const auto error = std::ranges::find(
        errors, metric, [](const ExpectedError& candidate) { return candidate.band.metric; });
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
    std::vector<std::string> unlike = names_of(errors.front());
    std::ranges::replace(unlike, "deployment", "network or layout");
    pieces.push_back({.text = fmt::format("never measured; the nearest that was has another {}",
                                          fmt::join(unlike, ", "))});
  }
  return pieces;
}

}  // namespace ridgeline::report
