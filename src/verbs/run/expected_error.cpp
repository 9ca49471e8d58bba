#include "verbs/run/expected_error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "document/document.hpp"
#include "document/node_path.hpp"
#include "latency/accuracy/bands.hpp"
#include "report/chart/figure.hpp"
#include "report/html_page.hpp"
#include "report/table/table.hpp"

namespace ridgeline::verbs {
namespace {

using document::Node;
using report::figures::number_at;

/// Ends of bands that are narrower, in percent, have a decimal.
constexpr double kNarrow = 2.0;

std::string signed_range_text(const Node& range) {
  const double low = number_at(range, "low");
  const double high = number_at(range, "high");
  const int digits = (high - low) / 2.0 < kNarrow ? 1 : 0;
  const auto signed_text = [&](double percent) {
    return fmt::format("{}{:.{}f}", percent < 0.0 ? "\u2212" : "+", std::abs(percent), digits);
  };
  return fmt::format("{}\u2026{} %", signed_text(low), signed_text(high));
}

/// "39 unseen deployments (vllm)", "4 measurements of this server"
std::string band_words(const Node& band) {
  const std::string slice = report::text_at(band, "slice");
  if (slice == accuracy::kOwnSlice) {
    return fmt::format("{} measurements of {}", number_at(band, "records"), slice);
  }
  return fmt::format("{} {} deployments{}",
                     number_at(band, "groups"),
                     node_at(band, "fitted").describe() == "true" ? "measured" : "unseen",
                     slice == "all" ? "" : fmt::format(" ({})", slice));
}

}  // namespace

std::vector<std::string> expected_error_words(const Node& errors) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kShown = {
      {{"tpot", "TPOT"}, {"ttft", "TTFT"}, {"output_throughput", "output"}}};
  std::vector<std::string> words;
  for (const auto& [metric, name] : kShown) {
    if (const Node* const band = errors.find(metric); band != nullptr) {
      words.push_back(fmt::format("{} {} (90 %), {} (half), as {}",
                                  name,
                                  signed_range_text(node_at(*band, "p90_pct")),
                                  signed_range_text(node_at(*band, "p50_pct")),
                                  band_words(*band)));
    }
  }
  if (!words.empty()) {
    words.emplace_back("above 0: predicted too high");
  }
  std::vector<std::string> unlike;
  if (errors.is_map() && !errors.members().empty()) {
    for (const Node* name : report::rows_at(errors.members().front().value, "unknown")) {
      unlike.push_back(report::cell_text(name, report::Format::kText));
    }
  }
  if (!unlike.empty()) {
    std::ranges::replace(unlike, "deployment", "network or layout");
    words.push_back(fmt::format("never measured; the nearest that was has another {}",
                                fmt::join(unlike, ", ")));
  }
  return words;
}

}  // namespace ridgeline::verbs
