#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/result.hpp"
#include "scenario/requests.hpp"
#include "scenario/scenario.hpp"
#include "workload/source.hpp"

namespace ridgeline::verbs {

/// The requests that a scenario sends to a real server.
struct SentWorkload {
  scenario::Workload workload;
  std::unique_ptr<workload::Source> source = {};
  std::string digest = {};  ///< observe::workload_digest() of the whole of it.
};
/// Fails where it has no end, or sends more than `max_rate` requests a second.
[[nodiscard]] core::Result<SentWorkload> open_sent_workload(const scenario::WorkloadSection& stated,
                                                            std::int64_t seed,
                                                            std::int64_t max_rate);

}  // namespace ridgeline::verbs
