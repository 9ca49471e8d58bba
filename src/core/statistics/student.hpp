#pragma once

#include <cstdint>

namespace ridgeline::statistics {

/// The p-quantile (0.5 <= p < 1) of Student's t distribution with so many (at least one) degrees of
/// freedom: exact for one and two, else within 0.3 % for p up to 0.95 by an expansion around the
/// normal law's quantile (Abramowitz, Stegun, "Handbook of Mathematical Functions", 26.7.5).
[[nodiscard]] double student_quantile(double p, std::int64_t freedom);

}  // namespace ridgeline::statistics
