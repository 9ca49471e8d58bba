#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "plan/answer.hpp"
#include "plan/planner.hpp"
#include "plan/question.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::plan {

/// A deployment that a mix may hold.
struct MixCandidate {
  std::string label;
  std::string gpu;
  std::int64_t gpus = 1;         ///< GPUs of one replica.
  double cost = 0.0;             ///< Cost of one replica, in the unit of the objective.
  std::vector<double> capacity;  ///< Requests per second of each class alone, as simulated.
  std::vector<double> sd;        ///< Spread of the capacity's logarithm: runs and model.
  std::vector<double> sure;      ///< What of it is there with the confidence asked for.
  std::string bound = {};        ///< As PlanCandidate::bound: `sure` is what there is at best.
};

/// Replicas of a mix that are alike.
struct MixPool {
  std::size_t candidate = 0;
  std::int64_t replicas = 1;
  std::vector<double> shares;  ///< Share of each class that this pool serves.
  double rate = 0.0;           ///< Requests per second of all of them.
  double p_feasible = 0.0;     ///< That the replicas suffice.
  Certificate certificate = {};
  std::vector<TargetResult> targets = {};
  std::size_t main_class = 0;  ///< Class of which it serves most requests.
  /// Its replicas with the requests of that class at the rate of all; null before it was run.
  std::shared_ptr<const scenario::Resolved> resolved = {};
};

/// Every class served by one deployment, by the same estimate.
struct MixAlone {
  std::size_t candidate = 0;
  std::int64_t replicas = 1;
  double cost = 0.0;
};

struct MixAnswer {
  Question question;
  std::string digest;
  std::string engine;
  std::vector<double> rates;  ///< Rate of each class.
  std::vector<MixCandidate> candidates;
  std::vector<MixPool> pools;  ///< Empty: no mix serves all classes, or not surely enough.
  double cost = 0.0;
  std::optional<MixAlone> alone;
  std::string failure;
  bool only_bounds = false;  ///< That is why: of nothing there is an estimate.
  std::int64_t requests_simulated = 0;
  core::Warnings warnings;
  bool partial = false;
};

/// The cheapest mix of deployments for the classes of a question (planner.md, section 5, stage 5):
/// the capacity of the likeliest deployments for each class by runs, lowered by their doubt, an
/// integer program over them, and every pool of its answer run with the requests that it gets, one
/// replica more where windows miss a target. Fails where Cbc is not installed.
[[nodiscard]] core::Result<MixAnswer> plan_mix(const Question& question,
                                               const PlanOptions& options,
                                               const std::atomic<bool>& interrupt);

}  // namespace ridgeline::plan
