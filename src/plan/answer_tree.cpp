#include "plan/answer_tree.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/version.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "domain/step.hpp"
#include "latency/accuracy/error_tree.hpp"
#include "metrics/slo.hpp"
#include "plan/answer.hpp"
#include "plan/cost.hpp"
#include "plan/target.hpp"
#include "scenario/laid_over.hpp"

namespace ridgeline::plan {
namespace {

using document::list_node;
using document::list_of;
using document::MapBuilder;
using document::number_node;
using document::text_node;
using document::text_or_null;

using document::Node;

constexpr std::int64_t kPlanSchemaVersion = 1;
constexpr double kPerCent = 100.0;

Node estimate_node(const std::optional<Estimate>& estimate) {
  if (!estimate) {
    return Node::null({});
  }
  return MapBuilder()
      .add("value", estimate->value)
      .add("lo", estimate->lo)
      .add("hi", estimate->hi)
      .add("basis", estimate->basis);
}

Node target_node(const Target& target) {
  MapBuilder map;
  map.add("statistic",
          target.is_attainment
              ? "attainment"
              : metrics::kStatisticNames[static_cast<std::size_t>(target.statistic)]);
  if (target.is_attainment) {
    map.add("attainment", 1.0 - target.allowed_share);
  }
  for (std::size_t i = 0; i < metrics::kNumMetrics; ++i) {
    if (target.limits[i]) {
      map.add(std::string(metrics::kMetricNames[i]) + "_ms", target.limits[i]->to_milliseconds());
    }
  }
  return map.add("metric", target.name()).add("text", target.text());
}

Node slo_node(const Answer& answer, const PlanCandidate& candidate) {
  std::vector<Node> items;
  for (const TargetResult& result : candidate.targets) {
    const Target& target = answer.question.slo.targets[result.target];
    MapBuilder map;
    map.add("metric", target.name())
        .add("statistic",
             target.is_attainment
                 ? "attainment"
                 : metrics::kStatisticNames[static_cast<std::size_t>(target.statistic)])
        .add("target", target.limit_of(target.metric())->to_milliseconds())
        .add("unit", "ms")
        .add("value", result.value_ms ? std::optional(result.value_ms->value) : std::nullopt)
        .add("lo", result.value_ms ? std::optional(result.value_ms->lo) : std::nullopt)
        .add("hi", result.value_ms ? std::optional(result.value_ms->hi) : std::nullopt)
        .add("exceed_share", result.exceed_share)
        .add("verdict", result.met ? "met" : "missed");
    items.push_back(map.build());
  }
  return list_node(std::move(items));
}

Node deployment_node(const PlanCandidate& candidate) {
  MapBuilder settings;
  MapBuilder engine;
  for (const auto& [path, value] : candidate.settings) {
    settings.add(path, value);
    constexpr std::string_view kEngine = "engine.";
    if (path.starts_with(kEngine)) {
      engine.add(path.substr(kEngine.size()), value);
    }
  }
  MapBuilder map;
  map.add("label", candidate.label)
      .add("model", candidate.model)
      .add("gpu", candidate.gpu)
      .add("engine_version", candidate.engine)
      .add("settings", settings.build())
      .add("engine", engine.build())
      .add("replicas", candidate.replicas)
      .add("routing", text_or_null(candidate.router));
  if (candidate.split) {
    map.add("disaggregation",
            MapBuilder()
                .add("prefill", candidate.split->prefill)
                .add("decode", candidate.split->decode));
  } else {
    map.add("disaggregation", "none");
  }
  return map.build();
}

/// Capacity of `replicas` replicas; null for none.
Node capacity_node(const PlanCandidate& candidate, std::int64_t replicas) {
  if (!candidate.capacity || replicas < 1) {
    return Node::null({});
  }
  const auto times = static_cast<double>(replicas);
  return MapBuilder()
      .add("value", candidate.capacity->value * times)
      .add("lo", candidate.capacity->lo * times)
      .add("hi", candidate.capacity->hi * times)
      .add("sampling_pct", candidate.sampling_sd * kPerCent)
      .add("model_pct", candidate.model_sd * kPerCent);
}

/// The load that is recommended, by the names of what it is counted in.
Node run_load_node(const Answer& answer, const PlanCandidate& candidate) {
  if (!candidate.at) {
    return Node::null({});
  }
  return MapBuilder()
      .add("clients", answer.is_closed_loop ? std::optional(candidate.at->load) : std::nullopt)
      .add("requests_per_s", candidate.at->requests_per_second)
      .add("output_tokens_per_s", candidate.at->output_tokens_per_second);
}

Node certificate_node(const PlanCandidate& candidate) {
  if (!candidate.certificate) {
    return Node::null({});
  }
  return MapBuilder()
      .add("windows", candidate.certificate->windows)
      .add("passed", candidate.certificate->passed)
      .add("window_requests", candidate.certificate->window_requests)
      .add("at_least", candidate.certificate->at_least)
      .add("holds", candidate.certificate->holds);
}

/// Shares of the busy time.
Node bottlenecks_node(const PlanCandidate& candidate) {
  MapBuilder map;
  for (std::size_t i = 0; i < domain::kNumBottlenecks; ++i) {
    map.add(domain::kBottleneckNames[i], candidate.bottlenecks[i]);
  }
  return map;
}

Node ids_node(const Answer& answer, const std::vector<std::size_t>& which) {
  std::vector<Node> items;
  for (const std::size_t i : which) {
    items.push_back(text_node(answer.candidates[i].id));
  }
  return list_node(std::move(items));
}

Node candidate_node(const Answer& answer, const PlanCandidate& candidate) {
  MapBuilder map;
  const bool assessed = candidate.resolved != nullptr && !candidate.is_bound();
  const auto if_assessed = [&](double value) {
    return number_node(assessed ? std::optional(value) : std::nullopt);
  };
  map.add("id", candidate.id)
      .add("deployment", deployment_node(candidate))
      .add("gpus", candidate.replicas * candidate.gpus_per_replica)
      .add("gpus_per_replica", candidate.gpus_per_replica)
      .add("usd_per_hour", candidate.cost.usd_per_hour)
      .add("usd_per_mtok", candidate.cost.usd_per_mtok)
      .add("usd_per_total_mtok", candidate.cost.usd_per_total_mtok)
      .add("watts", estimate_node(candidate.cost.watts))
      .add("watts_per_gpu", estimate_node(candidate.cost.watts_per_gpu))
      .add("facility_watts", estimate_node(candidate.cost.facility_watts))
      .add("joules_per_token", estimate_node(candidate.cost.joules_per_token))
      .add(
          answer.is_closed_loop ? "capacity_clients" : "capacity_rps",
          capacity_node(candidate, candidate.replicas > 0 ? answer.serving(candidate.replicas) : 0))
      .add("replica_capacity", capacity_node(candidate, 1))
      .add("fluid_rps", candidate.fluid_capacity)
      .add("most_rps", candidate.most_rate)
      .add("utilisation", candidate.resolved ? std::optional(candidate.utilisation) : std::nullopt)
      .add("recommended_load", run_load_node(answer, candidate))
      .add("slo", slo_node(answer, candidate))
      .add("binding",
           candidate.binding ? text_node(answer.question.slo.targets[*candidate.binding].name())
                             : Node::null({}))
      .add("certificate", certificate_node(candidate))
      .add("time_by_bottleneck", bottlenecks_node(candidate))
      .add("unstable", candidate.unstable)
      .add("bound", candidate.is_bound() ? text_node(candidate.bound) : Node::null({}))
      .add("expected_error", accuracy::expected_errors_tree(candidate.expected_errors))
      .add("how", kStageNames[static_cast<std::size_t>(candidate.stage)])
      .add("p_feasible", if_assessed(candidate.p_feasible))
      .add("p_best", if_assessed(candidate.p_best))
      .add("expected_regret", if_assessed(candidate.expected_regret))
      .add("dominated_by",
           candidate.dominated_by ? text_node(*candidate.dominated_by) : Node::null({}))
      .add("twins", ids_node(answer, candidate.twins));
  map.add("dropped",
          candidate.dropped_stage.empty() ? Node::null({})
                                          : MapBuilder()
                                                .add("stage", candidate.dropped_stage)
                                                .add("reason", candidate.dropped_reason));
  return map.build();
}

Node question_node(const Answer& answer) {
  std::vector<Node> objectives;
  for (const Objective objective : answer.question.objectives) {
    objectives.push_back(text_node(kObjectiveNames[static_cast<std::size_t>(objective)]));
  }
  return MapBuilder()
      .add("workload", answer.workload)
      .add(answer.is_closed_loop ? "clients" : "rate_rps",
           answer.question.most_of ? std::nullopt : std::optional(answer.load))
      .add("maximize", answer.question.most_of ? text_node("throughput") : Node::null({}))
      .add("session_rate", answer.session_rate)
      .add("spare_replicas", answer.question.limits.spare_replicas)
      .add("slo", list_of(answer.question.slo.targets, target_node))
      .add("confidence", answer.question.confidence)
      .add("objective", list_node(std::move(objectives)));
}

Node rejected_node(const Answer& answer) {
  return list_of(answer.rejected, [&](const Rejection& rejection) -> document::Node {
    return MapBuilder()
        .add("reason", rejection.reason)
        .add("count", rejection.count)
        .add("example", rejection.example)
        .add("nearest", rejection.nearest);
  });
}

/// Each factor's spread, its effect on each finalist's capacity, and its share of the pick's
/// doubt.
Node sensitivity_node(const Answer& answer) {
  std::vector<Node> items;
  for (std::size_t j = 0; j < answer.factors.size(); ++j) {
    const Factor& factor = answer.factors[j];
    MapBuilder elasticities;
    std::optional<double> share;
    for (std::size_t i = 0; i < answer.finalists.size(); ++i) {
      const PlanCandidate& candidate = answer.candidates[answer.finalists[i]];
      const double elasticity = answer.elasticities[i][j];
      elasticities.add(candidate.id, elasticity);
      const double all =
          candidate.model_sd * candidate.model_sd + candidate.sampling_sd * candidate.sampling_sd;
      if (answer.pick == answer.finalists[i] && all > 0.0) {
        share = elasticity * elasticity * factor.sd * factor.sd / all * kPerCent;
      }
    }
    items.push_back(MapBuilder()
                        .add("factor", factor.name)
                        .add("gpu", factor.gpu)
                        .add("sd", factor.sd)
                        .add("elasticity", elasticities.build())
                        .add("doubt_of_answer_pct", share));
  }
  return list_node(std::move(items));
}

Node measure_node(const Answer& answer) {
  const Objective objective = answer.question.objectives.front();
  const bool is_money = objective == Objective::kUsdPerHour || objective == Objective::kUsdPerMtok;
  return list_of(answer.measurements, [&](const MeasurementValue& value) -> document::Node {
    return MapBuilder()
        .add("what", value.what)
        .add("command", value.command)
        .add("gpu", value.gpu)
        .add("minutes", value.minutes)
        .add("resolves_pct", value.resolves * kPerCent)
        .add("evsi", value.value)
        .add("evsi_usd_per_month",
             is_money ? std::optional(value.value * kHoursPerMonth) : std::nullopt)
        .add("changes_answer_probability", value.changes_answer);
  });
}

Node breakeven_node(const Answer& answer) {
  return list_of(answer.breakevens, [&](const BreakEven& even) -> document::Node {
    return MapBuilder()
        .add("gpu", even.gpu)
        .add("against", even.against)
        .add("ratio", even.ratio)
        .add("now", even.now)
        .add("id", answer.candidates[even.row].id);
  });
}

Node cheaper_node(const Answer& answer) {
  if (!answer.cheaper) {
    return Node::null({});
  }
  return MapBuilder()
      .add("id", answer.candidates[answer.cheaper->candidate].id)
      .add("replicas", answer.cheaper->replicas)
      .add("p_feasible", answer.cheaper->p_feasible);
}

Node answer_node(const Answer& answer, const std::vector<std::string>& files) {
  MapBuilder map;
  const bool is_sure = answer.pick && !answer.candidates[*answer.pick].is_bound();
  map.add("id", answer.pick ? text_node(answer.candidates[*answer.pick].id) : Node::null({}))
      .add("expected_regret_pct",
           is_sure ? std::optional(answer.expected_regret_pct) : std::nullopt)
      .add("load", answer.load)
      .add("headroom_pct", answer.pick ? std::optional(answer.headroom_pct) : std::nullopt)
      .add("amplification", answer.amplification)
      .add("cheaper", cheaper_node(answer))
      .add("failure", text_or_null(answer.failure))
      .add("nearest", answer.nearest)
      .add("files", files);
  return map.build();
}

Node search_node(const SearchCounts& search) {
  return MapBuilder()
      .add("points", search.points)
      .add("by_stage",
           MapBuilder()
               .add("rejected", search.rejected)
               .add("bound", search.bounded)
               .add("fluid", search.by_fluid)
               .add("simulated", search.simulated - search.certified)
               .add("certified", search.certified))
      .add("requests_simulated", search.requests_simulated)
      .add("limited", search.limited);
}

}  // namespace

Node plan_run_info_node(const PlanRunInfo& info) {
  return MapBuilder()
      .add("version", core::version())
      .add("wall_time_s", info.wall_time_s)
      .add("core_seconds", info.core_seconds)
      .add("jobs", info.jobs);
}

Node plan_config_node(const Node& scenario, const Node& space, std::string_view engine) {
  return MapBuilder().add("scenario", scenario).add("space", space).add("engine", engine);
}

Node answer_tree(const Answer& answer,
                 const PlanRunInfo& info,
                 const std::vector<std::string>& files) {
  std::vector<Node> candidates;
  for (const PlanCandidate& candidate : answer.candidates) {
    candidates.push_back(candidate_node(answer, candidate));
  }
  return MapBuilder()
      .add("schema_version", kPlanSchemaVersion)
      .add("run_info", plan_run_info_node(info))
      .add("config",
           plan_config_node(scenario::laid_over(answer.question.base, answer.question.overrides),
                            answer.question.axes,
                            answer.engine))
      .add("question", question_node(answer))
      .add("answer", answer_node(answer, files))
      .add("ranking", ids_node(answer, answer.ranking))
      .add("candidates", list_node(std::move(candidates)))
      .add("pareto", ids_node(answer, answer.pareto))
      .add("rejected", rejected_node(answer))
      .add("sensitivity", sensitivity_node(answer))
      .add("measure", measure_node(answer))
      .add("breakeven", breakeven_node(answer))
      .add("search", search_node(answer.search))
      .add("partial", answer.partial)
      .add("warnings", answer.warnings)
      .add("digest", answer.digest);
}

}  // namespace ridgeline::plan
