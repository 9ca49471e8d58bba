#include "plan/doubt.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/check.hpp"
#include "core/distributions.hpp"
#include "core/math.hpp"
#include "plan/linear_doubt.hpp"

namespace ridgeline::plan {
Doubt assess(const DoubtInput& input) {
  RIDGELINE_CHECK(input.rate > 0.0, "a rate to serve");
  const double log_rate = core::log(input.rate);
  const std::size_t rows = input.rows.size();
  Doubt doubt;
  doubt.p_best.assign(rows, 0.0);
  doubt.expected_regret.assign(rows, 0.0);

  double least_cost = std::numeric_limits<double>::infinity();
  const double enough = core::normal_quantile(input.confidence);
  for (std::size_t i = 0; i < rows; ++i) {
    const Row& row = input.rows[i];
    const double margin = log_capacity(row, input.factors).margin(log_rate, row.replicas);
    doubt.p_feasible.push_back(normal_probability(margin));
    const double cost = core::real(row.replicas) * row.cost_per_replica;
    if (margin >= enough && cost < least_cost) {
      least_cost = cost;
      doubt.pick = i;
    }
  }

  const Truths truths = draw_truths(input, kDoubtDraws);
  std::vector<std::int64_t> best_in(rows, 0);
  std::vector<double> spent(rows, 0.0);
  std::vector<double> costs(rows, 0.0);
  double best_cost = 0.0;
  for (std::size_t s = 0; s < kDoubtDraws; ++s) {
    // Rows that serve the rate within their most replicas come before those that do not.
    bool any_fits = false;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < rows; ++i) {
      const Row& row = input.rows[i];
      const std::int64_t needed = replicas_needed(truths.log_capacity[i][s], log_rate);
      const bool fits = needed <= row.max_replicas;
      costs[i] = core::real(std::max(needed, row.min_replicas)) * row.cost_per_replica;
      spent[i] += core::real(std::max(needed, row.replicas)) * row.cost_per_replica;
      if (fits && !any_fits) {
        any_fits = true;
        least = std::numeric_limits<double>::infinity();
        std::fill_n(costs.begin(), i, std::numeric_limits<double>::infinity());
      }
      if (fits == any_fits) {
        least = std::min(least, costs[i]);
      } else {
        costs[i] = std::numeric_limits<double>::infinity();
      }
    }
    for (std::size_t i = 0; i < rows; ++i) {
      best_in[i] += costs[i] <= least * (1.0 + kCostRounding) ? 1 : 0;
    }
    best_cost += rows > 0 ? least : 0.0;
  }
  const double draws = core::real(static_cast<std::int64_t>(kDoubtDraws));
  doubt.expected_best_cost = best_cost / draws;
  for (std::size_t i = 0; i < rows; ++i) {
    doubt.p_best[i] = core::real(best_in[i]) / draws;
    doubt.expected_regret[i] = spent[i] / draws - doubt.expected_best_cost;
  }
  return doubt;
}

}  // namespace ridgeline::plan
