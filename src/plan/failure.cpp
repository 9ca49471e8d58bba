#include "plan/failure.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/math.hpp"
#include "core/text.hpp"
#include "plan/answer.hpp"
#include "plan/limits.hpp"
#include "plan/points.hpp"
#include "plan/race.hpp"
#include "plan/target.hpp"

namespace ridgeline::plan {
namespace {

/// The nearest points: by a bound, and where limits bind, the most that can be served.
void add_misses(const Points& points, const std::vector<Contender>& contenders, Answer& answer) {
  for (const NearestMiss& miss : points.misses) {
    const PlanCandidate& candidate = answer.candidates[miss.candidate];
    answer.nearest.push_back(fmt::format("{} {} with {} ({} {} a replica), by its bound",
                                         answer.question.slo.targets[miss.target].name(),
                                         time_text(miss.limit),
                                         candidate.label,
                                         candidate.gpus_per_replica,
                                         core::plural("GPU", candidate.gpus_per_replica)));
  }
  if (points.beyond_limits) {
    const BeyondLimits& found = *points.beyond_limits;
    answer.nearest.push_back(
        fmt::format("{} {} for one replica of {}{}",
                    found.gpus,
                    found.gpu,
                    found.label,
                    found.is_bounded ? ", which misses a target at any load" : ""));
  }
  // Where limits bind: the most that can be served.
  double best = 0.0;
  const Contender* found = nullptr;
  for (const Contender& contender : contenders) {
    const double served =
        contender.capacity.load * core::real(contender.rules.most - contender.rules.spare);
    if (served > best) {
      best = served;
      found = &contender;
    }
  }
  if (found != nullptr && best < points.demand.load()) {
    answer.nearest.push_back(fmt::format("{:.3g} {} with {} x {}",
                                         best,
                                         answer.is_closed_loop ? "clients" : "req/s",
                                         found->rules.most,
                                         answer.candidates[found->candidate].label));
  }
}

}  // namespace

void explain_failure(const Points& points,
                     const std::vector<Contender>& contenders,
                     Answer& answer) {
  if (answer.partial) {
    answer.failure = answer.ranking.empty()
                         ? "interrupted before any deployment was simulated"
                         : "interrupted: these are the best so far, by short runs";
    return;
  }
  const PlanCandidate* nearest = nullptr;
  for (const PlanCandidate& candidate : answer.candidates) {
    if (candidate.stage == Stage::kCertified && candidate.replicas > 0 && !candidate.is_bound() &&
        (nearest == nullptr || candidate.p_feasible > nearest->p_feasible)) {
      nearest = &candidate;
    }
  }
  const auto at_best = std::ranges::find_if(
      answer.ranking, [&](std::size_t i) { return answer.candidates[i].is_bound(); });
  if (nearest == nullptr && at_best != answer.ranking.end()) {
    const PlanCandidate& candidate = answer.candidates[*at_best];
    answer.failure = fmt::format(
        "no deployment of which there is an estimate meets the targets; at best {} x {} does, "
        "which "
        "is {}",
        candidate.replicas,
        candidate.label,
        candidate.bound);
    answer.nearest.push_back(
        "--accept-bounds takes it for an answer, which no certainty is said of");
    return;
  }
  if (nearest != nullptr) {
    answer.failure = fmt::format(
        "no deployment is {:.3g} % sure to meet the targets: the surest is {} x {}, "
        "{:.3g} %",
        answer.question.confidence * 100.0,
        nearest->replicas,
        nearest->label,
        nearest->p_feasible * 100.0);
    answer.nearest.push_back("more GPUs, a lower --confidence, or what --what-to-measure names");
    return;
  }
  answer.is_infeasible = true;
  std::vector<std::string> parts;
  if (answer.search.bounded > 0) {
    const auto first =
        std::ranges::find(answer.candidates, std::string("bound"), &PlanCandidate::dropped_stage);
    parts.push_back(fmt::format("{} cannot even without load ({}: {})",
                                answer.search.bounded,
                                first->label,
                                first->dropped_reason));
  }
  for (const Rejection& rejection : answer.rejected) {
    parts.push_back(fmt::format("{} {}", rejection.count, rejection.counted_reason()));
  }
  std::int64_t by_runs = 0;
  std::int64_t by_limits = 0;
  for (const Contender& contender : contenders) {
    (contender.capacity.load > 0.0 ? by_limits : by_runs) += 1;
  }
  if (by_runs > 0) {
    parts.push_back(
        fmt::format("{} {} by simulation", by_runs, by_runs == 1 ? "misses one" : "miss one"));
  }
  if (by_limits > 0) {
    const Limits& limits = answer.question.limits;
    parts.push_back(fmt::format("{} would need more replicas than {}",
                                by_limits,
                                limits.max_gpus || !limits.stock.empty() ? "the limits allow"
                                : !answer.question.replicas.empty()      ? "were asked for"
                                                                         : "one gateway has"));
  }
  std::vector<std::string> targets;
  for (const Target& target : answer.question.slo.targets) {
    targets.push_back(target.text());
  }
  answer.failure = fmt::format("no deployment of {} meets {}: {}",
                               answer.search.points,
                               fmt::join(targets, ", "),
                               fmt::join(parts, ", "));
  add_misses(points, contenders, answer);
}

}  // namespace ridgeline::plan
