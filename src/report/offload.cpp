#include "report/offload.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "metrics/offload_summary.hpp"
#include "report/fleet_rows.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/text_lines.hpp"
#include "report/tree.hpp"

namespace ridgeline::report {
namespace {

using metrics::OffloadSummary;
using metrics::TierSummary;

constexpr double kBytesOfGigabyte = 1e9;

std::string gigabytes(std::int64_t bytes) {
  return fmt::format("{} GB", significant(static_cast<double>(bytes) / kBytesOfGigabyte));
}

document::Node tier_tree(const TierSummary& tier) {
  return MapBuilder()
      .add("tier", text_node(tier.tier))
      .add("capacity_blocks", integer_node(tier.capacity_blocks))
      .add("peak_blocks", integer_node(tier.peak_blocks))
      .add("hit_tokens", integer_node(tier.hit_tokens))
      .add("loads", integer_node(tier.loads))
      .add("bytes_read", integer_node(tier.bytes_read))
      .add("read_ms", number_node(tier.read_ms))
      .add("bytes_written", integer_node(tier.bytes_written))
      .add("blocks_written", integer_node(tier.blocks_written))
      .add("blocks_evicted", integer_node(tier.blocks_evicted))
      .add("blocks_refused", integer_node(tier.blocks_refused))
      .add("read_utilisation", number_node(tier.read_utilisation))
      .add("write_utilisation", number_node(tier.write_utilisation))
      .build();
}

std::string tier_line(const TierSummary& tier, const TextStyle& style) {
  std::vector<Piece> pieces = {{.text = fmt::format("{} read", gigabytes(tier.bytes_read))}};
  if (tier.read_ms) {
    pieces.push_back({.text = fmt::format("{} ms a load", significant(*tier.read_ms))});
  }
  pieces.push_back({.text = fmt::format("{} written", gigabytes(tier.bytes_written))});
  pieces.push_back(
      {.text = fmt::format(
           "peak {} of {}", grouped(tier.peak_blocks), counted(tier.capacity_blocks, "block"))});
  if (tier.blocks_evicted > 0) {
    pieces.push_back({.text = fmt::format("{} evicted", grouped(tier.blocks_evicted))});
  }
  if (tier.blocks_refused > 0) {
    pieces.push_back({.text = fmt::format("{} found no room", grouped(tier.blocks_refused))});
  }
  if (tier.read_utilisation && tier.write_utilisation) {
    pieces.push_back({.text = fmt::format("link {} read, {} written",
                                          percent(*tier.read_utilisation),
                                          percent(*tier.write_utilisation))});
  }
  return fleet_line(tier.tier, pieces, style);
}

}  // namespace

document::Node offload_tree(const OffloadSummary& offload) {
  std::vector<document::Node> tiers;
  tiers.reserve(offload.tiers.size());
  for (const TierSummary& tier : offload.tiers) {
    tiers.push_back(tier_tree(tier));
  }
  return MapBuilder()
      .add("block_tokens",
           offload.block_tokens ? integer_node(*offload.block_tokens) : document::Node())
      .add("query_tokens", integer_node(offload.query_tokens))
      .add("hit_tokens", integer_node(offload.hit_tokens))
      .add("hit_rate", number_node(offload.hit_rate))
      .add("loads", integer_node(offload.loads))
      .add("load_ms", number_node(offload.load_ms))
      .add("recomputed", integer_node(offload.recomputed))
      .add("tiers", list_node(std::move(tiers)))
      .build();
}

std::string offload_lines(const OffloadSummary& offload, const TextStyle& style) {
  std::vector<Piece> found = {
      {.text = fmt::format(
           "{} of {} not on the GPUs loaded{}",
           grouped(offload.hit_tokens),
           counted(offload.query_tokens, "token"),
           offload.hit_rate ? fmt::format(" ({})", percent(*offload.hit_rate)) : std::string())},
      {.text = counted(offload.loads, "request")}};
  if (offload.load_ms) {
    found.push_back({.text = fmt::format("{} ms each", significant(*offload.load_ms))});
  }
  if (offload.recomputed > 0) {
    found.push_back({.text = fmt::format("{} computed as sooner", grouped(offload.recomputed))});
  }
  std::string text = fleet_line("KV tiers", found, style);
  for (const TierSummary& tier : offload.tiers) {
    text += tier_line(tier, style);
  }
  return text;
}

}  // namespace ridgeline::report
