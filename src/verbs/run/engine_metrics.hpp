#pragma once

#include <optional>

#include "document/document.hpp"

namespace ridgeline::verbs {

/// What the server of a run's engine calls the numbers of its summary (OwnSettings::metrics):
/// counters at the end of the run, gauges and histograms by their mean. Nothing for vLLM's engine,
/// and where pools may have several. `config` and `summary` are those of the result.
[[nodiscard]] std::optional<document::Node> engine_metrics_tree(const document::Node& config,
                                                                const document::Node& summary);

}  // namespace ridgeline::verbs
