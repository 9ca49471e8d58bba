#include "plan/linear_doubt.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "core/check.hpp"
#include "core/distributions.hpp"
#include "core/math.hpp"
#include "core/rng.hpp"
#include "plan/doubt.hpp"

namespace ridgeline::plan {
namespace {

/// A capacity that is the rate but for rounding serves it.
constexpr double kRounding = 1e-9;
/// More replicas than any question has; keeps the count an integer.
constexpr double kCountlessReplicas = 1e12;
/// Median of the absolute value of a standard normal variable.
constexpr double kMedianOfNormal = 0.6744897501960817;
constexpr double kPercent = 100.0;
constexpr double kDensityAtZero = 0.3989422804014327;  ///< Standard normal density at 0.
/// Replica numbers up to this are counted one by one, larger ones in steps of that share.
constexpr std::int64_t kCountedSingly = 512;
/// A number of replicas that fewer truths than these need adds nothing to a mean.
constexpr double kNoProbability = 1e-9;

}  // namespace

double normal_probability(double z) {
  constexpr double kFar = 8.0;  // Beyond, a probability prints as 0 or 1.
  if (z <= -kFar) {
    return 0.0;
  }
  if (z >= kFar) {
    return 1.0;
  }
  // 1/2 + density(z) (z + z^3/3 + z^5/(3 5) + ...): all terms have the sign of z (Marsaglia,
  // "Evaluating the Normal Distribution", Journal of Statistical Software 11 (4), 2004).
  double term = z;
  double sum = z;
  for (double odd = 3.0; sum + term != sum; odd += 2.0) {
    term *= z * z / odd;
    sum += term;
  }
  return std::clamp(0.5 + sum * kDensityAtZero * core::exp(-z * z / 2.0), 0.0, 1.0);
}

double sd_of_median(double percent) {
  return percent / kPercent / kMedianOfNormal;
}

double LogCapacity::margin(double log_rate, std::int64_t replicas) const {
  const double above = mean + core::log(core::real(replicas)) - log_rate + kRounding;
  if (sd > 0.0) {
    return above / sd;
  }
  return above >= 0.0 ? std::numeric_limits<double>::infinity()
                      : -std::numeric_limits<double>::infinity();
}

LogCapacity log_capacity(const Row& row, const std::vector<Factor>& factors) {
  RIDGELINE_CHECK(row.elasticity.size() == factors.size(), "one elasticity per factor");
  RIDGELINE_CHECK(row.capacity_rps > 0.0, "a row that could be picked has a capacity");
  double variance = row.sampling_sd * row.sampling_sd;
  for (std::size_t j = 0; j < factors.size(); ++j) {
    const double part = row.elasticity[j] * factors[j].sd;
    variance += part * part;
  }
  return {.mean = core::log(row.capacity_rps), .sd = std::sqrt(variance)};
}

std::optional<std::int64_t> fewest_replicas(const Row& row,
                                            const LogCapacity& capacity,
                                            double log_rate,
                                            double margin) {
  const std::int64_t replicas =
      std::max(replicas_needed(capacity.mean - margin * capacity.sd, log_rate), row.min_replicas);
  return replicas <= row.max_replicas ? std::optional(replicas) : std::nullopt;
}

std::int64_t replicas_needed(double log_capacity, double log_rate) {
  const double exact = core::exp(log_rate - log_capacity - kRounding);
  return static_cast<std::int64_t>(std::ceil(std::min(exact, kCountlessReplicas)));
}

double expected_replicas(const LogCapacity& capacity, double log_rate, std::int64_t planned) {
  double mean = core::real(planned);
  std::int64_t step = 1;
  for (std::int64_t n = planned;; n += step) {
    step = std::max<std::int64_t>(1, n / kCountedSingly);
    const double too_few = normal_probability(-capacity.margin(log_rate, n + (step - 1) / 2));
    mean += core::real(step) * too_few;
    // A doubt of several powers of ten would go on until the count overflows.
    if (too_few < kNoProbability || core::real(n) > kCountlessReplicas) {
      return mean;
    }
  }
}

std::vector<double> normal_draws(std::uint64_t seed,
                                 std::string_view purpose,
                                 std::size_t entity,
                                 std::size_t count) {
  core::RngStream stream(seed, 0, purpose, entity);
  std::vector<double> numbers(count);
  for (double& number : numbers) {
    number = core::normal(stream, 0.0, 1.0);
  }
  return numbers;
}

Truths draw_truths(const DoubtInput& input, std::size_t count) {
  Truths truths;
  truths.theta.reserve(input.factors.size());
  for (std::size_t j = 0; j < input.factors.size(); ++j) {
    truths.theta.push_back(normal_draws(input.seed, "plan_factor", j, count));
    for (double& value : truths.theta.back()) {
      value *= input.factors[j].sd;
    }
  }
  truths.log_capacity.reserve(input.rows.size());
  for (std::size_t i = 0; i < input.rows.size(); ++i) {
    const Row& row = input.rows[i];
    std::vector<double> drawn = normal_draws(input.seed, "plan_sampling", i, count);
    const double mean = log_capacity(row, input.factors).mean;
    for (double& value : drawn) {
      value = mean + row.sampling_sd * value;
    }
    for (std::size_t j = 0; j < input.factors.size(); ++j) {
      const double elasticity = row.elasticity[j];
      if (elasticity == 0.0) {
        continue;
      }
      for (std::size_t s = 0; s < count; ++s) {
        drawn[s] += elasticity * truths.theta[j][s];
      }
    }
    truths.log_capacity.push_back(std::move(drawn));
  }
  return truths;
}

}  // namespace ridgeline::plan
