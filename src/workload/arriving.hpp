#pragma once

#include <cstdint>
#include <memory>

#include "workload/item_stream.hpp"
#include "workload/options.hpp"

namespace ridgeline::workload {

/// The groups of a stream in their order, sent at the times of `arrivals`, which is no closed loop;
/// what comes later in a group keeps its distance. Requires a stream of one stage. Ends with an
/// error where those times pass the range of simulated time.
[[nodiscard]] std::unique_ptr<ItemStream> arriving(std::unique_ptr<ItemStream> stream,
                                                   const Arrivals& arrivals,
                                                   std::uint64_t seed);

}  // namespace ridgeline::workload
