#include "plan/finalist_doubt.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "plan/answer.hpp"
#include "plan/capacity.hpp"
#include "plan/doubt.hpp"
#include "plan/evaluation_store.hpp"
#include "plan/factors.hpp"
#include "plan/finish.hpp"
#include "plan/linear_doubt.hpp"
#include "plan/plan_bands.hpp"
#include "plan/question.hpp"
#include "plan/space.hpp"
#include "plan/sure_load.hpp"
#include "plan/target.hpp"

namespace ridgeline::plan {
namespace {

/// The most clients that meet the targets, as a real number, lie between that number and the next.
constexpr double kHalfAClient = 0.5;
/// Of a run that looks for the clients that are sure.
constexpr std::int64_t kLeastRequests = 2'000;

/// Of the log of the clients that meet the targets. Seats end their number at once, which no
/// elasticity tells: it is looked for with targets that leave room for the error of latencies.
core::Result<std::optional<double>> doubt_of_clients(const FinishInputs& inputs,
                                                     const ResolvedSpacePoint& point,
                                                     const LatencyDoubt& doubt,
                                                     double clients,
                                                     Answer& answer,
                                                     const std::atomic<bool>& interrupt) {
  Capacity estimate;
  estimate.load = clients;
  const FindCapacity find = [&](const Targets& targets, double most) {
    return find_stored_capacity(inputs.store,
                                point.id,
                                point.resolved,
                                targets,
                                {.requests = kLeastRequests,
                                 .guess = most,
                                 .ceiling = most,
                                 .seed = inputs.seed,
                                 .is_closed_loop = true},
                                interrupt);
  };
  const double confidence = inputs.question.confidence;
  const auto load =
      find_sure_load(find, std::move(estimate), inputs.question.slo.targets, doubt, confidence);
  if (!load || !*load) {
    return load ? core::Result<std::optional<double>>(std::nullopt) : core::fail(load.error());
  }
  answer.search.requests_simulated += (*load)->sure.requests;
  return sd_of(**load, confidence);
}

/// Makes the causes of a row's doubt that large together, as they share it.
void give_spread(double sd, const DoubtInput& input, Row& row) {
  Row of_causes = row;
  of_causes.sampling_sd = 0.0;
  const double now = log_capacity(of_causes, input.factors).sd;
  if (now > 0.0) {
    for (double& elasticity : row.elasticity) {
      elasticity *= sd / now;
    }
  } else {
    row.sampling_sd = std::sqrt(row.sampling_sd * row.sampling_sd + sd * sd);
  }
}

}  // namespace

/// Deployments are not kept: each has tables of half a megabyte, and a race may leave hundreds.
core::Result<std::vector<CandidateCauses>> find_causes(const FinishInputs& inputs,
                                                       std::vector<Finalist>& finalists,
                                                       Answer& answer,
                                                       const std::atomic<bool>& interrupt) {
  std::vector<CandidateCauses> causes;
  for (Finalist& finalist : finalists) {
    const PlanCandidate& of = answer.candidates[finalist.candidate];
    causes.emplace_back();
    if (of.is_bound()) {
      continue;  // Of bounds no doubt is known.
    }
    const auto found = inputs.space.resolve(inputs.space.point(of.ordinal));
    if (!found) {
      return core::fail(found.error());
    }
    const FluidCandidate candidate{.deployment = *found->resolved.deployment,
                                   .demand = inputs.demand,
                                   .targets = inputs.question.slo.targets,
                                   .label = of.label};
    causes.back() = causes_of(candidate, plan_bands());
    const LatencyDoubt latencies = latency_doubt(candidate);
    if (finalist.together > 1 && latencies.is_known()) {
      finalist.latencies = latencies;
    }
    if (inputs.demand.clients) {
      auto doubt =
          doubt_of_clients(inputs, *found, latencies, of.capacity->value, answer, interrupt);
      if (!doubt) {
        return core::fail(std::move(doubt).error());
      }
      causes.back().known_sd = *doubt;
    }
  }
  return causes;
}

FinalistDoubt join_causes(const FinishInputs& inputs,
                          const std::vector<Finalist>& finalists,
                          std::vector<CandidateCauses> causes,
                          Answer& answer) {
  FinalistDoubt doubt{.causes = std::move(causes), .table = {}, .input = {}};
  doubt.table = factors_of(doubt.causes);
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
    Row row{
        .capacity_rps = candidate.capacity->value + (inputs.demand.clients ? kHalfAClient : 0.0),
        .sampling_sd = candidate.sampling_sd,
        .replicas = 1,
        .max_replicas = std::max<std::int64_t>(1, rules.most - rules.spare),
        .cost_per_replica = finalists[i].unit_costs.front(),
        .elasticity = doubt.table.candidates[i].loading,
        .min_replicas = std::max<std::int64_t>(1, rules.allowed.empty() ? 1 : least - rules.spare)};
    if (doubt.causes[i].known_sd) {
      give_spread(*doubt.causes[i].known_sd, doubt.input, row);
    }
    doubt.input.rows.push_back(std::move(row));
  }
  return doubt;
}

}  // namespace ridgeline::plan
