#include "routing/scorers/columns.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "routing/scorers/candidate.hpp"

namespace ridgeline::routing {
namespace {

/// Comparisons side by side: each waits for the one before it in its own chain.
constexpr std::size_t kChains = 4;

template <class Value>
void take(std::vector<Value>& row,
          const std::vector<Value>& all,
          std::span<const std::size_t> places) {
  row.clear();
  if (!all.empty()) {
    for (const std::size_t place : places) {
      row.push_back(all[place]);
    }
  }
}

}  // namespace

Columns::Columns(Candidates candidates) : size(candidates.size()) {
  for (const Candidate& one : candidates) {
    waiting.push_back(static_cast<double>(one.gauges.waiting));
    running.push_back(static_cast<double>(one.gauges.running));
    kv_usage.push_back(one.gauges.kv_usage);
    inflight_requests.push_back(static_cast<double>(one.inflight_requests));
    inflight_tokens.push_back(static_cast<double>(one.inflight_tokens));
    uncached_tokens.push_back(static_cast<double>(one.uncached_tokens));
    matched.push_back(static_cast<double>(one.prefix.matched));
    total.push_back(static_cast<double>(one.prefix.total));
    block_tokens.push_back(static_cast<double>(one.prefix.block_tokens));
    session.push_back(one.served_session ? 1.0 : 0.0);
    headroom.push_back(one.headroom);
  }
}

void Columns::assign(const Columns& all, std::span<const std::size_t> places) {
  size = places.size();
  take(waiting, all.waiting, places);
  take(running, all.running, places);
  take(kv_usage, all.kv_usage, places);
  take(inflight_requests, all.inflight_requests, places);
  take(inflight_tokens, all.inflight_tokens, places);
  take(uncached_tokens, all.uncached_tokens, places);
  take(matched, all.matched, places);
  take(total, all.total, places);
  take(block_tokens, all.block_tokens, places);
  take(session, all.session, places);
  take(nearness, all.nearness, places);
  take(headroom, all.headroom, places);
}

Extent extent_of(std::span<const double> numbers) {
  if (numbers.empty()) {
    return {};
  }
  std::array<double, kChains> low{};
  std::array<double, kChains> high{};
  low.fill(numbers.front());
  high.fill(numbers.front());
  std::size_t i = 0;
  for (; i + kChains <= numbers.size(); i += kChains) {
    for (std::size_t chain = 0; chain < kChains; ++chain) {
      low[chain] = std::min(low[chain], numbers[i + chain]);
      high[chain] = std::max(high[chain], numbers[i + chain]);
    }
  }
  for (; i < numbers.size(); ++i) {
    low[0] = std::min(low[0], numbers[i]);
    high[0] = std::max(high[0], numbers[i]);
  }
  return {.lowest = std::ranges::min(low), .highest = std::ranges::max(high)};
}

namespace {

/// The best of the numbers by std::min or std::max.
template <class Better>
double best_of(std::span<const double> numbers, const Better& better) {
  std::array<double, kChains> best{};
  best.fill(numbers.front());
  std::size_t i = 0;
  for (; i + kChains <= numbers.size(); i += kChains) {
    for (std::size_t chain = 0; chain < kChains; ++chain) {
      best[chain] = better(best[chain], numbers[i + chain]);
    }
  }
  for (; i < numbers.size(); ++i) {
    best[0] = better(best[0], numbers[i]);
  }
  double all = best[0];
  for (std::size_t chain = 1; chain < kChains; ++chain) {
    all = better(all, best[chain]);
  }
  return all;
}

}  // namespace

double highest_of(std::span<const double> numbers) {
  return best_of(numbers, [](double a, double b) { return std::max(a, b); });
}

double lowest_of(std::span<const double> numbers) {
  return best_of(numbers, [](double a, double b) { return std::min(a, b); });
}

}  // namespace ridgeline::routing
