#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/mix.hpp"

namespace ridgeline::plan {
namespace {

/// Whether two replicas counts serve two classes: shares of the first class to the first offer are
/// tried finely, the other class takes what is left.
bool serves(const MixQuestion& question, std::int64_t first, std::int64_t second) {
  constexpr int kSteps = 400;
  // The feasible shares of class 0 form an interval whose ends are where a replica is full: try
  // those ends too.
  const auto fits = [&](double x) {
    if (x < 0.0 || x > 1.0) {
      return false;
    }
    const MixOffer& a = question.offers[0];
    const MixOffer& b = question.offers[1];
    const auto load = [&](const MixOffer& offer, std::size_t c, double share) {
      return share <= 0.0               ? 0.0
             : offer.capacity[c] <= 0.0 ? std::numeric_limits<double>::infinity()
                                        : share * question.rates[c] / offer.capacity[c];
    };
    const double left = static_cast<double>(first) - load(a, 0, x);
    if (left < -1e-9) {
      return false;
    }
    const double y = a.capacity[1] > 0.0
                         ? std::min(1.0, std::max(0.0, left) * a.capacity[1] / question.rates[1])
                         : 0.0;
    return load(b, 0, 1.0 - x) + load(b, 1, 1.0 - y) <= static_cast<double>(second) + 1e-9;
  };
  for (int i = 0; i <= kSteps; ++i) {
    if (fits(static_cast<double>(i) / kSteps)) {
      return true;
    }
  }
  const MixOffer& a = question.offers[0];
  const MixOffer& b = question.offers[1];
  const double x_full = static_cast<double>(first) * a.capacity[0] / question.rates[0];
  const double x_rest =
      (static_cast<double>(first) - question.rates[1] / std::max(a.capacity[1], 1e-12)) *
      a.capacity[0] / question.rates[0];
  const double x_need = 1.0 - static_cast<double>(second) * b.capacity[0] / question.rates[0];
  return fits(x_full) || fits(x_rest) || fits(x_need);
}

double cheapest_by_trying(const MixQuestion& question) {
  constexpr std::int64_t kMost = 30;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t first = 0; first <= kMost; ++first) {
    for (std::int64_t second = 0; second <= kMost; ++second) {
      const double cost = static_cast<double>(first) * question.offers[0].cost +
                          static_cast<double>(second) * question.offers[1].cost;
      if (cost < least && serves(question, first, second)) {
        least = cost;
      }
    }
  }
  return least;
}

RC_GTEST_PROP(Mix, CostsWhatTryingEveryNumberGives, ()) {
  // Twentieths, so that nothing hangs on the last digit.
  const auto number = [](int low, int high) {
    return static_cast<double>(*rc::gen::inRange(low, high)) / 20.0;
  };
  MixQuestion question;
  question.rates = {number(20, 200), number(20, 200)};
  for (const char* gpu : {"a", "b"}) {
    question.offers.push_back({.gpu = gpu,
                               .gpus = 1,
                               .cost = number(20, 100),
                               .capacity = {number(15, 120), number(15, 120)}});
  }
  const auto mix = cheapest_mix(question);
  if (!mix) {
    RC_SUCCEED(mix.error().front().message);
  }
  RC_ASSERT(mix->has_value());
  RC_ASSERT(std::abs((*mix)->cost - cheapest_by_trying(question)) < 1e-6);
  // And the shares add up, within the replicas.
  for (std::size_t c = 0; c < 2; ++c) {
    RC_ASSERT(std::abs((*mix)->shares[0][c] + (*mix)->shares[1][c] - 1.0) < 1e-6);
  }
  for (std::size_t i = 0; i < 2; ++i) {
    double busy = 0.0;
    for (std::size_t c = 0; c < 2; ++c) {
      busy += (*mix)->shares[i][c] * question.rates[c] / question.offers[i].capacity[c];
    }
    RC_ASSERT(busy <= static_cast<double>((*mix)->replicas[i]) + 1e-6);
  }
}

}  // namespace
}  // namespace ridgeline::plan
