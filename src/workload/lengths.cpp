#include "workload/lengths.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/check.hpp"
#include "core/distributions.hpp"
#include "core/units.hpp"
#include "workload/options.hpp"

namespace ridgeline::workload {

LengthSampler::LengthSampler(const Length& length,
                             std::uint64_t seed,
                             std::uint64_t replication,
                             std::string_view purpose)
    : rng_(seed, replication, purpose) {
  std::visit([this](const auto& kind) { set(kind); }, length);
}

void LengthSampler::set(const FixedLength& length) {
  lowest_ = length.value;
}

void LengthSampler::set(const UniformLength& length) {
  kind_ = Kind::kUniform;
  lowest_ = length.lowest;
  highest_ = length.highest;
}

void LengthSampler::set(const NormalLength& length) {
  kind_ = Kind::kNormal;
  mean_ = length.mean;
  std_dev_ = length.std;
  lowest_ = length.lowest;
  highest_ = length.highest;
}

void LengthSampler::set(const LognormalLength& length) {
  kind_ = Kind::kLognormal;
  log_moments_ = core::log_moments_of(length.mean, length.std);
  lowest_ = length.lowest;
  highest_ = length.highest;
}

void LengthSampler::set(const EmpiricalLength& length) {
  kind_ = Kind::kEmpirical;
  std::vector<double> weights;
  for (const auto& bin : length.bins) {
    values_.push_back(bin.value);
    weights.push_back(bin.weight);
  }
  auto table = core::AliasTable::make(weights);
  RIDGELINE_CHECK(table.has_value(), "weights that check_options let through");
  table_ = std::move(*table);
}

core::Tokens LengthSampler::draw_varying() {
  switch (kind_) {
    case Kind::kFixed:
      return lowest_;
    case Kind::kUniform:
      return core::Tokens(core::uniform_integer(rng_, lowest_.value(), highest_.value()));
    case Kind::kNormal:
      return rounded(core::normal(rng_, mean_, std_dev_));
    case Kind::kLognormal:
      return rounded(core::lognormal(rng_, log_moments_));
    case Kind::kEmpirical:
      return values_[table_->draw(rng_)];
  }
  return lowest_;
}

core::Tokens LengthSampler::rounded(double length) const {
  // Limited before the conversion: a variable of wide spread may not fit an integer.
  const double nearest = std::clamp(std::floor(length + 0.5),
                                    static_cast<double>(lowest_.value()),
                                    static_cast<double>(highest_.value()));
  return core::Tokens(static_cast<std::int64_t>(nearest));
}

}  // namespace ridgeline::workload
