#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/quantiles.hpp"
#include "support/searched_quantiles.hpp"

namespace ridgeline::core {
namespace {

/// Values as simulations have them: near each other, spread over many octaves, and often equal.
rc::Gen<std::int64_t> searched_value() {
  return rc::gen::oneOf(
      rc::gen::inRange<std::int64_t>(0, 20),
      rc::gen::element<std::int64_t>(0, 7'000'000'000, 7'000'000'001, std::int64_t{1} << 60),
      rc::gen::inRange<std::int64_t>(6'900'000'000, 7'100'000'000),
      rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 62));
}

RC_GTEST_PROP(QuantileSearch, FindsWhatSortingFinds, ()) {
  auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(searched_value()));
  // Long lists make buckets narrow, and fill what is kept of one.
  const auto copies = *rc::gen::element<std::size_t>(1, 7, 300);
  const auto drawn = values.size();
  for (std::size_t i = drawn; i < drawn * copies; ++i) {
    values.push_back(values[i % drawn] + static_cast<std::int64_t>(i % 3));
  }
  const std::vector<double> probabilities = {0.99, 0.0, 0.5, 0.9, 0.95, 1.0, 0.37};
  const auto stride = *rc::gen::element<std::size_t>(1, 2, 8, 1000);
  const std::vector<double> found = test::searched_quantiles(values, probabilities, stride);
  RC_ASSERT(found == quantiles(values, probabilities));
}

}  // namespace
}  // namespace ridgeline::core
