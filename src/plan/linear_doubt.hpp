#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "plan/doubt.hpp"

/// The linear model behind `doubt.hpp`, as assess() and value_of_measurements() share it.
namespace ridgeline::plan {

/// Costs that differ by less than this share are equal but for rounding.
inline constexpr double kCostRounding = 1e-9;

/// P(Z <= z) of a standard normal Z, to 1e-15.
[[nodiscard]] double normal_probability(double z);

/// Standard deviation of a normal error, and so of a logarithm, whose absolute value has that
/// median, in percent.
[[nodiscard]] double sd_of_median(double percent);

/// Mean and standard deviation of a row's log capacity.
struct LogCapacity {
  double mean = 0.0;
  double sd = 0.0;

  /// How many standard deviations the capacity of `replicas` lies above the rate; infinite without
  /// doubt.
  [[nodiscard]] double margin(double log_rate, std::int64_t replicas) const;
};
[[nodiscard]] LogCapacity log_capacity(const Row& row, const std::vector<Factor>& factors);

/// Fewest replicas, in the row's range, whose capacity lies `margin` standard deviations above the
/// rate.
[[nodiscard]] std::optional<std::int64_t> fewest_replicas(const Row& row,
                                                          const LogCapacity& capacity,
                                                          double log_rate,
                                                          double margin);
/// Replicas that serve the rate where one replica has that log capacity, however many.
[[nodiscard]] std::int64_t replicas_needed(double log_capacity, double log_rate);

/// Mean of the replicas that are there in the end, of that many planned and as many added as the
/// rate turns out to need.
[[nodiscard]] double expected_replicas(const LogCapacity& capacity,
                                       double log_rate,
                                       std::int64_t planned);

/// Standard normal numbers of a cause, one per draw.
[[nodiscard]] std::vector<double> normal_draws(std::uint64_t seed,
                                               std::string_view purpose,
                                               std::size_t entity,
                                               std::size_t count);

/// Truths drawn from the doubt of an input.
struct Truths {
  std::vector<std::vector<double>> theta;         ///< By factor, then draw.
  std::vector<std::vector<double>> log_capacity;  ///< By row, then draw.
};
[[nodiscard]] Truths draw_truths(const DoubtInput& input, std::size_t count);

}  // namespace ridgeline::plan
