#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"
#include "metrics/summary.hpp"
#include "scenario/resolve.hpp"
#include "workload/source.hpp"

namespace ridgeline::sim {

/// Why engines reject requests that they could never serve: "longer than max_model_len 4096 or than
/// the KV cache"; and the flags that make room, in the words of the engines that run.
struct RejectionText {
  std::string limits;
  std::string flags;
};
[[nodiscard]] RejectionText rejection_text(const scenario::Resolved& resolved);

/// Rejected requests that no engine saw.
[[nodiscard]] std::int64_t rejected_at_gateway(const metrics::Summary& summary);

/// Adds what the reader of a finished run's result should know: requests that were rejected or cut
/// short, an overload, what requests carry and the deployment ignores, and the source's own
/// warnings (those about inference-sim only where the scenario compares with it).
void add_run_warnings(const scenario::Resolved& resolved,
                      const metrics::Summary& summary,
                      const workload::Source& source,
                      core::Warnings& warnings);

}  // namespace ridgeline::sim
