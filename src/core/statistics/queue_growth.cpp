#include "core/statistics/queue_growth.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>

namespace ridgeline::statistics {
namespace {

constexpr double kTicksPerSecond = 1e12;
/// A run with fewer requests is not judged.
constexpr std::int64_t kFewest = 20;
/// n that come at random times are sqrt(n) more or fewer than expected: the standard deviation of a
/// Poisson distribution. A queue that reaches four times that is no chance.
constexpr double kPeakDeviations = 4.0;
/// Below what was served by two of them a run as long as this one is no overload.
constexpr double kCareDeviations = 2.0;
/// A queue that stands for most of the run is one that is not worked off from so many times sqrt(n)
/// on. A stable queue that long needs longer than n requests to come to that length: its mean
/// q = rho / (1 - rho) is reached within some q^2 requests (M/M/1).
constexpr double kStandingDeviations = 2.0;
/// Half of the peak still waits in so many parts of the run, an eighth.
constexpr std::size_t kFewestParts = 8;
/// A backlog begins where less than that part of its peak waits.
constexpr double kBeginning = 0.1;

}  // namespace

void CountsOverTime::add(std::uint64_t since) {
  while ((since >> shift_) >= kIntervals) [[unlikely]] {
    widen();
  }
  ++intervals_[since >> shift_];
  ++total_;
  last_ = std::max(last_, since);
}

void CountsOverTime::widen() {
  for (std::size_t i = 0; i < kIntervals / 2; ++i) {
    intervals_[i] = intervals_[2 * i] + intervals_[2 * i + 1];
  }
  std::fill(intervals_.begin() + kIntervals / 2, intervals_.end(), 0);
  ++shift_;
}

double CountsOverTime::before(double since) const {
  const auto last = static_cast<double>(last_);
  if (since >= last) {
    return static_cast<double>(total_);
  }
  const double width = std::ldexp(1.0, static_cast<int>(shift_));
  const auto place = static_cast<std::size_t>(since / width);
  const double begin = static_cast<double>(place) * width;
  const double end = std::min(begin + width, last);
  const auto earlier =
      std::accumulate(intervals_.begin(), intervals_.begin() + place, std::int64_t{0});
  return static_cast<double>(earlier) +
         static_cast<double>(intervals_[place]) * (since - begin) / (end - begin);
}

QueueGrowth::Look QueueGrowth::look() const {
  Look look;
  const double part = static_cast<double>(come_.last()) / kParts;
  for (std::size_t i = 0; i <= kParts; ++i) {
    const double time = part * static_cast<double>(i);
    look.come[i] = come_.before(time);
    look.waiting[i] = look.come[i] - left_.before(time);
  }
  return look;
}

/// Whether the mean queue grows from each quarter to the next, and by more than chance.
bool QueueGrowth::grows_throughout(const Look& look) {
  constexpr std::size_t kQuarter = kParts / 4;
  std::array<double, 4> means{};
  for (std::size_t i = 0; i < means.size(); ++i) {
    const auto* const begin = look.waiting.begin() + i * kQuarter;
    means[i] = std::accumulate(begin, begin + kQuarter + 1, 0.0) / (kQuarter + 1);
    if (i > 0 && means[i] <= means[i - 1]) {
      return false;
    }
  }
  // The first and the last quarter's middle are three quarters of the run apart.
  return means[3] - means[0] > 0.75 * std::sqrt(look.come.back());
}

Backlog QueueGrowth::stretch(const Look& look,
                             std::size_t begin,
                             std::size_t end,
                             std::optional<double> throughput) const {
  const double part = static_cast<double>(come_.last()) / kTicksPerSecond / kParts;
  const bool whole_run = begin == 0 && end == kParts;
  // What leaves soon after the last that comes may be in the last part's intervals.
  const std::size_t to = whole_run ? end - 1 : end;
  const auto rates = [&](std::size_t from) {
    const double seconds = static_cast<double>(to - from) * part;
    const double offered = (look.come[to] - look.come[from]) / seconds;
    const double served = offered - (look.waiting[to] - look.waiting[from]) / seconds;
    return std::pair(offered, std::max(served, 1.0 / seconds));
  };
  const auto [offered, served] = rates(begin);
  // While the batch still fills more leave the queue than can be served: the second half has less
  // of that time, and what the whole run served has none.
  double steady = std::min(served, rates((begin + end) / 2).second);
  if (whole_run) {
    steady = std::min(steady, throughput.value_or(steady));
  }
  const double spread = kCareDeviations / std::sqrt(look.come[end] - look.come[begin]);
  return {.begin_s = static_cast<double>(begin) * part,
          .end_s = static_cast<double>(end) * part,
          .offered_rate = offered,
          .sustainable_rate = std::max(steady * (1.0 - spread), 0.0),
          .wait_growth = offered / served - 1.0,
          .whole_run = whole_run};
}

/// The last time at which more than `limit` wait, if they do for more than half of the run.
std::optional<std::size_t> QueueGrowth::end_of_standing(const Look& look, double limit) {
  const auto above = [limit](double waiting) { return waiting > limit; };
  const auto looks = std::ranges::count_if(look.waiting, above);
  if (static_cast<std::size_t>(looks) <= look.waiting.size() / 2) {
    return std::nullopt;
  }
  std::size_t last = kParts;
  while (!above(look.waiting[last])) {
    --last;
  }
  return last;
}

/// Where the queue began that is `peak` long, from `at` on backwards.
std::size_t QueueGrowth::beginning(const Look& look, std::size_t at, double peak) {
  std::size_t begin = at;
  while (begin > 0 && look.waiting[begin] > kBeginning * peak) {
    --begin;
  }
  return begin;
}

/// The parts around `top` in which at least half of its queue waits.
std::size_t QueueGrowth::parts_at_half(const Look& look, std::size_t top) {
  const double half = look.waiting[top] / 2.0;
  std::size_t from = top;
  while (from > 0 && look.waiting[from] >= half) {
    --from;
  }
  std::size_t to = top;
  while (to < kParts && look.waiting[to] >= half) {
    ++to;
  }
  return to - from;
}

std::optional<Backlog> QueueGrowth::backlog(std::optional<double> throughput) const {
  if (come_.total() < kFewest || come_.last() == 0) {
    return std::nullopt;
  }
  const Look at = look();
  if (grows_throughout(at)) {
    return stretch(at, 0, kParts, throughput);
  }
  const auto* const highest = std::ranges::max_element(at.waiting);
  const auto top = static_cast<std::size_t>(highest - at.waiting.begin());
  const double peak = *highest;
  const double chance = std::sqrt(at.come.back());
  if (peak > kPeakDeviations * chance && parts_at_half(at, top) >= kFewestParts) {
    return stretch(at, beginning(at, top - 1, peak), top, throughput);
  }
  if (const auto last = end_of_standing(at, kStandingDeviations * chance)) {
    return stretch(at, beginning(at, *last, peak), *last, throughput);
  }
  return std::nullopt;
}

}  // namespace ridgeline::statistics
