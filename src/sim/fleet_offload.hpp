#pragma once

#include <optional>

#include "cluster/kv_offload.hpp"
#include "cluster/part.hpp"
#include "latency/step_time_model.hpp"
#include "metrics/summary.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::sim {

/// Whether the scenario keeps KV outside the GPUs.
[[nodiscard]] bool has_kv_tiers(const scenario::Resolved& resolved);
/// What makes the tiers; nothing where there are none. `part` is set when they are made. All
/// outlive the cluster.
[[nodiscard]] std::optional<cluster::PartMaker> offload_maker(const scenario::Resolved& resolved,
                                                              const latency::StepTimeModel& model,
                                                              const cluster::KvOffload*& part);
/// Adds what the requests do not say. `part` as offload_maker() sets it; `seconds` as fill_fleet().
void fill_offload(const scenario::Resolved& resolved,
                  const cluster::KvOffload* part,
                  double seconds,
                  metrics::Summary& summary);

}  // namespace ridgeline::sim
