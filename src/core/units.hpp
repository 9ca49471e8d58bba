#pragma once

#include <compare>
#include <concepts>
#include <cstdint>

namespace ridgeline::core {

/// A number with a unit. Same units add, subtract and compare; a plain number scales; the ratio of
/// two is a plain number. Nothing else compiles, unless physics names it below: a byte is not a
/// token.
template <class Tag, class Representation>
class Quantity {
 public:
  using Rep = Representation;

  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep value) : value_(value) {}

  [[nodiscard]] constexpr Rep value() const { return value_; }

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr bool operator==(Quantity, Quantity) = default;

  constexpr Quantity operator-() const { return Quantity(-value_); }
  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) {
    return Quantity(a.value_ + b.value_);
  }
  friend constexpr Quantity operator-(Quantity a, Quantity b) {
    return Quantity(a.value_ - b.value_);
  }
  friend constexpr Quantity operator*(Quantity a, Rep scale) { return Quantity(a.value_ * scale); }
  friend constexpr Quantity operator*(Rep scale, Quantity a) { return Quantity(a.value_ * scale); }
  friend constexpr Quantity operator/(Quantity a, Rep scale) { return Quantity(a.value_ / scale); }
  friend constexpr Rep operator/(Quantity a, Quantity b) { return a.value_ / b.value_; }

 private:
  Rep value_{};
};

/// Counts are exact integers.
using Tokens = Quantity<struct TokensTag, std::int64_t>;
using Blocks = Quantity<struct BlocksTag, std::int64_t>;
/// Work and traffic are doubles: exact to 2^53, and half a byte per weight exists (INT4).
using Bytes = Quantity<struct BytesTag, double>;
using Flops = Quantity<struct FlopsTag, double>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag, double>;
using BytesPerToken = Quantity<struct BytesPerTokenTag, double>;
/// Real-valued time inside step-time formulas; simulated time is core::Duration.
using Seconds = Quantity<struct SecondsTag, double>;
/// Events per second.
using Rate = Quantity<struct RateTag, double>;

constexpr Seconds operator/(Bytes work, BytesPerSecond rate) {
  return Seconds(work.value() / rate.value());
}
constexpr Seconds operator/(Flops work, FlopsPerSecond rate) {
  return Seconds(work.value() / rate.value());
}
constexpr Bytes operator*(BytesPerToken each, Tokens count) {
  return Bytes(each.value() * static_cast<double>(count.value()));
}
constexpr Bytes operator*(Tokens count, BytesPerToken each) {
  return each * count;
}

constexpr Seconds microseconds(double value) {
  return Seconds(value * 1e-6);
}
constexpr double as_microseconds(Seconds value) {
  return value.value() * 1e6;
}
constexpr Bytes gibibytes(double value) {
  return Bytes(value * 1073741824.0);
}
constexpr double as_gibibytes(Bytes value) {
  return value.value() / 1073741824.0;
}

/// ceil(a / b) for counts of one unit, as a plain number.
template <class Tag, std::integral Rep>
constexpr Rep ceil_div(Quantity<Tag, Rep> a, Quantity<Tag, Rep> b) {
  return (a.value() + b.value() - 1) / b.value();
}

}  // namespace ridgeline::core
