#pragma once

#include <vector>

#include "core/document.hpp"
#include "sim/validate/client_load.hpp"
#include "sim/validate/evidence.hpp"

/// Whether a result of `vllm bench serve` agrees with itself. What does not goes to the record's
/// `doubts`, with the value found and the one that the rest of the file gives.
namespace ridgeline::sim::validate {

/// Totals against each other: counts, rates and the duration; failures; a mean that is missing.
void check_bench_totals(const core::Node& node, Evidence& evidence);

/// Totals against the single requests, `requests`; `timed`: with their starts. Where the statistics
/// of TTFT are not those of the requests, the requests' own take their place.
void check_bench_rows(const core::Node& node,
                      const std::vector<ClientRequest>& requests,
                      bool timed,
                      Evidence& evidence);

}  // namespace ridgeline::sim::validate
