#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "plan/answer.hpp"
#include "plan/capacity.hpp"

namespace ridgeline::plan {

/// How many replicas there may be.
struct ReplicaRules {
  double load = 0.0;                       ///< That all of them share.
  std::int64_t spare = 0;                  ///< Beside those that serve it.
  std::int64_t most = 1;                   ///< With the spare ones.
  std::vector<std::int64_t> allowed = {};  ///< Ascending; empty: any number.

  /// The fewest that serve the load where each serves `capacity`; nothing where too many would be
  /// needed.
  [[nodiscard]] std::optional<std::int64_t> fewest(double capacity) const;
  /// The highest number that is allowed.
  [[nodiscard]] std::int64_t highest() const;
  /// At least so many: the next allowed number.
  [[nodiscard]] std::optional<std::int64_t> at_least(std::int64_t replicas) const;
};

/// One point of a race.
struct Contender {
  std::size_t candidate = 0;
  Standing standing = Standing::kRanked;  ///< Only those of one standing drop each other.
  std::vector<double> unit_costs;         ///< Cost of one replica, by objective.
  ReplicaRules rules;
  double guess = 0.0;  ///< Guess of its capacity.
  /// Its runs are held to targets that leave room for the doubt of its latencies: what it carries
  /// within them is sure.
  bool is_sure = false;
  bool is_guess_usable = true;  ///< Whether the guess may keep it out of the first rung.

  Capacity capacity = {};
  std::int64_t runs_of = 0;  ///< Requests of each of the runs behind it; 0: none.
  bool alive = true;
  std::string reason = {};                    ///< Why it is out.
  std::string stage = {};                     ///< "fluid", "2000 requests"
  std::optional<std::size_t> beaten_by = {};  ///< A contender.
};

struct RaceOptions {
  std::vector<std::int64_t> rungs = {2'000, 8'000, 32'000, 128'000};
  std::int64_t top_n = 5;
  std::int64_t jobs = 1;
  /// Called after each evaluation, one thread at a time: rung, done of it, all of it.
  std::function<void(std::int64_t requests, std::int64_t done, std::int64_t all)> progress = {};
  /// Whether so many more requests may be run: asked before every rung but the first. Empty:
  /// always.
  std::function<bool(std::int64_t requests)> may_go_on = {};
  /// Called for every contender with new runs, before any is dropped: what a replica costs may
  /// depend on them.
  std::function<core::Result<void>(Contender&)> reprice = {};
};

/// Finds a contender's capacity by runs of that many requests; nothing when interrupted. Called
/// from several threads at once.
using Evaluate = std::function<core::Result<std::optional<Capacity>>(const Contender& contender,
                                                                     std::int64_t requests)>;

/// Probability that any contender is dropped wrongly by sampling (Bonferroni over those alive).
inline constexpr double kWrongDrop = 0.01;
/// Deviation of a difference of two log capacities with the same requests, by that of one of them:
/// the least reduction measured, fourfold in variance (planner.md, section 6: TP1 against TP2).
inline constexpr double kPairedShare = 0.5;
/// The fluid estimate is trusted to be no further off than this, either way, before any run; the
/// runs of the first rung widen it.
inline constexpr double kFluidFactor = 1.6;
/// A replica behind a gateway, which deals requests evenly, carries up to so many times what one
/// with arrivals at random does: a contender that would need more replicas than there may be is
/// kept where so much would do (14 by a race, 8 by runs, of a TPOT near that of a lone request).
inline constexpr double kGatewayGain = 4.0;
/// Spaces up to this size are raced whole.
inline constexpr std::size_t kSmallSpace = 64;

/// Rung by rung: every contender alive is evaluated, then those are dropped whose every cost, at
/// the upper end of the paired interval, lies above that of one other at the same end. Which thread
/// does what changes nothing. False when interrupted; fails where a run does.
[[nodiscard]] core::Result<bool> race(std::vector<Contender>& contenders,
                                      const Evaluate& evaluate,
                                      const RaceOptions& options,
                                      const std::atomic<bool>& interrupt);

/// Standard deviation of log C_p - log C_q, by their paired batches.
[[nodiscard]] double paired_sd(const Contender& p, const Contender& q);

/// Whether q costs less than p in every objective wherever the capacities lie within z deviations.
[[nodiscard]] bool is_beaten(const Contender& p, const Contender& q, double z);

}  // namespace ridgeline::plan
