#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::plan {

/// Block `limits`.
struct Limits {
  std::optional<std::int64_t> max_gpus = {};
  std::vector<std::pair<std::string, std::int64_t>> stock = {};  ///< GPUs to be had, by GPU.
  std::int64_t spare_replicas = 0;  ///< Beside those that serve the rate.
  double max_utilisation = 0.9;     ///< Share of the saturated throughput (planner.md, section 6).
};

/// Reads a block {max_gpus, stock: {GPU: number}, spare_replicas, max_utilisation}; problems are
/// noted.
[[nodiscard]] Limits read_limits(const document::Node& node, core::Errors& errors);

}  // namespace ridgeline::plan
