#pragma once

#include <cstdint>
#include <string>

#include "document/document.hpp"
#include "metrics/summary.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {

/// KV that moved, as a tree: summary.cluster.transfers of a result.
[[nodiscard]] document::Node transfers_tree(const metrics::TransferSummary& transfers);
/// How many instances compute prompts, and how many decode.
struct InstanceKinds {
  std::int64_t prefill = 0;
  std::int64_t decode = 0;
};
/// The transfers for people, in two paragraphs: what moved, and the parts of the time to first
/// token.
[[nodiscard]] std::string transfers_lines(const metrics::TransferSummary& transfers,
                                          const InstanceKinds& instances,
                                          const TextStyle& style);

}  // namespace ridgeline::report
