#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// How sure a plan is: the errors of the model, what they do to each deployment's capacity, and
/// what a measurement would change (docs/internals/planning.md). Everything is linear in the
/// logarithm: log C_i = log capacity_i + sum_j elasticity_ij theta_j + sampling error, with
/// independent normal theta_j.
namespace ridgeline::plan {

/// One cause of error, shared by every deployment whose elasticity to it is not 0.
struct Factor {
  std::string name = {};  ///< "prefill attention, h200"
  std::string gpu = {};   ///< Catalogue name; empty where it holds on every GPU.
  double sd = 0.0;        ///< Standard deviation of the logarithm.
  /// Standard deviation of the logarithm once it is measured. A factor without a command cannot be
  /// measured by itself.
  double noise = 0.0;
  std::string command = {};
  double minutes = 0.0;
  bool is_kernel = false;  ///< An operator's time.
};

/// A deployment that could be picked.
struct Row {
  double capacity_rps = 0.0;  ///< One replica's requests per second within the targets.
  double sampling_sd = 0.0;   ///< Error of its logarithm, as runs are not endless.
  std::int64_t replicas = 1;  ///< Planned.
  std::int64_t max_replicas = 1;
  double cost_per_replica = 0.0;        ///< In the unit of the objective.
  std::vector<double> elasticity = {};  ///< d log capacity / d theta_j, one per factor.
  std::int64_t min_replicas = 1;        ///< Above 1 where the question fixes their number.
};

/// Something to measure that several factors show in: y = sum_j loading_j theta_j + noise.
struct Measurement {
  std::string what = {};
  std::string command = {};
  std::string gpu = {};
  double minutes = 0.0;
  double noise = 0.0;                ///< Standard deviation of the logarithm.
  std::vector<double> loading = {};  ///< One per factor.
  bool is_kernel = false;            ///< An operator's time.
};

struct DoubtInput {
  double rate = 0.0;  ///< Requests per second that all replicas of a deployment share.
  std::vector<Factor> factors = {};
  std::vector<Row> rows = {};  ///< In canonical order, which breaks ties.
  double confidence = 0.9;     ///< Least probability that the replicas planned suffice.
  std::uint64_t seed = 1;
  /// Beside the factors' own.
  std::vector<Measurement> measurements = {};
};

struct Doubt {
  std::vector<double> p_feasible;  ///< That the replicas planned serve the rate.
  /// That no other row is cheaper, each with what it needs. Rows of one cost share a first place,
  /// so that these may sum to more than 1.
  std::vector<double> p_best;
  /// Regret of picking that row: what it costs in the end, replicas added until they suffice, above
  /// the cheapest of all; in the unit of the objective.
  std::vector<double> expected_regret;
  double expected_best_cost = 0.0;  ///< Cost of the cheapest, with everything known.
  /// The cheapest as planned with p_feasible >= confidence.
  std::optional<std::size_t> pick;
};

/// What a measurement is worth before a pick is made for good.
struct MeasurementValue {
  std::string what = {};
  std::string command = {};
  std::string gpu = {};
  double minutes = 0.0;
  double resolves = 0.0;  ///< Share of the variance of the pick's log capacity that it removes.
  /// Expected regret now less that after deciding again, in the unit of the objective.
  double value = 0.0;
  bool is_kernel = false;
  double changes_answer = 0.0;  ///< Probability that another row, or another number, is picked.
};

/// Draws of the Monte Carlo.
inline constexpr std::size_t kDoubtDraws = 10'000;
/// A measurement that changes the answer with less than this is not worth making.
inline constexpr double kWorthMeasuring = 0.02;

/// By kDoubtDraws draws, each a function of the seed, its number and the factor or row alone: the
/// same numbers on any machine. Rows have one elasticity per factor (checked), positive capacities,
/// and at least one replica.
[[nodiscard]] Doubt assess(const DoubtInput& input);

/// Every factor that can be measured and every measurement of the input, the most valuable first;
/// among equals the shortest. Deciding again means: the row and number of replicas with the least
/// cost among those that suffice with the confidence asked for, or the likeliest to suffice where
/// none does. Of `pick`, the row that would be deployed without measuring.
[[nodiscard]] std::vector<MeasurementValue> value_of_measurements(const DoubtInput& input,
                                                                  std::size_t pick);

}  // namespace ridgeline::plan
