#pragma once

#include <cstdint>
#include <span>

namespace ridgeline::core {

/// Natural logarithm, exponential and power in plain IEEE double arithmetic: the same bits on every
/// machine, compiler and C library, which the library's own functions do not promise. Each is
/// within 0.52 units in the last place of the true value (0.5 is the rounding of the result itself;
/// subnormal results: 1 unit). For square roots use std::sqrt, which IEEE 754 defines to the bit.
///
/// Method: tables of log(c) and 2^(i/128) computed at compile time in 128-bit fixed point, short
/// Taylor series around the table points, and the low half of a double-double carried to the end.
/// The idea of tables with a short reciprocal is P. T. P. Tang's ("Table-driven implementation of
/// the logarithm function", ACM TOMS 16(4), 1990; "... of the exponential function", ACM TOMS
/// 15(2), 1989).

/// log(0) is -infinity, log(negative) and log(NaN) are NaN, log(infinity) is infinity.
double log(double x);
/// Replaces each number by its logarithm. Several are under way at once: half the time of one after
/// the other.
void log(std::span<double> numbers);

/// 0 below -745.14 and infinity above 709.79; exp(NaN) is NaN.
double exp(double x);

/// x to the power y for x >= 0. pow(x, 0) and pow(1, y) are 1, pow(0, y) is 0 for y > 0 and
/// infinity for y < 0; infinities follow the limits. NaN for x < 0, whatever y, and for NaN in
/// either place otherwise.
double pow(double x, double y);

/// A count, for formulas in real numbers.
constexpr double real(std::int64_t count) {
  return static_cast<double>(count);
}

}  // namespace ridgeline::core
