#include "workload/arrivals.hpp"

#include <cstdint>
#include <optional>
#include <variant>

#include "core/check.hpp"
#include "core/distributions.hpp"
#include "core/time.hpp"
#include "workload/limits.hpp"
#include "workload/options.hpp"

namespace ridgeline::workload {

ArrivalTimes::ArrivalTimes(const Arrivals& arrivals, std::uint64_t seed, std::uint64_t replication)
    : rng_(seed, replication, "arrivals") {
  RIDGELINE_CHECK(!std::holds_alternative<ClosedLoop>(arrivals), "a closed loop has no schedule");
  if (const auto* poisson = std::get_if<PoissonArrivals>(&arrivals)) {
    kind_ = Kind::kPoisson;
    mean_gap_ = 1.0 / poisson->request_rate.value();
  } else if (const auto* constant = std::get_if<ConstantArrivals>(&arrivals)) {
    kind_ = Kind::kConstant;
    rate_ = constant->request_rate.value();
  } else if (const auto* gamma = std::get_if<GammaArrivals>(&arrivals)) {
    kind_ = Kind::kGamma;
    shape_ = gamma->burstiness;
    scale_ = 1.0 / (gamma->request_rate.value() * gamma->burstiness);
  }
}

std::optional<core::SimTime> ArrivalTimes::next() {
  double gap = 0.0;
  switch (kind_) {
    case Kind::kPoisson:
      if (next_gap_ == gaps_.size()) {
        core::exponential(rng_, mean_gap_, gaps_);
        next_gap_ = 0;
      }
      gap = gaps_[next_gap_++];
      break;
    case Kind::kGamma:
      gap = core::gamma(rng_, shape_, scale_);
      break;
    case Kind::kAtOnce:
      return core::SimTime();
    case Kind::kConstant: {
      const auto since_start = core::Duration::from_seconds(static_cast<double>(count_++) / rate_);
      return since_start ? std::optional(core::SimTime::at(*since_start)) : std::nullopt;
    }
  }
  const auto step = core::Duration::from_seconds(gap);
  if (!step || *step > kLatestArrival - last_) {
    return std::nullopt;
  }
  last_ += *step;
  return core::SimTime::at(last_);
}

}  // namespace ridgeline::workload
