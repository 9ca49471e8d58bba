#pragma once

#include <vector>

#include "document/document.hpp"
#include "evidence/validate/client_load.hpp"
#include "evidence/validate/evidence.hpp"

/// Whether a result of `vllm bench serve` agrees with itself. What does not goes to the record's
/// `doubts`, with the value found and the one that the rest of the file gives.
namespace ridgeline::evidence::validate {

/// Totals against each other: counts, rates and the duration; failures; a mean that is missing.
void check_bench_totals(const document::Node& node, Evidence& evidence);

/// Totals against the single requests, `requests`; `timed`: with their starts. Where the statistics
/// of TTFT are not those of the requests, the requests' own take their place.
void check_bench_rows(const document::Node& node,
                      const std::vector<ClientRequest>& requests,
                      bool timed,
                      Evidence& evidence);

}  // namespace ridgeline::evidence::validate
