#include "core/statistics/student.hpp"

#include <cmath>
#include <cstdint>
#include <numbers>

#include "core/distributions.hpp"
#include "core/math.hpp"

namespace ridgeline::statistics {

double student_quantile(double p, std::int64_t freedom) {
  if (freedom <= 1) {
    // The cotangent, by Lambert's continued fraction of the tangent: the same on all machines.
    const double x = std::numbers::pi * (1.0 - p);
    double fraction = 19.0;
    for (double odd = 17.0; odd > 0.0; odd -= 2.0) {
      fraction = odd - x * x / fraction;
    }
    return fraction / x;
  }
  if (freedom == 2) {
    const double q = 2.0 * p - 1.0;
    return q * std::sqrt(2.0 / (1.0 - q * q));
  }
  const double z = core::normal_quantile(p);
  const double square = z * z;
  const double n = core::real(freedom);
  const double first = (square + 1.0) * z / 4.0;
  const double second = ((5.0 * square + 16.0) * square + 3.0) * z / 96.0;
  const double third = (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) * z / 384.0;
  return z + (first + (second + third / n) / n) / n;
}

}  // namespace ridgeline::statistics
