#include "workload/arrivals.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
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

void ArrivalTimes::draw_gaps() {
  std::array<double, std::tuple_size_v<decltype(gaps_)>> seconds{};
  core::exponential(rng_, mean_gap_, seconds);
  for (std::size_t i = 0; i < gaps_.size(); ++i) {
    gaps_[i] = core::Duration::from_seconds(seconds[i]).value_or(core::Duration::max());
  }
  next_gap_ = 0;
}

bool ArrivalTimes::step_apart() {
  switch (kind_) {
    case Kind::kPoisson:
      draw_gaps();
      return pass(gaps_[next_gap_++]);
    case Kind::kGamma: {
      const auto gap = core::Duration::from_seconds(core::gamma(rng_, shape_, scale_));
      return gap && pass(*gap);
    }
    case Kind::kConstant: {
      const auto since_start = core::Duration::from_seconds(static_cast<double>(count_++) / rate_);
      last_ = since_start.value_or(last_);
      return since_start.has_value();
    }
    case Kind::kAtOnce:
      break;
  }
  return true;
}

}  // namespace ridgeline::workload
