#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {

/// {"e2e_ms": {"mean": ..., "p90": ...}, "ttft_ms": ..., "output_tokens_per_s": ..., "power": ...},
/// measured on so many GPUs. What is there and no number above 0 goes to `odd`, a line each.
[[nodiscard]] Figures read_figures(const document::Node& node,
                                   std::int64_t gpus,
                                   std::vector<std::string>& odd);

}  // namespace ridgeline::evidence::validate
