#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/statistics/moments.hpp"
#include "metrics/integer_table.hpp"
#include "metrics/order_search.hpp"

namespace ridgeline::metrics::testing {

/// All values of some runs, written out.
inline std::vector<std::int64_t> expanded(std::span<const statistics::ArithmeticRun> runs) {
  std::vector<std::int64_t> values;
  for (const statistics::ArithmeticRun& run : runs) {
    for (std::int64_t i = 0; i < run.count; ++i) {
      values.insert(values.end(), static_cast<std::size_t>(run.repeat), run.first + run.growth * i);
    }
  }
  return values;
}

/// Quantiles by metrics::OrderSearch; `rounds`, if any, is how often it was shown the values.
inline std::vector<double> searched_quantiles(std::span<const std::int64_t> values,
                                              std::span<const double> probabilities,
                                              int* rounds = nullptr) {
  statistics::Moments moments;
  moments.add(values);
  SystematicSample sample(moments.count());
  sample.take(values);
  OrderSearch search(moments, sample, probabilities);
  while (!search.done()) {
    search.take(values);
    search.narrow();
    if (rounds != nullptr) {
      ++*rounds;
    }
  }
  return search.quantiles();
}

/// Quantiles of runs.
inline std::vector<double> searched_quantiles(std::span<const statistics::ArithmeticRun> runs,
                                              std::span<const double> probabilities,
                                              int* rounds = nullptr) {
  statistics::Moments moments;
  IntegerTable<4> table;
  for (const statistics::ArithmeticRun& run : runs) {
    moments.add(run);
    table.push_back({run.first, run.growth, run.count, run.repeat});
  }
  const auto show_to = [&](auto& taker) {
    table.for_each_block(std::array<std::size_t, 4>{0, 1, 2, 3}, [&](const auto& columns) {
      taker.take(RunBlock{
          .first = columns[0], .growth = columns[1], .count = columns[2], .repeat = columns[3]});
    });
  };
  SystematicSample sample(moments.count());
  show_to(sample);
  OrderSearch search(moments, sample, probabilities);
  while (!search.done()) {
    show_to(search);
    search.narrow();
    if (rounds != nullptr) {
      ++*rounds;
    }
  }
  return search.quantiles();
}

}  // namespace ridgeline::metrics::testing
