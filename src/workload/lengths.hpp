#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/distributions.hpp"
#include "core/rng.hpp"
#include "core/units.hpp"
#include "workload/options.hpp"

namespace ridgeline::workload {

/// Draws lengths of one distribution from a stream of its own.
class LengthSampler {
 public:
  /// `length` is sound (check_options); `purpose` names the stream.
  LengthSampler(const Length& length,
                std::uint64_t seed,
                std::uint64_t replication,
                std::string_view purpose);

  core::Tokens draw() { return kind_ == Kind::kFixed ? lowest_ : draw_varying(); }

 private:
  enum class Kind : std::uint8_t { kFixed, kUniform, kNormal, kLognormal, kEmpirical };

  void set(const FixedLength& length);
  void set(const UniformLength& length);
  void set(const NormalLength& length);
  void set(const LognormalLength& length);
  void set(const EmpiricalLength& length);
  core::Tokens draw_varying();
  [[nodiscard]] core::Tokens rounded(double length) const;

  core::RngStream rng_;
  Kind kind_ = Kind::kFixed;
  core::Tokens lowest_;
  core::Tokens highest_;
  double mean_ = 0.0;
  double std_dev_ = 0.0;
  core::LogMoments log_moments_;
  std::vector<core::Tokens> values_;
  std::optional<core::AliasTable> table_;
};

}  // namespace ridgeline::workload
