#include "plan/finalist_doubt.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/parallel.hpp"
#include "core/result.hpp"
#include "plan/answer.hpp"
#include "plan/capacity.hpp"
#include "plan/doubt.hpp"
#include "plan/factors.hpp"
#include "plan/finish.hpp"
#include "plan/replica_capacity.hpp"
#include "plan/space.hpp"
#include "plan/sure_load.hpp"
#include "plan/target.hpp"

namespace ridgeline::plan {
namespace {

/// The most clients that meet the targets, as a real number, lie between that number and the next.
constexpr double kHalfAClient = 0.5;
/// Requests of a run that looks for what is predicted to be carried, at most: both ends of a
/// distance meet the same requests.
constexpr std::int64_t kMostRequests = 8'000;

/// What is found of one finalist.
struct Found {
  CandidateCauses causes;
  double estimate = 0.0;  ///< What one replica carries; 0: interrupted.
  std::int64_t requests = 0;
};

core::Result<Found> examine(const FinishInputs& inputs,
                            const Finalist& finalist,
                            const PlanCandidate& of,
                            const std::atomic<bool>& interrupt) {
  const Question& question = inputs.question;
  const SpacePoint point = inputs.space.point(of.ordinal);
  const auto resolved = inputs.space.resolve(point);
  if (!resolved) {
    return core::fail(resolved.error());
  }
  Found found{.causes = causes_of({.deployment = *resolved->resolved.deployment,
                                   .demand = inputs.demand,
                                   .targets = question.slo.targets,
                                   .label = of.label},
                                  finalist.doubt)};
  const FindCapacity find = [&](const Targets& targets, double guess) {
    CapacityOptions how = finalist.search;
    how.requests = std::min(how.requests, kMostRequests);
    how.warm_up = std::min(how.warm_up, how.requests / 4);
    how.guess = std::min(guess, how.ceiling);
    return find_replica_capacity(
        inputs.store, inputs.space, point, finalist.together, targets, how, interrupt);
  };
  auto estimate = find(question.slo.targets, finalist.capacity);
  if (!estimate) {
    return core::fail(std::move(estimate).error());
  }
  if (!*estimate) {
    return found;
  }
  auto load = find_sure_load(
      find, std::move(**estimate), question.slo.targets, finalist.doubt, question.confidence);
  if (!load) {
    return core::fail(std::move(load).error());
  }
  if (*load) {
    found.causes.known_sd = (*load)->sd;
    found.estimate = (*load)->estimate.load;
    found.requests = (*load)->estimate.requests + (*load)->sure.requests;
  }
  return found;
}

}  // namespace

core::Result<std::vector<CandidateCauses>> find_causes(const FinishInputs& inputs,
                                                       const std::vector<Finalist>& finalists,
                                                       Answer& answer,
                                                       const std::atomic<bool>& interrupt) {
  std::vector<core::Result<Found>> found(finalists.size(), Found{});
  core::for_each_job(finalists.size(), inputs.jobs, [&](std::size_t i) {
    const PlanCandidate& of = answer.candidates[finalists[i].candidate];
    if (finalists[i].doubt.is_known() && !interrupt) {
      found[i] = examine(inputs, finalists[i], of, interrupt);
    }
  });
  std::vector<CandidateCauses> causes;
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    if (!found[i]) {
      return core::fail(std::move(found[i]).error());
    }
    if (found[i]->estimate > 0.0) {
      answer.candidates[finalists[i].candidate].capacity->value = found[i]->estimate;
    }
    answer.search.requests_simulated += found[i]->requests;
    causes.push_back(std::move(found[i]->causes));
  }
  return causes;
}

FinalistDoubt join_causes(const FinishInputs& inputs,
                          const std::vector<Finalist>& finalists,
                          const std::vector<CandidateCauses>& causes,
                          Answer& answer) {
  FinalistDoubt doubt{.table = factors_of(causes), .input = {}};
  answer.factors = doubt.table.factors;
  doubt.input = {.rate = inputs.load,
                 .factors = doubt.table.factors,
                 .rows = {},
                 .confidence = inputs.question.confidence,
                 .seed = inputs.seed,
                 .measurements = doubt.table.measurements};
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    const ReplicaRules& rules = finalists[i].rules;
    const PlanCandidate& candidate = answer.candidates[finalists[i].candidate];
    const std::int64_t least = rules.at_least(1 + rules.spare).value_or(1);
    const double own = doubt.table.candidates[i].own_sd;
    const double sampling = candidate.sampling_sd;
    doubt.input.rows.push_back(
        {.capacity_rps = candidate.capacity->value + (inputs.demand.clients ? kHalfAClient : 0.0),
         .sampling_sd = std::sqrt(sampling * sampling + own * own),
         .replicas = 1,
         .max_replicas = std::max<std::int64_t>(1, rules.most - rules.spare),
         .cost_per_replica = finalists[i].unit_costs.front(),
         .elasticity = doubt.table.candidates[i].loading,
         .min_replicas =
             std::max<std::int64_t>(1, rules.allowed.empty() ? 1 : least - rules.spare)});
  }
  return doubt;
}

}  // namespace ridgeline::plan
