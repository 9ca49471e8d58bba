#pragma once

#include <cstdint>

#include "core/int128.hpp"

namespace ridgeline::statistics {

/// A count modulo 2^192: room for the sum of the squares of 2^63 values of 64 bits. Differences and
/// products of negative numbers come out right where the result is in range.
class Uint192 {
 public:
  constexpr Uint192() = default;
  static constexpr Uint192 of(core::Uint128 value) { return {value, 0}; }
  static constexpr Uint192 of_signed(core::Int128 value) {
    return {static_cast<core::Uint128>(value), value < 0 ? ~std::uint64_t{0} : 0};
  }

  [[nodiscard]] constexpr core::Uint128 low() const { return low_; }
  [[nodiscard]] constexpr double to_double() const {
    constexpr double kTwoTo128 = 0x1p128;
    return static_cast<double>(high_) * kTwoTo128 + static_cast<double>(low_);
  }

  friend constexpr bool operator==(const Uint192&, const Uint192&) = default;
  constexpr void add(core::Uint128 value) {
    low_ += value;
    high_ += static_cast<std::uint64_t>(low_ < value);
  }
  /// value * times.
  constexpr void add(core::Uint128 value, std::uint64_t times) {
    const core::Uint128 upper = static_cast<core::Uint128>(upper_half(value)) * times;
    add(static_cast<core::Uint128>(lower_half(value)) * times);
    add(upper << kHalf);
    high_ += upper_half(upper);
  }
  friend constexpr Uint192 operator+(Uint192 a, const Uint192& b) {
    a.add(b.low_);
    a.high_ += b.high_;
    return a;
  }
  friend constexpr Uint192 operator-(const Uint192& a, const Uint192& b) {
    return {a.low_ - b.low_, a.high_ - b.high_ - static_cast<std::uint64_t>(a.low_ < b.low_)};
  }
  friend constexpr Uint192 operator*(const Uint192& a, const Uint192& b) {
    // By halves of 64 bits; what lies beyond 2^192 falls away.
    Uint192 product;
    product.add(a.low_, lower_half(b.low_));
    Uint192 upper;
    upper.add(a.low_, upper_half(b.low_));
    product.add(upper.low_ << kHalf);
    product.high_ +=
        upper_half(upper.low_) + a.high_ * lower_half(b.low_) + lower_half(a.low_) * b.high_;
    return product;
  }

 private:
  static constexpr int kHalf = 64;

  constexpr Uint192(core::Uint128 low, std::uint64_t high) : low_(low), high_(high) {}
  static constexpr std::uint64_t lower_half(core::Uint128 value) {
    return static_cast<std::uint64_t>(value);
  }
  static constexpr std::uint64_t upper_half(core::Uint128 value) {
    return static_cast<std::uint64_t>(value >> kHalf);
  }

  core::Uint128 low_ = 0;
  std::uint64_t high_ = 0;
};

}  // namespace ridgeline::statistics
