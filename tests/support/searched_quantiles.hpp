#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/moments.hpp"
#include "core/quantile_search.hpp"

namespace ridgeline::test {

/// What core::QuantileSearch finds, the values being shown twice in their order.
inline std::vector<double> searched_quantiles(const std::vector<std::int64_t>& values,
                                              std::span<const double> probabilities) {
  core::Moments moments;
  for (const std::int64_t value : values) {
    moments.add(value);
  }
  core::QuantileSearch search(moments, probabilities);
  search.count(values);
  search.choose();
  search.keep(values);
  return search.quantiles();
}

}  // namespace ridgeline::test
