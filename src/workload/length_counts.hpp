#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/statistics/moments.hpp"
#include "core/statistics/quantiles.hpp"

namespace ridgeline::workload {

/// How often each length came, in tokens: exact quantiles in memory that follows the different
/// lengths, not the requests.
class LengthCounts {
 public:
  /// Requires a length of at least 0.
  void add(std::int64_t length) {
    moments_.add(length);
    if (length >= kMostDense) {
      ++others_[length];
      return;
    }
    const auto index = static_cast<std::size_t>(length);
    if (index >= counts_.size()) {
      counts_.resize(std::max(index + 1, 2 * counts_.size()));
    }
    ++counts_[index];
  }
  [[nodiscard]] const statistics::Moments& moments() const { return moments_; }
  /// As core::quantile. Requires a length.
  [[nodiscard]] double quantile(double p) const {
    const auto at = statistics::quantile_position(moments_.count(), p);
    const std::int64_t low = order_statistic(at.index);
    const std::int64_t high = at.fraction > 0.0 ? order_statistic(at.index + 1) : low;
    return statistics::interpolate(low, high, at.fraction);
  }

 private:
  /// Lengths below it are counted in a list (8 MB at most), the few that are longer in a map.
  static constexpr std::int64_t kMostDense = std::int64_t{1} << 20;

  [[nodiscard]] std::int64_t order_statistic(std::int64_t index) const {
    std::int64_t below = 0;
    for (std::size_t length = 0; length < counts_.size(); ++length) {
      below += counts_[length];
      if (below > index) {
        return static_cast<std::int64_t>(length);
      }
    }
    for (const auto& [length, count] : others_) {
      below += count;
      if (below > index) {
        return length;
      }
    }
    return moments_.max();
  }

  statistics::Moments moments_;
  std::vector<std::int64_t> counts_;
  std::map<std::int64_t, std::int64_t> others_;
};

}  // namespace ridgeline::workload
