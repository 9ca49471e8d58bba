#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/statistics/moments.hpp"
#include "core/statistics/quantile_sketch.hpp"
#include "metrics/order_search.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {

/// How percentiles are kept. Means, standard deviations and maxima are exact in both of
/// the first two.
enum class Percentiles : std::uint8_t {
  kExact,   ///< Every value: some twenty bytes per request, and the runs of token gaps.
  kSketch,  ///< In bounded memory, within statistics::QuantileSketch::kRelativeError.
  kNone,    ///< Not at all: a summary has no latencies. Listeners get every request's.
};

/// Several lists of values, a block of each.
using ListBlocks = std::span<const std::span<const std::int64_t>>;
/// Shows several lists of values, or all runs of values, block after block, and the same each time
/// it is called.
using ListStream = std::function<void(const std::function<void(ListBlocks)>&)>;
using RunStream = std::function<void(const std::function<void(const RunBlock&)>&)>;

/// Distribution of a sketch of picoseconds, in milliseconds; nothing without values.
[[nodiscard]] std::optional<Distribution> distribution_ms(const statistics::QuantileSketch& sketch);
/// Distribution of each of `num_lists` lists. `most`: no list has more values than that.
[[nodiscard]] std::vector<std::optional<Distribution>> distributions_ms(std::size_t num_lists,
                                                                        std::int64_t most,
                                                                        const ListStream& lists);
/// Distribution of runs whose values have these moments.
[[nodiscard]] std::optional<Distribution> distribution_ms(const statistics::Moments& moments,
                                                          const RunStream& runs);

}  // namespace ridgeline::metrics
