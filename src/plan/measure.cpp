#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/distributions.hpp"
#include "core/math.hpp"
#include "plan/doubt.hpp"
#include "plan/linear_doubt.hpp"

namespace ridgeline::plan {
namespace {

/// A value within this share of the largest suffices: the shortest of these comes first.
constexpr double kSufficient = 0.95;

struct Decision {
  std::size_t row = 0;
  std::int64_t replicas = 0;

  friend bool operator==(const Decision&, const Decision&) = default;
};

/// What is known of a row once y is: its log capacity moves by `gain` times y, and `capacity` is
/// that at y = 0.
struct Posterior {
  LogCapacity capacity;
  double gain = 0.0;
};

std::vector<Measurement> all_measurements(const DoubtInput& input) {
  std::vector<Measurement> all;
  for (std::size_t j = 0; j < input.factors.size(); ++j) {
    const Factor& factor = input.factors[j];
    if (factor.command.empty()) {
      continue;
    }
    Measurement own{.what = factor.name,
                    .command = factor.command,
                    .gpu = factor.gpu,
                    .minutes = factor.minutes,
                    .noise = factor.noise,
                    .loading = std::vector<double>(input.factors.size(), 0.0),
                    .is_kernel = factor.is_kernel};
    own.loading[j] = 1.0;
    all.push_back(std::move(own));
  }
  all.insert(all.end(), input.measurements.begin(), input.measurements.end());
  return all;
}

class Decider {
 public:
  explicit Decider(const DoubtInput& input)
      : input_(input),
        log_rate_(core::log(input.rate)),
        enough_(core::normal_quantile(input.confidence)) {}

  /// The least cost among what suffices with the confidence asked for; else the likeliest to.
  [[nodiscard]] Decision decide(const std::vector<Posterior>& known, double y) const {
    Decision best;
    double least = std::numeric_limits<double>::infinity();
    double likeliest = -std::numeric_limits<double>::infinity();
    Decision nearest;
    for (std::size_t i = 0; i < known.size(); ++i) {
      const Row& row = input_.rows[i];
      LogCapacity capacity = known[i].capacity;
      capacity.mean += known[i].gain * y;
      if (const auto replicas = fewest_replicas(row, capacity, log_rate_, enough_)) {
        const double cost = core::real(*replicas) * row.cost_per_replica;
        if (cost < least) {
          least = cost;
          best = {.row = i, .replicas = *replicas};
        }
      } else if (const double margin = capacity.margin(log_rate_, row.max_replicas);
                 margin > likeliest) {
        likeliest = margin;
        nearest = {.row = i, .replicas = row.max_replicas};
      }
    }
    return std::isfinite(least) ? best : nearest;
  }

  /// What a decision costs in the end, replicas added until they suffice.
  [[nodiscard]] double cost(const Decision& decision, const Truths& truths, std::size_t s) const {
    const std::int64_t needed = replicas_needed(truths.log_capacity[decision.row][s], log_rate_);
    return core::real(std::max(needed, decision.replicas)) *
           input_.rows[decision.row].cost_per_replica;
  }

 private:
  const DoubtInput& input_;
  double log_rate_;
  double enough_;
};

double variance_of(const Measurement& measurement, const std::vector<Factor>& factors) {
  RIDGELINE_CHECK(measurement.loading.size() == factors.size(), "one loading per factor");
  double variance = measurement.noise * measurement.noise;
  for (std::size_t j = 0; j < factors.size(); ++j) {
    const double part = measurement.loading[j] * factors[j].sd;
    variance += part * part;
  }
  return variance;
}

/// Regression of a row's log capacity on y, of that variance: linear, since all is normal.
Posterior regress(const Row& row,
                  const std::vector<Factor>& factors,
                  const Measurement& measurement,
                  double variance) {
  double covariance = 0.0;
  for (std::size_t j = 0; j < factors.size(); ++j) {
    covariance += row.elasticity[j] * measurement.loading[j] * factors[j].sd * factors[j].sd;
  }
  Posterior known{.capacity = log_capacity(row, factors), .gain = covariance / variance};
  const double left = known.capacity.sd * known.capacity.sd - covariance * known.gain;
  known.capacity.sd = std::sqrt(std::max(left, 0.0));
  return known;
}

/// What the measurement of that number is worth.
MeasurementValue value_of(const DoubtInput& input,
                          const Measurement& measurement,
                          std::size_t number,
                          const Decision& now,
                          const Truths& truths) {
  const Decider decider(input);
  const double variance = variance_of(measurement, input.factors);
  std::vector<Posterior> known;
  for (const Row& row : input.rows) {
    known.push_back(regress(row, input.factors, measurement, variance));
  }
  std::vector<double> y = normal_draws(input.seed, "plan_measurement", number, kDoubtDraws);
  for (double& each : y) {
    each *= measurement.noise;
  }
  for (std::size_t j = 0; j < input.factors.size(); ++j) {
    for (std::size_t s = 0; s < kDoubtDraws && measurement.loading[j] != 0.0; ++s) {
      y[s] += measurement.loading[j] * truths.theta[j][s];
    }
  }
  double saved = 0.0;
  std::int64_t changed = 0;
  for (std::size_t s = 0; s < kDoubtDraws; ++s) {
    const Decision then = decider.decide(known, y[s]);
    if (then != now) {
      ++changed;
      saved += decider.cost(now, truths, s) - decider.cost(then, truths, s);
    }
  }
  const double before = log_capacity(input.rows[now.row], input.factors).sd;
  const double after = known[now.row].capacity.sd;
  const double draws = core::real(static_cast<std::int64_t>(kDoubtDraws));
  return {.what = measurement.what,
          .command = measurement.command,
          .gpu = measurement.gpu,
          .minutes = measurement.minutes,
          .resolves = before > 0.0 ? 1.0 - after * after / (before * before) : 0.0,
          .value = saved / draws,
          .is_kernel = measurement.is_kernel,
          .changes_answer = core::real(changed) / draws};
}

/// The most valuable first; before it, the shortest of those that suffice.
void put_in_order(std::vector<MeasurementValue>& values) {
  std::ranges::stable_sort(values, [](const MeasurementValue& a, const MeasurementValue& b) {
    return a.value != b.value ? a.value > b.value : a.minutes < b.minutes;
  });
  if (values.empty()) {
    return;
  }
  const double enough = kSufficient * values.front().value;
  const auto end = std::ranges::find_if(
      values, [&](const MeasurementValue& each) { return each.value < enough; });
  const auto shortest = std::min_element(
      values.begin(), end, [](const MeasurementValue& a, const MeasurementValue& b) {
        return a.minutes < b.minutes;
      });
  if (shortest != end) {
    std::rotate(values.begin(), shortest, shortest + 1);
  }
}

}  // namespace

std::vector<MeasurementValue> value_of_measurements(const DoubtInput& input, std::size_t pick) {
  RIDGELINE_CHECK(pick < input.rows.size(), "the pick is a row");
  const Truths truths = draw_truths(input, kDoubtDraws);
  const Decision now = {.row = pick, .replicas = input.rows[pick].replicas};
  const std::vector<Measurement> measurements = all_measurements(input);
  std::vector<MeasurementValue> values;
  for (std::size_t m = 0; m < measurements.size(); ++m) {
    if (variance_of(measurements[m], input.factors) > 0.0) {
      values.push_back(value_of(input, measurements[m], m, now, truths));
    }
  }
  put_in_order(values);
  return values;
}

}  // namespace ridgeline::plan
