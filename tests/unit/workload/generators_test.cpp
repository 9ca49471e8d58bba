// Every law of gaps and of lengths over 10^6 draws: mean, variance, quantiles, and no memory from
// one draw to the next. Seeds are fixed, so that a test that holds once always holds; limits are
// five standard errors (unit/workload/sample.hpp).
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/rng.hpp"
#include "unit/workload/sample.hpp"
#include "workload/generate/law.hpp"
#include "workload/generate/rate_curve.hpp"

namespace ridgeline::workload {
namespace {

constexpr int kGeneratorDraws = 1'000'000;

/// What a law says of itself.
struct KnownLaw {
  std::string name;
  double mean = 0.0;
  double variance = 0.0;
  double fourth = 0.0;  ///< Central moment.
  std::vector<std::pair<double, double>> quantiles;
};

/// One pass over the sample for everything.
void expect_known(const KnownLaw& known, const std::vector<double>& sample) {
  const auto n = static_cast<double>(sample.size());
  std::vector<double> below(known.quantiles.size());
  double sum = 0.0;
  double squares = 0.0;
  double products = 0.0;
  double before = 0.0;
  for (const double x : sample) {
    const double off = x - known.mean;
    sum += off;
    squares += off * off;
    products += off * before;
    before = off;
    for (std::size_t i = 0; i < below.size(); ++i) {
      below[i] += x < known.quantiles[i].second ? 1.0 : 0.0;
    }
  }
  EXPECT_NEAR(sum / n, 0.0, kStandardErrors * std::sqrt(known.variance / n)) << known.name;
  EXPECT_NEAR(squares / n,
              known.variance,
              kStandardErrors * std::sqrt((known.fourth - known.variance * known.variance) / n))
      << known.name;
  // The correlation of neighbours has a standard error of 1 / sqrt(n).
  EXPECT_NEAR(products / n / known.variance, 0.0, kStandardErrors / std::sqrt(n)) << known.name;
  for (std::size_t i = 0; i < below.size(); ++i) {
    const double p = known.quantiles[i].first;
    EXPECT_NEAR(below[i] / n, p, kStandardErrors * frequency_error(p, n))
        << known.name << " at " << p;
  }
}

/// Mean 1 and the central moments of a lognormal law with this coefficient of variation: with
/// w = 1 + cv^2, the variance is w - 1 and the fourth moment (w - 1)^2 (w^4 + 2 w^3 + 3 w^2 - 3).
KnownLaw lognormal_of(double cv) {
  const double w = 1.0 + cv * cv;
  const double sigma = std::sqrt(std::log(w));
  const double mu = -sigma * sigma / 2.0;
  const double fourth = (w - 1) * (w - 1) * (std::pow(w, 4) + 2 * std::pow(w, 3) + 3 * w * w - 3);
  // P(Z < 1.2815515655446004) = 0.9 and P(Z < 2.3263478740408408) = 0.99.
  return {"lognormal",
          1.0,
          w - 1.0,
          fourth,
          {{0.5, std::exp(mu)},
           {0.9, std::exp(mu + 1.2815515655446004 * sigma)},
           {0.99, std::exp(mu + 2.3263478740408408 * sigma)}}};
}

KnownLaw exponential_of_mean_one() {
  return {"exponential",
          1.0,
          1.0,
          9.0,
          {{0.1, -std::log(0.9)}, {0.5, std::log(2.0)}, {0.99, std::log(100.0)}}};
}

/// Shape 4: variance 1/4, fourth moment (3 + 6 / 4) / 16; quantiles of Gamma(4, 1) as tabled
/// (P(X < 3.67206074885) = 0.5, 6.68078307 at 0.9, 10.04511750 at 0.99), over 4.
KnownLaw gamma_of_shape_four() {
  return {"gamma",
          1.0,
          0.25,
          4.5 / 16.0,
          {{0.5, 3.67206074885 / 4}, {0.9, 6.68078306935 / 4}, {0.99, 10.0451175035 / 4}}};
}

/// Shape 2 (Rayleigh), scaled to mean one: sigma^2 = 2 / pi, variance 4 / pi - 1, excess kurtosis
/// 0.2450893; quantile sqrt(-2 sigma^2 ln(1 - p)).
KnownLaw weibull_of_shape_two() {
  const double pi = std::acos(-1.0);
  const double variance = 4.0 / pi - 1.0;
  const auto quantile = [pi](double p) { return std::sqrt(-4.0 / pi * std::log1p(-p)); };
  return {"weibull",
          1.0,
          variance,
          3.2450893 * variance * variance,
          {{0.1, quantile(0.1)}, {0.5, quantile(0.5)}, {0.99, quantile(0.99)}}};
}

TEST(GapGenerators, FollowTheirLaws) {
  struct Case {
    GapLaw gaps;
    KnownLaw known;
  };
  for (const Case& test : {Case{{GapLaw::Kind::kPoisson, 1.0}, exponential_of_mean_one()},
                           Case{{GapLaw::Kind::kGamma, 4.0}, gamma_of_shape_four()},
                           Case{{GapLaw::Kind::kWeibull, 2.0}, weibull_of_shape_two()},
                           Case{{GapLaw::Kind::kLognormal, 0.5}, lognormal_of(0.5)}}) {
    CurveArrivals arrivals(RateCurve::constant(1.0), std::nullopt, test.gaps, 21, 0, 0);
    std::vector<double> gaps;
    gaps.reserve(kGeneratorDraws);
    double last = 0.0;
    for (int i = 0; i < kGeneratorDraws; ++i) {
      const double next = arrivals.next().value_or(last);
      gaps.push_back(next - last);
      last = next;
    }
    expect_known(test.known, gaps);
  }
}

std::vector<double> law_draws(const Law& law) {
  const LawSampler sampler(law);
  core::RngStream rng(22, 0, "generators");
  std::vector<double> values(kGeneratorDraws);
  for (double& value : values) {
    value = sampler.draw(rng);
  }
  return values;
}

TEST(LawGenerators, FollowTheirLaws) {
  expect_known(exponential_of_mean_one(), law_draws(Law::exponential(1.0)));
  expect_known(gamma_of_shape_four(), law_draws({.kind = Law::Kind::kGamma, .a = 4.0, .b = 0.25}));
  const double scale = 2.0 / std::sqrt(std::acos(-1.0));
  expect_known(weibull_of_shape_two(),
               law_draws({.kind = Law::Kind::kWeibull, .a = 2.0, .b = scale}));
  expect_known(lognormal_of(0.5), law_draws(Law::lognormal(1.0, 0.5, 0.0, 1e8)));
  const double sigma = std::sqrt(std::log(1.25));
  expect_known(lognormal_of(0.5),
               law_draws({.kind = Law::Kind::kLogOfNormal, .a = -sigma * sigma / 2.0, .b = sigma}));
  // Far from its limits, which would gather what lies beyond them.
  expect_known(
      {"normal", 100, 400, 3 * 160'000, {{0.5, 100}, {0.975, 100 + 1.959963984540054 * 20}}},
      law_draws(Law::normal(100, 20, 0, 200)));
  expect_known({"uniform", 6, 12, 259.2, {{0.25, 3}, {0.5, 6}, {0.9, 10.8}}},
               law_draws(Law::uniform(0, 12)));
}

// Values 1, 10, 100 with weights 5, 3, 2: mean 23.5, E x^2 = 2030.5.
TEST(LawGenerators, EmpiricalLawsKeepTheirWeights) {
  const std::vector<double> values = {1, 10, 100};
  const std::vector<double> weights = {5, 3, 2};
  double mean = 0.0;
  double variance = 0.0;
  double fourth = 0.0;
  for (std::size_t i = 0; i < 3; ++i) {
    mean += values[i] * weights[i] / 10;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    variance += std::pow(values[i] - mean, 2) * weights[i] / 10;
    fourth += std::pow(values[i] - mean, 4) * weights[i] / 10;
  }
  expect_known({"empirical", mean, variance, fourth, {{0.5, 5}, {0.8, 50}}},
               law_draws({.kind = Law::Kind::kEmpirical, .values = values, .weights = weights}));
}

// Ranks 1 to 100 in proportion to 1/k: the moments are sums over the ranks.
TEST(LawGenerators, ZipfHasTheMomentsOfItsRanks) {
  double total = 0.0;
  double mean = 0.0;
  for (int k = 1; k <= 100; ++k) {
    total += 1.0 / k;
    mean += 1.0;
  }
  mean /= total;
  double variance = 0.0;
  double fourth = 0.0;
  double up_to_ten = 0.0;
  for (int k = 1; k <= 100; ++k) {
    const double p = 1.0 / k / total;
    variance += p * std::pow(k - mean, 2);
    fourth += p * std::pow(k - mean, 4);
    up_to_ten += k <= 10 ? p : 0.0;
  }
  expect_known({"zipf", mean, variance, fourth, {{1.0 / total, 1.5}, {up_to_ten, 10.5}}},
               law_draws({.kind = Law::Kind::kZipf, .a = 1.0, .highest = 100}));
}

// Two states of 10 and 0 per second, 5 s each on average, leave each other at s = 2/5 per second
// in sum. Counts in windows of t = 10 s (D. R. Cox and V. Isham, "Point processes", 1980, 6.2):
//   mean 50, variance 50 + 2 (10^2 / 4) / s^2 (s t - 1 + e^-st) = 993.2,
//   covariance of neighbours (10^2 / 4) / s^2 (1 - e^-st)^2 = 150.6.
// Their own errors come from 20 batches of the windows.
TEST(MarkovGenerator, HasTheVarianceAndTheMemoryOfItsStates) {
  CurveArrivals arrivals({}, MarkovRates{.rates = {10, 0}, .mean_seconds = {5, 5}}, {}, 23, 0, 0);
  constexpr double kWindow = 10.0;
  std::vector<double> counts;
  for (int i = 0; i < kGeneratorDraws; ++i) {
    const auto window = static_cast<std::size_t>(arrivals.next().value_or(0.0) / kWindow);
    counts.resize(std::max(counts.size(), window + 1));
    ++counts[window];
  }
  counts.pop_back();  // It may be cut.
  constexpr std::size_t kBatches = 20;
  const std::size_t size = counts.size() / kBatches;
  std::vector<double> means(kBatches);
  std::vector<double> variances(kBatches);
  std::vector<double> covariances(kBatches);
  for (std::size_t b = 0; b < kBatches; ++b) {
    for (std::size_t i = b * size; i + 1 < (b + 1) * size; ++i) {
      const auto n = static_cast<double>(size - 1);
      means[b] += counts[i] / n;
      variances[b] += (counts[i] - 50) * (counts[i] - 50) / n;
      covariances[b] += (counts[i] - 50) * (counts[i + 1] - 50) / n;
    }
  }
  const double decay = 1.0 - std::exp(-4.0);
  const auto expect_batches = [](const std::vector<double>& batches, double expected) {
    const Moments moments = moments_of(batches);
    EXPECT_NEAR(moments.mean, expected, kStandardErrors * std::sqrt(moments.variance / kBatches));
    // The test says something only where that is narrow.
    EXPECT_LT(std::sqrt(moments.variance / kBatches), 0.1 * expected);
  };
  expect_batches(means, 50);
  expect_batches(variances, 50 + 2 * 25 / 0.16 * (4.0 - decay));
  expect_batches(covariances, 25 / 0.16 * decay * decay);
}

TEST(Generators, RepeatWithTheirSeed) {
  const auto times = [](std::uint64_t seed) {
    CurveArrivals arrivals(RateCurve::diurnal(2, 0.5, 9), {}, {}, seed, 0, 0);
    std::vector<double> list;
    for (int i = 0; i < 1000; ++i) {
      list.push_back(arrivals.next().value_or(0.0));
    }
    return list;
  };
  EXPECT_EQ(times(5), times(5));
  EXPECT_NE(times(5), times(6));
}

}  // namespace
}  // namespace ridgeline::workload
