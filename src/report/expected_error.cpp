#include "report/expected_error.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "accuracy/bands.hpp"
#include "document/document.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/text_lines.hpp"
#include "report/tree.hpp"

namespace ridgeline::report {
namespace {

using accuracy::ExpectedError;
using accuracy::Metric;

std::vector<std::string> names_of(const ExpectedError& error) {
  std::vector<std::string> names;
  for (const accuracy::Axis axis : error.outside) {
    names.emplace_back(accuracy::kAxisNames[static_cast<std::size_t>(axis)]);
  }
  return names;
}

}  // namespace

document::Node expected_errors_tree(const std::vector<ExpectedError>& errors) {
  MapBuilder map;
  for (const ExpectedError& error : errors) {
    std::vector<document::Node> outside;
    for (const std::string& name : names_of(error)) {
      outside.push_back(text_node(name));
    }
    map.add(accuracy::kMetricNames[static_cast<std::size_t>(error.band->metric)],
            MapBuilder()
                .add("slice", text_node(error.band->slice))
                .add("records", integer_node(error.band->n))
                .add("median_pct", number_node(error.median()))
                .add("mean_pct", number_node(error.mean()))
                .add("p90_pct", number_node(error.p90()))
                .add("outside", list_node(std::move(outside)))
                .add("in_sample", bool_node(error.band->in_sample))
                .build());
  }
  return map.build();
}

std::vector<Piece> expected_error_pieces(const std::vector<ExpectedError>& errors,
                                         const TextStyle& style) {
  constexpr std::array<std::pair<Metric, std::string_view>, 2> kShown = {
      {{Metric::kTpot, "TPOT"}, {Metric::kTtft, "TTFT"}}};
  std::vector<Piece> pieces;
  for (const auto& [metric, name] : kShown) {
    const auto error = std::ranges::find(
        errors, metric, [](const ExpectedError& candidate) { return candidate.band->metric; });
    if (error == errors.end()) {
      continue;
    }
    const std::string unlike = error->outside.empty()
                                   ? ""
                                   : fmt::format("; {}{:g} as other {}",
                                                 style.ascii ? "x" : "\u00d7",
                                                 error->widening(),
                                                 fmt::join(names_of(*error), ", "));
    pieces.push_back({.text = fmt::format("{} {} % (median of {} records: {}{})",
                                          name,
                                          significant(error->median()),
                                          error->band->n,
                                          error->band->slice,
                                          unlike)});
  }
  return pieces;
}

}  // namespace ridgeline::report
