#include "metrics/wait_growth.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/time.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {
namespace {

constexpr double kTicksPerSecond = 1e12;
/// Of a run as short as that nothing is said.
constexpr double kFewestRequests = 20.0;
constexpr std::size_t kFewestIntervals = 8;

}  // namespace

void WaitGrowth::widen() {
  for (std::size_t i = 0; i < kIntervals; ++i) {
    const Interval& first = intervals_[2 * i % kIntervals];
    const Interval& second = intervals_[(2 * i + 1) % kIntervals];
    intervals_[i] = 2 * i < kIntervals ? Interval{.requests = first.requests + second.requests,
                                                  .wait = first.wait + second.wait}
                                       : Interval{};
  }
  ++shift_;
}

WaitGrowth::Part WaitGrowth::part(std::size_t begin, std::size_t end) const {
  const double width = std::ldexp(1.0, static_cast<int>(shift_)) / kTicksPerSecond;
  Part part{.begin = begin};
  double wait = 0.0;
  double arrival = 0.0;
  for (std::size_t i = begin; i < end; ++i) {
    const auto requests = static_cast<double>(intervals_[i].requests);
    part.requests += requests;
    wait += static_cast<double>(intervals_[i].wait) / kTicksPerSecond;
    arrival += requests * (static_cast<double>(i) + 0.5) * width;
  }
  if (part.requests > 0.0) {
    part.wait = wait / part.requests;
    part.arrival = arrival / part.requests;
  }
  return part;
}

std::optional<Overload> WaitGrowth::overload() const {
  std::size_t used = kIntervals;
  while (used > 0 && intervals_[used - 1].requests == 0) {
    --used;
  }
  if (used < kFewestIntervals) {
    return std::nullopt;
  }
  std::array<Part, 4> quarters;
  double requests = 0.0;
  for (std::size_t i = 0; i < quarters.size(); ++i) {
    quarters[i] = part(i * used / quarters.size(), (i + 1) * used / quarters.size());
    requests += quarters[i].requests;
    if (quarters[i].requests == 0.0 || (i > 0 && quarters[i].wait <= quarters[i - 1].wait)) {
      return std::nullopt;
    }
  }
  const auto growth = [&](std::size_t from, std::size_t to) {
    return (quarters[to].wait - quarters[from].wait) /
           (quarters[to].arrival - quarters[from].arrival);
  };
  const double grows = growth(0, 3);
  if (requests < kFewestRequests || grows <= 1.0 / std::sqrt(requests)) {
    return std::nullopt;
  }
  const double width = std::ldexp(1.0, static_cast<int>(shift_)) / kTicksPerSecond;
  const auto rate = [&](double count, std::size_t from) {
    return count / (static_cast<double>(used - from) * width);
  };
  // Requests that come at rate r and wait s seconds longer for each second are scheduled at rate
  // r / (1 + s). The first half has the time in which the batch fills.
  const double recent = rate(quarters[2].requests + quarters[3].requests, quarters[2].begin);
  return Overload{.offered_rate = rate(requests, 0),
                  .sustainable_rate = recent / (1.0 + growth(2, 3)),
                  .wait_growth = grows};
}

}  // namespace ridgeline::metrics
