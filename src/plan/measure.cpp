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
/// What a measurement may say is looked at in so many parts of equal probability.
constexpr std::int64_t kOutcomes = 1'000;

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

  [[nodiscard]] LogCapacity at(double y) const {
    return {.mean = capacity.mean + gain * y, .sd = capacity.sd};
  }
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

  /// The least cost among what suffices with the confidence asked for, `now` among equals; else the
  /// likeliest to suffice.
  [[nodiscard]] Decision decide(const std::vector<Posterior>& known,
                                const Decision& now,
                                double y) const {
    Decision best;
    double least = std::numeric_limits<double>::infinity();
    double likeliest = -std::numeric_limits<double>::infinity();
    Decision nearest;
    for (std::size_t i = 0; i < known.size(); ++i) {
      const Row& row = input_.rows[i];
      const LogCapacity capacity = known[i].at(y);
      if (const auto replicas = fewest_replicas(row, capacity, log_rate_, enough_)) {
        const double cost = core::real(*replicas) * row.cost_per_replica;
        if (cost < least || (cost == least && i == now.row)) {
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

  /// What a decision is expected to cost in the end, replicas added until they suffice.
  [[nodiscard]] double cost(const Decision& decision,
                            const std::vector<Posterior>& known,
                            double y) const {
    return expected_replicas(known[decision.row].at(y), log_rate_, decision.replicas) *
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

/// What a measurement is worth: the mean over what it may say, which is one normal number.
MeasurementValue value_of(const DoubtInput& input,
                          const Measurement& measurement,
                          const Decision& now) {
  const Decider decider(input);
  const double variance = variance_of(measurement, input.factors);
  std::vector<Posterior> known;
  for (const Row& row : input.rows) {
    known.push_back(regress(row, input.factors, measurement, variance));
  }
  double saved = 0.0;
  std::int64_t changed = 0;
  for (std::int64_t s = 0; s < kOutcomes; ++s) {
    const double quantile = core::normal_quantile((core::real(s) + 0.5) / core::real(kOutcomes));
    const double y = std::sqrt(variance) * quantile;
    const Decision then = decider.decide(known, now, y);
    if (then != now) {
      ++changed;
      saved += decider.cost(now, known, y) - decider.cost(then, known, y);
    }
  }
  const double before = log_capacity(input.rows[now.row], input.factors).sd;
  const double after = known[now.row].capacity.sd;
  return {.what = measurement.what,
          .command = measurement.command,
          .gpu = measurement.gpu,
          .minutes = measurement.minutes,
          .resolves = before > 0.0 ? 1.0 - after * after / (before * before) : 0.0,
          .value = saved / core::real(kOutcomes),
          .is_kernel = measurement.is_kernel,
          .changes_answer = core::real(changed) / core::real(kOutcomes)};
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
  const Decision now = {.row = pick, .replicas = input.rows[pick].replicas};
  std::vector<MeasurementValue> values;
  for (const Measurement& measurement : all_measurements(input)) {
    if (variance_of(measurement, input.factors) > 0.0) {
      values.push_back(value_of(input, measurement, now));
    }
  }
  put_in_order(values);
  return values;
}

}  // namespace ridgeline::plan
