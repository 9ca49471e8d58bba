#include "report/power.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "metrics/power_summary.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/text_lines.hpp"
#include "report/tree.hpp"

namespace ridgeline::report {

document::Node power_tree(const metrics::PowerSummary& power) {
  return MapBuilder()
      .add("watts_per_gpu", number_node(power.mean))
      .add("low", number_node(power.low))
      .add("high", number_node(power.high))
      .add("decode", number_node(power.decode))
      .add("prefill", number_node(power.prefill))
      .add("idle", number_node(power.idle))
      .add("joules_per_output_token", number_node(power.joules_per_output_token))
      .add("law", text_node(power.own_law ? "measured" : "of other GPUs"))
      .build();
}

std::vector<Piece> power_pieces(const metrics::PowerSummary& power, const TextStyle& style) {
  const std::string range =
      power.own_law
          ? std::string()
          : fmt::format(" ({:.0f}{}{:.0f})", power.low, style.ascii ? "-" : "\u2013", power.high);
  std::vector<Piece> pieces = {{.text = fmt::format("{:.0f} W per GPU{}", power.mean, range)}};
  if (power.joules_per_output_token) {
    pieces.push_back({.text = fmt::format("{} J per output token",
                                          significant(*power.joules_per_output_token))});
  }
  return pieces;
}

}  // namespace ridgeline::report
