#pragma once

#include <string>

#include "document/document.hpp"

namespace ridgeline::verbs {

/// A result's tree: its summary as a line of column names and a line of values, nested keys joined
/// by dots
/// ("ttft_ms.p99"), then every setting ("config.engine.tensor_parallel_size"), the digest last.
/// Full precision; an absent number is an empty field (RFC 4180).
[[nodiscard]] std::string run_csv(const document::Node& result);

}  // namespace ridgeline::verbs
