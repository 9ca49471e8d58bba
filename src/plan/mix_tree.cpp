#include "plan/mix_tree.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "plan/answer_tree.hpp"
#include "plan/mix_plan.hpp"
#include "plan/target.hpp"
#include "scenario/laid_over.hpp"

namespace ridgeline::plan {
namespace {

using document::list_node;
using document::list_of;
using document::MapBuilder;
using document::Node;
using document::number_node;
using document::text_node;
using document::text_or_null;

constexpr std::int64_t kMixSchemaVersion = 1;

bool counts_gpus(const MixAnswer& answer) {
  return answer.question.objectives.front() == Objective::kGpus;
}

Node numbers_node(const std::vector<double>& numbers) {
  return list_of(numbers, number_node);
}

Node pool_node(const MixAnswer& answer, const MixPool& pool) {
  const MixCandidate& candidate = answer.candidates[pool.candidate];
  return MapBuilder()
      .add("deployment", candidate.label)
      .add("gpu", candidate.gpu)
      .add("replicas", pool.replicas)
      .add("gpus", pool.replicas * candidate.gpus)
      .add("cost", static_cast<double>(pool.replicas) * candidate.cost)
      .add("shares", numbers_node(pool.shares))
      .add("rate_rps", pool.rate)
      .add("p_feasible", candidate.bound.empty() ? std::optional(pool.p_feasible) : std::nullopt)
      .add("bound", text_or_null(candidate.bound))
      .add("slo",
           list_of(pool.targets,
                   [&](const TargetResult& result) -> document::Node {
                     return MapBuilder()
                         .add("target", answer.question.slo.targets[result.target].text())
                         .add(
                             "value",
                             result.value_ms ? std::optional(result.value_ms->value) : std::nullopt)
                         .add("exceed_share", result.exceed_share)
                         .add("verdict", result.met ? "met" : "missed");
                   }))
      .add("certificate",
           MapBuilder()
               .add("windows", pool.certificate.windows)
               .add("passed", pool.certificate.passed)
               .add("window_requests", pool.certificate.window_requests)
               .add("at_least", pool.certificate.at_least)
               .add("holds", pool.certificate.holds));
}

Node mix_answer_node(const MixAnswer& answer, const std::vector<std::string>& files) {
  std::vector<Node> pools;
  for (const MixPool& pool : answer.pools) {
    pools.push_back(pool_node(answer, pool));
  }
  MapBuilder map;
  map.add("cost",
          answer.failure.empty() && !answer.partial ? std::optional(answer.cost) : std::nullopt)
      .add("pools", list_node(std::move(pools)))
      .add("files", files)
      .add("failure", text_or_null(answer.failure));
  if (answer.alone) {
    map.add("alone",
            MapBuilder()
                .add("deployment", answer.candidates[answer.alone->candidate].label)
                .add("replicas", answer.alone->replicas)
                .add("cost", answer.alone->cost));
  } else {
    map.add("alone", Node::null({}));
  }
  return map.build();
}

Node classes_node(const MixAnswer& answer) {
  std::vector<Node> items;
  for (std::size_t c = 0; c < answer.rates.size(); ++c) {
    items.push_back(MapBuilder()
                        .add("name", answer.question.classes[c].name)
                        .add("rate_rps", answer.rates[c])
                        .add("workload", answer.question.classes[c].workload));
  }
  return list_node(std::move(items));
}

}  // namespace

Node mix_tree(const MixAnswer& answer,
              const PlanRunInfo& info,
              const std::vector<std::string>& files) {
  std::vector<Node> candidates;
  for (const MixCandidate& candidate : answer.candidates) {
    candidates.push_back(MapBuilder()
                             .add("deployment", candidate.label)
                             .add("gpu", candidate.gpu)
                             .add("gpus", candidate.gpus)
                             .add("cost", candidate.cost)
                             .add("capacity_rps", numbers_node(candidate.capacity))
                             .add("sure_rps", numbers_node(candidate.sure)));
  }
  return MapBuilder()
      .add("schema_version", kMixSchemaVersion)
      .add("run_info", plan_run_info_node(info))
      .add("config",
           plan_config_node(scenario::laid_over(answer.question.base, answer.question.overrides),
                            answer.question.axes,
                            answer.engine))
      .add("question",
           MapBuilder()
               .add("classes", classes_node(answer))
               .add("slo",
                    list_of(answer.question.slo.targets,
                            [&](const Target& target) -> document::Node {
                              return text_node(target.text());
                            }))
               .add("confidence", answer.question.confidence)
               .add("objective", counts_gpus(answer) ? "gpus" : "usd_per_hour"))
      .add("mix", mix_answer_node(answer, files))
      .add("candidates", list_node(std::move(candidates)))
      .add("requests_simulated", answer.requests_simulated)
      .add("partial", answer.partial)
      .add("warnings", answer.warnings)
      .add("digest", answer.digest);
}

}  // namespace ridgeline::plan
