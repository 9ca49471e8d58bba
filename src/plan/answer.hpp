#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "domain/step.hpp"
#include "latency/accuracy/bands.hpp"
#include "plan/cost.hpp"
#include "plan/doubt.hpp"
#include "plan/question.hpp"
#include "plan/target.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::plan {

/// How far a candidate came.
enum class Stage : std::uint8_t { kBound, kFluid, kSimulated, kCertified };
inline constexpr std::array<std::string_view, 4> kStageNames = {
    "bound", "fluid", "simulated", "certified"};

/// A number between two: 80 % of what is expected of it.
struct Interval {
  double value = 0.0;
  double lo = 0.0;
  double hi = 0.0;
};

/// How a target is kept by a candidate at the question's load.
struct TargetResult {
  std::size_t target = 0;  ///< Index in the question's targets.
  std::optional<Interval> value_ms =
      {};                     ///< The statistic; 80 % of the windows lie between lo and hi.
  double exceed_share = 0.0;  ///< Share of the requests above the limit.
  bool met = false;
  /// For an attainment, which has no value to judge by: the highest of kSurenessLevels at which a
  /// run meets the target with its limits tightened; 0 where at none.
  double sure = 0.0;
};

/// Windows in which every target was met.
struct Certificate {
  std::int64_t windows = 0;
  std::int64_t passed = 0;
  std::int64_t window_requests = 0;
  /// Clopper-Pearson: with 95 % confidence at least so many windows pass.
  double at_least = 0.0;
  bool holds = false;  ///< passed / windows >= the question's confidence.
  std::int64_t warm_up_requests = 0;
};

/// Candidates that can be compared with each other by what they cost: those of one standing.
enum class Standing : std::uint8_t {
  kRanked,   ///< By the objective.
  kNoPrice,  ///< Its GPU has no price, where the objective is in dollars: ranked by GPUs.
  /// Its figures are bounds and no estimates (scenario::why_bound()): what it may be at best.
  kAtBest,
  kAtBestNoPrice,
};
inline constexpr std::array kStandings = {
    Standing::kRanked, Standing::kNoPrice, Standing::kAtBest, Standing::kAtBestNoPrice};

/// What all replicas of a deployment ran at.
struct RunLoad {
  double load = 0.0;  ///< Requests per second, or clients.
  double requests_per_second = 0.0;
  double output_tokens_per_second = 0.0;
};

/// A deployment that was looked at.
struct PlanCandidate {
  std::string id;
  std::int64_t ordinal = 0;                                   ///< In canonical order.
  std::vector<std::pair<std::string, std::string>> settings;  ///< What of the space it is.
  std::string label;                                          ///< "h200 TP2 mbt 8192"
  std::string model;
  std::string gpu;
  std::string engine;      ///< "vllm@0.15"
  std::string bound = {};  ///< Why its figures are bounds; empty: they are estimates.
  std::vector<accuracy::ExpectedError> expected_errors = {};  ///< One per figure.
  bool has_price = true;                                      ///< Or no objective asks for one.
  core::Warnings warnings = {};                               ///< Warnings of its deployment.
  std::string router;  ///< Router where there is more than one replica.
  std::optional<Split> split = {};
  std::int64_t gpus_per_replica = 1;
  std::int64_t replicas = 0;  ///< 0: no number of them meets the targets.
  Stage stage = Stage::kBound;
  std::optional<Interval> capacity = {};  ///< One replica's requests per second (or clients).
  double sampling_sd = 0.0;               ///< Sampling error of the capacity's logarithm.
  double model_sd = 0.0;                  ///< Model error of the capacity's logarithm.
  double fluid_capacity = 0.0;
  double most_rate = 0.0;                   ///< Bound.
  std::optional<std::size_t> binding = {};  ///< The target that limits it; nothing: utilisation.
  double utilisation = 0.0;                 ///< Load per replica by saturated throughput.
  bool unstable = false;
  double unit_cost = 0.0;  ///< One replica, in the first objective; 0 where it was not raced.
  Cost cost = {};          ///< Cost of `replicas` replicas.
  std::optional<RunLoad> at = {};  ///< The load that is recommended, where a load is what is asked.
  std::vector<TargetResult> targets = {};
  std::optional<Certificate> certificate = {};
  std::array<double, domain::kNumBottlenecks> bottlenecks{};  ///< Shares of busy time.
  double p_feasible = 0.0;
  double p_best = 0.0;
  double expected_regret = 0.0;  ///< In the unit of the objective.
  /// With several objectives: id of the candidate that dominates it.
  std::optional<std::string> dominated_by = {};
  std::string dropped_stage = {};  ///< Empty: not dropped.
  std::string dropped_reason = {};
  /// Candidates that differ in a setting alone which changes none of its numbers.
  std::vector<std::size_t> twins = {};
  /// With its replicas: what `run` takes, and deployment files are written from. Of the finalists.
  std::shared_ptr<const scenario::Resolved> resolved = {};

  [[nodiscard]] bool is_bound() const { return !bound.empty(); }
  [[nodiscard]] Standing standing() const {
    return is_bound() ? (has_price ? Standing::kAtBest : Standing::kAtBestNoPrice)
                      : (has_price ? Standing::kRanked : Standing::kNoPrice);
  }
};

/// Points that one rule refused.
struct Rejection {
  std::string reason;
  std::int64_t count = 0;
  std::string example;  ///< The first one, and what was wrong with it.
  std::string nearest;  ///< What would admit it; may be empty.

  /// The reason behind the count: "do not fit"
  [[nodiscard]] std::string counted_reason() const {
    return reason == kDoesNotFit && count != 1 ? "do not fit" : reason;
  }
  static constexpr std::string_view kDoesNotFit = "does not fit";
};

/// A cheaper number of replicas, or another deployment, that is not sure enough to be picked.
struct CheaperChance {
  std::size_t candidate = 0;
  std::int64_t replicas = 1;  ///< With spare ones.
  double p_feasible = 0.0;
};

/// What was done.
struct SearchCounts {
  std::int64_t points = 0;
  std::int64_t rejected = 0;
  std::int64_t bounded = 0;
  std::int64_t by_fluid = 0;
  std::int64_t simulated = 0;
  std::int64_t certified = 0;
  std::int64_t requests_simulated = 0;
  /// It ended there, at the most that the effort allows, before all was looked at.
  bool limited = false;
};

/// An answer to a question: everything that tables and files say.
struct Answer {
  Question question;
  std::string digest;  ///< Digest of the question.
  std::string engine;  ///< "vllm@0.15"; several by commas.
  double load = 0.0;   ///< Requests per second, or clients; with `most_of`, of the pick.
  bool is_closed_loop = false;
  std::string workload;  ///< "5 req/s", "64 clients", "3.2 req/s (trace chat.csv)"
  std::optional<double> session_rate = {};  ///< Sessions per second, where requests are turns.
  std::optional<std::size_t> pick = {};     ///< Index in `candidates`.
  /// The best, at most top_n, cheapest first; behind them the best of each GPU that cannot be
  /// compared with them: without a price, then what is known by bounds alone.
  std::vector<std::size_t> ranking = {};
  std::vector<PlanCandidate> candidates;  ///< In canonical order.
  std::vector<std::size_t> pareto = {};   ///< With several objectives: those that none dominates.
  std::vector<Rejection> rejected = {};
  std::vector<Factor> factors = {};
  /// Elasticity of log capacity, by finalist, then factor.
  std::vector<std::vector<double>> elasticities = {};
  std::vector<std::size_t> finalists = {};
  std::vector<MeasurementValue> measurements = {};
  std::vector<BreakEven> breakevens = {};    ///< Their rows are candidates.
  std::optional<double> amplification = {};  ///< d log capacity / d log step time, of the pick.
  double expected_regret_pct = 0.0;
  /// The least that is as likely as not to suffice, where it costs less than the pick.
  std::optional<CheaperChance> cheaper = {};
  double headroom_pct = 0.0;
  SearchCounts search = {};
  core::Warnings warnings = {};
  bool partial = false;
  /// Where there is no pick: why, in one line, and the nearest misses.
  std::string failure = {};
  std::vector<std::string> nearest = {};
  bool is_infeasible = false;  ///< No candidate is predicted to meet the targets.

  /// Replicas that serve the load: spare ones are left out.
  [[nodiscard]] std::int64_t serving(std::int64_t replicas) const {
    return std::max<std::int64_t>(1, replicas - question.limits.spare_replicas);
  }
};

}  // namespace ridgeline::plan
