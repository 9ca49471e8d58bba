#include "report/transfers.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "metrics/summary.hpp"
#include "report/fleet_rows.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/text_lines.hpp"
#include "report/tree.hpp"

namespace ridgeline::report {
namespace {

using metrics::TransferSummary;

constexpr double kGigabyte = 1e9;
constexpr double kShownMs = 1e-6;
/// As people read them, in the order of metrics::kTtftParts.
constexpr auto kPartWords = std::to_array<std::string_view>(
    {"gateway", "prefill", "hand-over", "decode queue", "set-up", "transfer", "first step"});
static_assert(kPartWords.size() == metrics::kTtftParts.size());

}  // namespace

document::Node transfers_tree(const TransferSummary& transfers) {
  MapBuilder parts;
  for (std::size_t i = 0; i < metrics::kTtftParts.size(); ++i) {
    parts.add(std::string(metrics::kTtftParts[i]), number_node(transfers.ttft_parts_ms[i]));
  }
  return MapBuilder()
      .add("prefill_instances", integer_node(transfers.prefill_instances))
      .add("requests", integer_node(transfers.requests))
      .add("count", integer_node(transfers.count))
      .add("failed", integer_node(transfers.failed))
      .add("failed_by_crash", integer_node(transfers.failed_by_crash))
      .add("recomputed", integer_node(transfers.recomputed))
      .add("decode_lost", integer_node(transfers.decode_lost))
      .add("bytes", integer_node(transfers.bytes))
      .add("ms", number_node(transfers.ms))
      .add("wait_ms", number_node(transfers.wait_ms))
      .add("link_utilisation", number_node(transfers.link_utilisation))
      .add("ttft_parts_ms", parts.build())
      .build();
}

std::string transfers_lines(const TransferSummary& transfers,
                            const InstanceKinds& instances,
                            const TextStyle& style) {
  std::vector<Piece> moved = {
      {.text = fmt::format("{} + {} instances", instances.prefill, instances.decode)},
      {.text = fmt::format("{} apart", counted(transfers.requests, "prompt"))},
      {.text = counted(transfers.count, "transfer")},
      {.text =
           fmt::format("{} GB", significant(static_cast<double>(transfers.bytes) / kGigabyte))}};
  if (transfers.ms && transfers.wait_ms) {
    moved.push_back({.text = fmt::format("{} ms each, {} of it for others",
                                         significant(*transfers.ms),
                                         significant(*transfers.wait_ms))});
  }
  if (transfers.link_utilisation) {
    moved.push_back({.text = fmt::format("busiest wire {}", percent(*transfers.link_utilisation))});
  }
  if (transfers.failed > 0) {
    std::string lost = fmt::format("{} lost", grouped(transfers.failed));
    if (transfers.recomputed > 0) {
      lost += fmt::format(", {} of them recomputed", grouped(transfers.recomputed));
    }
    moved.push_back({.text = std::move(lost)});
  }
  std::string text = fleet_line("apart", moved, style);
  std::vector<Piece> parts;
  for (std::size_t i = 0; i < kPartWords.size(); ++i) {
    if (const auto& mean = transfers.ttft_parts_ms[i]; mean) {
      // An instant that follows at once is a picosecond later.
      const double shown = *mean < kShownMs ? 0.0 : *mean;
      parts.push_back({.text = fmt::format("{} {}", kPartWords[i], significant(shown))});
    }
  }
  if (!parts.empty()) {
    parts.back().text += " ms";
    text += fleet_line("first token", parts, style);
  }
  return text;
}

}  // namespace ridgeline::report
