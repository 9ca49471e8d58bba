#include "routing/dp_balancer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "core/check.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {

DpBalancer::DpBalancer(Generation generation,
                       std::size_t engines,
                       std::int64_t clients,
                       std::int64_t client)
    : generation_(generation),
      clients_(clients),
      start_(engines * static_cast<std::size_t>(client) / static_cast<std::size_t>(clients)),
      gauges_(engines),
      in_flight_(engines),
      open_(engines, true) {}

void DpBalancer::reserve(std::size_t engines) {
  if (engines > gauges_.size()) {
    gauges_.resize(engines);
    in_flight_.resize(engines);
    open_.resize(engines, true);
  }
}

double DpBalancer::score(std::size_t engine) const {
  const Gauges& gauges = gauges_[engine];
  if (generation_ != Generation::kKvPressure) {
    return static_cast<double>(4 * gauges.waiting + gauges.running);
  }
  const std::int64_t load =
      std::max(clients_ * in_flight_[engine], gauges.waiting + gauges.running);
  const double pressure =
      6.0 * static_cast<double>(gauges.waiting) * std::max(0.0, gauges.kv_usage - 0.5);
  return static_cast<double>(load) + pressure;
}

std::size_t DpBalancer::pick() {
  std::size_t best = gauges_.size();
  for (std::size_t i = 0; i < gauges_.size(); ++i) {
    const std::size_t engine = (start_ + i) % gauges_.size();
    if (open_[engine] && (best == gauges_.size() || score(engine) < score(best))) {
      best = engine;
    }
  }
  RIDGELINE_CHECK(best < gauges_.size(), "an engine may be picked");
  gauges_[best].waiting += clients_;
  ++in_flight_[best];
  start_ += generation_ == Generation::kFixedStart ? 0 : 1;
  return best;
}

void DpBudget::report(std::size_t rank,
                      double timestamp,
                      std::int64_t requests,
                      std::int64_t tokens) {
  Load& load = loads_[rank];
  if (timestamp != load.timestamp) {
    load = {.timestamp = timestamp, .requests = requests, .tokens = tokens, .open = load.open};
  }
}

std::size_t DpBudget::pick(std::int64_t tokens) {
  const auto best = std::ranges::min_element(loads_, {}, [&](const Load& load) {
    return std::tuple(!load.open, by_tokens_ ? load.tokens : load.requests, load.requests);
  });
  best->requests += 1;
  best->tokens += tokens;
  return static_cast<std::size_t>(best - loads_.begin());
}

}  // namespace ridgeline::routing
