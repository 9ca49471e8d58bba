#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "plan/answer.hpp"
#include "plan/capacity.hpp"
#include "plan/certify.hpp"
#include "plan/demand.hpp"
#include "plan/doubt.hpp"
#include "plan/evaluation_store.hpp"
#include "plan/question.hpp"
#include "plan/race.hpp"
#include "plan/space.hpp"
#include "plan/sure_load.hpp"

namespace ridgeline::plan {

/// Deployments that are certified at most, as a multiple of Question::top_n.
inline constexpr std::int64_t kFinalistsPerShown = 3;
/// The searches' requests are those of the seed, the certificate's others.
inline constexpr std::uint64_t kFreshSeed = 1;
/// 80 % of a normal variable lie within so many deviations.
inline constexpr double kEightyPercent = 1.2816;

/// A contender whose replicas are chosen and certified.
struct Finalist {
  std::size_t candidate = 0;
  ReplicaRules rules;
  std::vector<double> unit_costs;
  double saturation = 0.0;
  double capacity = 0.0;        ///< One replica's, by the race.
  CapacityOptions search = {};  ///< Search that found it, for one replica.
  std::int64_t together = 1;    ///< Replicas that were run to find it.
  LatencyDoubt doubt = {};      ///< A bound has none.
  bool is_sure = false;         ///< The race looked for what it surely carries.
  std::int64_t replicas = 0;
  std::optional<Certification> certification = {};  ///< With `replicas`.
  std::int64_t failed = 0;                          ///< So many replicas miss a target.
  bool gave_up = false;                             ///< No allowed number of replicas passes.
  /// Lost the race, and is the best of its GPU: only prices at which it would win are asked for.
  bool is_rival = false;
};

struct FinishInputs {
  const Question& question;
  const Space& space;
  const Demand& demand;
  double load = 0.0;
  std::uint64_t seed = 0;
  std::int64_t jobs = 1;
  EvaluationStore* store = nullptr;
  /// One thread at a time.
  std::function<void(std::int64_t done, std::int64_t all)> progress = {};
};

/// Chooses how many replicas each finalist needs with the confidence asked for, tests that many
/// behind the gateway in windows, one more where they fail, and fills the answer: costs, how sure,
/// the pick. False when interrupted.
[[nodiscard]] core::Result<bool> finish(const FinishInputs& inputs,
                                        std::vector<Finalist> finalists,
                                        Answer& answer,
                                        const std::atomic<bool>& interrupt);

}  // namespace ridgeline::plan
