#pragma once

#include <string>

#include "document/document.hpp"
#include "metrics/offload_summary.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {

/// KV kept outside the GPUs, as a tree: summary.cluster.kv_offload of a result.
[[nodiscard]] document::Node offload_tree(const metrics::OffloadSummary& offload);
/// KV kept outside the GPUs, for people: what was found, and a line for each tier.
[[nodiscard]] std::string offload_lines(const metrics::OffloadSummary& offload,
                                        const TextStyle& style);

}  // namespace ridgeline::report
