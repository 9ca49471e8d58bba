#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "metrics/order_search.hpp"
#include "metrics/summary.hpp"
#include "statistics/moments.hpp"
#include "statistics/quantile_sketch.hpp"

namespace ridgeline::metrics {

/// How percentiles are kept. Means, standard deviations and maxima are exact either way.
enum class Percentiles : std::uint8_t {
  kExact,   ///< Every value: some twenty bytes per request, and the runs of token gaps.
  kSketch,  ///< In bounded memory, within statistics::QuantileSketch::kRelativeError.
};

/// Shows all values, or all runs of values, block after block, and the same each time it is called.
using ValueStream = std::function<void(const std::function<void(std::span<const std::int64_t>)>&)>;
using RunStream = std::function<void(const std::function<void(const RunBlock&)>&)>;

/// Of picoseconds, in milliseconds; nothing without values.
[[nodiscard]] std::optional<Distribution> distribution_ms(const statistics::QuantileSketch& sketch);
/// `most`: there are not more values than that.
[[nodiscard]] std::optional<Distribution> distribution_ms(std::int64_t most,
                                                          const ValueStream& values);
/// Of runs whose values have these moments.
[[nodiscard]] std::optional<Distribution> distribution_ms(const statistics::Moments& moments,
                                                          const RunStream& runs);

}  // namespace ridgeline::metrics
