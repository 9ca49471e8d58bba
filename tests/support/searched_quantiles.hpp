#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/quantile_search.hpp"

namespace ridgeline::test {

/// What core::QuantileSearch finds, of a sample of every so many values.
inline std::vector<double> searched_quantiles(const std::vector<std::int64_t>& values,
                                              std::span<const double> probabilities,
                                              std::size_t stride = 1) {
  std::vector<std::int64_t> some;
  for (std::size_t i = 0; i < values.size(); i += stride) {
    some.push_back(values[i]);
  }
  const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
  core::QuantileSearch search(
      static_cast<std::int64_t>(values.size()), *least, *greatest, probabilities);
  search.sample(some);
  search.choose();
  search.take(values);
  if (!search.found()) {
    search.choose_counted();
    search.keep(values);
  }
  return search.quantiles();
}

}  // namespace ridgeline::test
