#include "workload/generate/law.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include "core/check.hpp"
#include "core/distributions.hpp"
#include "core/math.hpp"
#include "core/rng.hpp"
#include "core/units.hpp"

namespace ridgeline::workload {

LawSampler::LawSampler(const Law& law) : law_(law) {
  using Kind = Law::Kind;
  if (law.kind == Kind::kLognormal) {
    log_moments_ = core::log_moments_of(std::max(law.a, 1e-9), law.b);
  } else if (law.kind == Kind::kLogOfNormal || law.kind == Kind::kParetoLognormal) {
    log_moments_ = {.mean = law.a, .std_dev = law.b};
  } else if (law.kind == Kind::kZipf) {
    zipf_.emplace(std::max<std::int64_t>(static_cast<std::int64_t>(law.highest), 1), law.a);
  } else if (law.kind == Kind::kEmpirical) {
    auto table = core::AliasTable::make(law.weights);
    RIDGELINE_CHECK(table.has_value(), "weights that were not checked");
    table_ = std::move(*table);
    cumulative_.resize(law.weights.size());
    std::partial_sum(law.weights.begin(), law.weights.end(), cumulative_.begin());
  }
}

double LawSampler::limited(double value) const {
  return std::clamp(value, law_.lowest, law_.highest);
}

double LawSampler::draw(core::RngStream& rng) const {
  using Kind = Law::Kind;
  switch (law_.kind) {
    case Kind::kConstant:
      return limited(law_.a);
    case Kind::kNormal:
      return limited(core::normal(rng, law_.a, law_.b));
    case Kind::kSkewNormal: {
      const double share = law_.c / std::sqrt(1.0 + law_.c * law_.c);
      const double first = std::abs(core::normal(rng, 0.0, 1.0));
      const double second = core::normal(rng, 0.0, 1.0);
      return limited(law_.a + law_.b * (share * first + std::sqrt(1.0 - share * share) * second));
    }
    case Kind::kLognormal:
    case Kind::kLogOfNormal:
      return limited(core::lognormal(rng, log_moments_));
    case Kind::kExponential:
      return limited(core::exponential(rng, law_.a));
    case Kind::kGamma:
      return limited(core::gamma(rng, law_.a, law_.b));
    case Kind::kWeibull:
      return limited(core::weibull(rng, law_.a, law_.b));
    case Kind::kParetoLognormal: {
      const bool pareto = rng.uniform() < law_.c;
      // The inverse of 1 - (e / x)^d.
      return limited(pareto ? law_.e * core::pow(rng.uniform(), -1.0 / law_.d)
                            : core::lognormal(rng, log_moments_));
    }
    case Kind::kZipf:
      return limited(static_cast<double>(zipf_->draw(rng)));
    case Kind::kEmpirical:
      return limited(law_.values[table_->draw(rng)]);
    case Kind::kUniform:
      return law_.lowest + (law_.highest - law_.lowest) * rng.uniform();
  }
  return law_.lowest;
}

core::Tokens LawSampler::draw_tokens(core::RngStream& rng) const {
  if (law_.kind == Law::Kind::kUniform) {
    return core::Tokens(std::max<std::int64_t>(
        core::uniform_integer(
            rng, static_cast<std::int64_t>(law_.lowest), static_cast<std::int64_t>(law_.highest)),
        1));
  }
  return core::Tokens(static_cast<std::int64_t>(std::max(std::floor(draw(rng) + 0.5), 1.0)));
}

double LawSampler::at(double u) const {
  using Kind = Law::Kind;
  switch (law_.kind) {
    case Kind::kConstant:
      return limited(law_.a);
    case Kind::kUniform:
      return law_.lowest + (law_.highest - law_.lowest) * u;
    case Kind::kNormal:
      return limited(law_.a + law_.b * core::normal_quantile(u));
    case Kind::kLognormal:
    case Kind::kLogOfNormal:
      return limited(
          core::exp(log_moments_.mean + log_moments_.std_dev * core::normal_quantile(u)));
    case Kind::kExponential:
      return limited(-law_.a * core::log(1.0 - u));
    case Kind::kWeibull:
      return limited(law_.b * core::pow(-core::log(1.0 - u), 1.0 / law_.a));
    case Kind::kEmpirical: {
      const auto place =
          std::ranges::lower_bound(cumulative_, u * cumulative_.back()) - cumulative_.begin();
      return limited(
          law_.values[std::min(static_cast<std::size_t>(place), law_.values.size() - 1)]);
    }
    case Kind::kGamma:
    case Kind::kSkewNormal:
    case Kind::kParetoLognormal:
    case Kind::kZipf: {
      core::RngStream rng(std::bit_cast<std::uint64_t>(u), 0, "law at");
      return draw(rng);
    }
  }
  return law_.lowest;
}

}  // namespace ridgeline::workload
