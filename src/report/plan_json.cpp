#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "document/document.hpp"
#include "domain/step.hpp"
#include "metrics/slo.hpp"
#include "plan/answer.hpp"
#include "plan/cost.hpp"
#include "plan/target.hpp"
#include "report/expected_error.hpp"
#include "report/plan_nodes.hpp"
#include "report/plan_report.hpp"
#include "report/scale.hpp"
#include "report/tree.hpp"
#include "report/version.hpp"

namespace ridgeline::report {
namespace {

using document::Node;
using plan::Answer;
using plan::Estimate;
using plan::PlanCandidate;

constexpr std::int64_t kPlanSchemaVersion = 1;

Node estimate_node(const std::optional<Estimate>& estimate) {
  if (!estimate) {
    return Node::null({});
  }
  return MapBuilder()
      .add("value", number_node(estimate->value))
      .add("lo", number_node(estimate->lo))
      .add("hi", number_node(estimate->hi))
      .add("basis", text_node(estimate->basis))
      .build();
}

Node target_node(const plan::Target& target) {
  MapBuilder map;
  map.add("statistic",
          text_node(target.is_attainment
                        ? "attainment"
                        : metrics::kStatisticNames[static_cast<std::size_t>(target.statistic)]));
  if (target.is_attainment) {
    map.add("attainment", number_node(1.0 - target.allowed_share));
  }
  for (std::size_t i = 0; i < metrics::kNumMetrics; ++i) {
    if (target.limits[i]) {
      map.add(std::string(metrics::kMetricNames[i]) + "_ms",
              number_node(target.limits[i]->to_milliseconds()));
    }
  }
  return map.build();
}

Node slo_node(const Answer& answer, const PlanCandidate& candidate) {
  std::vector<Node> items;
  for (const plan::TargetResult& result : candidate.targets) {
    const plan::Target& target = answer.question.slo.targets[result.target];
    MapBuilder map;
    map.add("metric", text_node(target.name()))
        .add("statistic",
             text_node(target.is_attainment
                           ? "attainment"
                           : metrics::kStatisticNames[static_cast<std::size_t>(target.statistic)]))
        .add("target", number_node(target.limit_of(target.metric())->to_milliseconds()))
        .add("unit", text_node("ms"))
        .add("value",
             number_node(result.value_ms ? std::optional(result.value_ms->value) : std::nullopt))
        .add("lo", number_node(result.value_ms ? std::optional(result.value_ms->lo) : std::nullopt))
        .add("hi", number_node(result.value_ms ? std::optional(result.value_ms->hi) : std::nullopt))
        .add("exceed_share", number_node(result.exceed_share))
        .add("verdict", text_node(result.met ? "met" : "missed"));
    items.push_back(map.build());
  }
  return list_node(std::move(items));
}

Node deployment_node(const PlanCandidate& candidate) {
  MapBuilder settings;
  MapBuilder engine;
  for (const auto& [path, value] : candidate.settings) {
    settings.add(path, text_node(value));
    constexpr std::string_view kEngine = "engine.";
    if (path.starts_with(kEngine)) {
      engine.add(path.substr(kEngine.size()), text_node(value));
    }
  }
  MapBuilder map;
  map.add("label", text_node(candidate.label))
      .add("model", text_node(candidate.model))
      .add("gpu", text_node(candidate.gpu))
      .add("engine_version", text_node(candidate.engine))
      .add("settings", settings.build())
      .add("engine", engine.build())
      .add("replicas", integer_node(candidate.replicas))
      .add("routing", candidate.router.empty() ? Node::null({}) : text_node(candidate.router));
  if (candidate.split) {
    map.add("disaggregation",
            MapBuilder()
                .add("prefill", integer_node(candidate.split->prefill))
                .add("decode", integer_node(candidate.split->decode))
                .build());
  } else {
    map.add("disaggregation", text_node("none"));
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
      .add("value", number_node(candidate.capacity->value * times))
      .add("lo", number_node(candidate.capacity->lo * times))
      .add("hi", number_node(candidate.capacity->hi * times))
      .add("sampling_pct", number_node(candidate.sampling_sd * kPerCent))
      .add("model_pct", number_node(candidate.model_sd * kPerCent))
      .build();
}

/// The load that is recommended, by the names of what it is counted in.
Node run_load_node(const Answer& answer, const PlanCandidate& candidate) {
  if (!candidate.at) {
    return Node::null({});
  }
  MapBuilder map;
  map.add("clients",
          number_node(answer.is_closed_loop ? std::optional(candidate.at->load) : std::nullopt))
      .add("requests_per_s", number_node(candidate.at->requests_per_second))
      .add("output_tokens_per_s", number_node(candidate.at->output_tokens_per_second));
  return map.build();
}

Node certificate_node(const PlanCandidate& candidate) {
  if (!candidate.certificate) {
    return Node::null({});
  }
  return MapBuilder()
      .add("windows", integer_node(candidate.certificate->windows))
      .add("passed", integer_node(candidate.certificate->passed))
      .add("window_requests", integer_node(candidate.certificate->window_requests))
      .add("at_least", number_node(candidate.certificate->at_least))
      .add("holds", bool_node(candidate.certificate->holds))
      .build();
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
  map.add("id", text_node(candidate.id))
      .add("deployment", deployment_node(candidate))
      .add("gpus", integer_node(candidate.replicas * candidate.gpus_per_replica))
      .add("usd_per_hour", number_node(candidate.cost.usd_per_hour))
      .add("usd_per_mtok", number_node(candidate.cost.usd_per_mtok))
      .add("usd_per_total_mtok", number_node(candidate.cost.usd_per_total_mtok))
      .add("watts", estimate_node(candidate.cost.watts))
      .add("watts_per_gpu", estimate_node(candidate.cost.watts_per_gpu))
      .add("facility_watts", estimate_node(candidate.cost.facility_watts))
      .add("joules_per_token", estimate_node(candidate.cost.joules_per_token))
      .add(
          answer.is_closed_loop ? "capacity_clients" : "capacity_rps",
          capacity_node(candidate, candidate.replicas > 0 ? answer.serving(candidate.replicas) : 0))
      .add("replica_capacity", capacity_node(candidate, 1))
      .add("fluid_rps", number_node(candidate.fluid_capacity))
      .add("most_rps", number_node(candidate.most_rate))
      .add("utilisation",
           number_node(candidate.resolved ? std::optional(candidate.utilisation) : std::nullopt))
      .add("recommended_load", run_load_node(answer, candidate))
      .add("slo", slo_node(answer, candidate))
      .add("binding",
           candidate.binding ? text_node(answer.question.slo.targets[*candidate.binding].name())
                             : Node::null({}))
      .add("certificate", certificate_node(candidate))
      .add("unstable", bool_node(candidate.unstable))
      .add("bound", candidate.is_bound() ? text_node(candidate.bound) : Node::null({}))
      .add("expected_error", expected_errors_tree(candidate.expected_errors))
      .add("how", text_node(plan::kStageNames[static_cast<std::size_t>(candidate.stage)]))
      .add("p_feasible", if_assessed(candidate.p_feasible))
      .add("p_best", if_assessed(candidate.p_best))
      .add("expected_regret", if_assessed(candidate.expected_regret))
      .add("dominated_by",
           candidate.dominated_by ? text_node(*candidate.dominated_by) : Node::null({}))
      .add("twins", ids_node(answer, candidate.twins));
  map.add("dropped",
          candidate.dropped_stage.empty() ? Node::null({})
                                          : MapBuilder()
                                                .add("stage", text_node(candidate.dropped_stage))
                                                .add("reason", text_node(candidate.dropped_reason))
                                                .build());
  return map.build();
}

Node question_node(const Answer& answer) {
  std::vector<Node> targets;
  for (const plan::Target& target : answer.question.slo.targets) {
    targets.push_back(target_node(target));
  }
  std::vector<Node> objectives;
  for (const plan::Objective objective : answer.question.objectives) {
    objectives.push_back(text_node(plan::kObjectiveNames[static_cast<std::size_t>(objective)]));
  }
  return MapBuilder()
      .add("workload", text_node(answer.workload))
      .add(answer.is_closed_loop ? "clients" : "rate_rps",
           number_node(answer.question.most_of ? std::nullopt : std::optional(answer.load)))
      .add("maximize", answer.question.most_of ? text_node("throughput") : Node::null({}))
      .add("session_rate", number_node(answer.session_rate))
      .add("slo", list_node(std::move(targets)))
      .add("confidence", number_node(answer.question.confidence))
      .add("objective", list_node(std::move(objectives)))
      .build();
}

Node rejected_node(const Answer& answer) {
  std::vector<Node> items;
  for (const plan::Rejection& rejection : answer.rejected) {
    items.push_back(MapBuilder()
                        .add("reason", text_node(rejection.reason))
                        .add("count", integer_node(rejection.count))
                        .add("example", text_node(rejection.example))
                        .add("nearest", text_node(rejection.nearest))
                        .build());
  }
  return list_node(std::move(items));
}

/// Each factor's spread, its effect on each finalist's capacity, and its share of the pick's
/// doubt.
Node sensitivity_node(const Answer& answer) {
  std::vector<Node> items;
  for (std::size_t j = 0; j < answer.factors.size(); ++j) {
    const plan::Factor& factor = answer.factors[j];
    MapBuilder elasticities;
    std::optional<double> share;
    for (std::size_t i = 0; i < answer.finalists.size(); ++i) {
      const PlanCandidate& candidate = answer.candidates[answer.finalists[i]];
      const double elasticity = answer.elasticities[i][j];
      elasticities.add(candidate.id, number_node(elasticity));
      const double all =
          candidate.model_sd * candidate.model_sd + candidate.sampling_sd * candidate.sampling_sd;
      if (answer.pick == answer.finalists[i] && all > 0.0) {
        share = elasticity * elasticity * factor.sd * factor.sd / all * kPerCent;
      }
    }
    items.push_back(MapBuilder()
                        .add("factor", text_node(factor.name))
                        .add("gpu", text_node(factor.gpu))
                        .add("sd", number_node(factor.sd))
                        .add("elasticity", elasticities.build())
                        .add("doubt_of_answer_pct", number_node(share))
                        .build());
  }
  return list_node(std::move(items));
}

Node measure_node(const Answer& answer) {
  const plan::Objective objective = answer.question.objectives.front();
  const bool is_money =
      objective == plan::Objective::kUsdPerHour || objective == plan::Objective::kUsdPerMtok;
  std::vector<Node> items;
  for (const plan::MeasurementValue& value : answer.measurements) {
    items.push_back(
        MapBuilder()
            .add("what", text_node(value.what))
            .add("command", text_node(value.command))
            .add("gpu", text_node(value.gpu))
            .add("minutes", number_node(value.minutes))
            .add("resolves_pct", number_node(value.resolves * kPerCent))
            .add("evsi", number_node(value.value))
            .add("evsi_usd_per_month",
                 number_node(is_money ? std::optional(value.value * plan::kHoursPerMonth)
                                      : std::nullopt))
            .add("changes_answer_probability", number_node(value.changes_answer))
            .build());
  }
  return list_node(std::move(items));
}

Node breakeven_node(const Answer& answer) {
  std::vector<Node> items;
  for (const plan::BreakEven& even : answer.breakevens) {
    items.push_back(MapBuilder()
                        .add("gpu", text_node(even.gpu))
                        .add("against", text_node(even.against))
                        .add("ratio", number_node(even.ratio))
                        .add("now", number_node(even.now))
                        .add("id", text_node(answer.candidates[even.row].id))
                        .build());
  }
  return list_node(std::move(items));
}

Node cheaper_node(const Answer& answer) {
  if (!answer.cheaper) {
    return Node::null({});
  }
  return MapBuilder()
      .add("id", text_node(answer.candidates[answer.cheaper->candidate].id))
      .add("replicas", integer_node(answer.cheaper->replicas))
      .add("p_feasible", number_node(answer.cheaper->p_feasible))
      .build();
}

Node answer_node(const Answer& answer, const std::vector<std::string>& files) {
  MapBuilder map;
  const bool is_sure = answer.pick && !answer.candidates[*answer.pick].is_bound();
  map.add("id", answer.pick ? text_node(answer.candidates[*answer.pick].id) : Node::null({}))
      .add("expected_regret_pct",
           number_node(is_sure ? std::optional(answer.expected_regret_pct) : std::nullopt))
      .add("headroom_pct",
           number_node(answer.pick ? std::optional(answer.headroom_pct) : std::nullopt))
      .add("amplification", number_node(answer.amplification))
      .add("cheaper", cheaper_node(answer))
      .add("failure", answer.failure.empty() ? Node::null({}) : text_node(answer.failure))
      .add("nearest", texts_node(answer.nearest))
      .add("files", texts_node(files));
  return map.build();
}

Node search_node(const plan::SearchCounts& search) {
  return MapBuilder()
      .add("points", integer_node(search.points))
      .add("by_stage",
           MapBuilder()
               .add("rejected", integer_node(search.rejected))
               .add("bound", integer_node(search.bounded))
               .add("fluid", integer_node(search.by_fluid))
               .add("simulated", integer_node(search.simulated - search.certified))
               .add("certified", integer_node(search.certified))
               .build())
      .add("requests_simulated", integer_node(search.requests_simulated))
      .add("limited", bool_node(search.limited))
      .build();
}

}  // namespace

Node plan_run_info_node(const PlanRunInfo& info) {
  return MapBuilder()
      .add("version", text_node(version()))
      .add("wall_time_s", number_node(info.wall_time_s))
      .add("core_seconds", number_node(info.core_seconds))
      .add("jobs", integer_node(info.jobs))
      .build();
}

Node plan_config_node(const Node& scenario, const Node& space, std::string_view engine) {
  return MapBuilder()
      .add("scenario", scenario)
      .add("space", space)
      .add("engine", text_node(engine))
      .build();
}

Node plan_tree(const Answer& answer,
               const PlanRunInfo& info,
               const std::vector<std::string>& files) {
  std::vector<Node> candidates;
  for (const PlanCandidate& candidate : answer.candidates) {
    candidates.push_back(candidate_node(answer, candidate));
  }
  MapBuilder map;
  map.add("schema_version", integer_node(kPlanSchemaVersion))
      .add("run_info", plan_run_info_node(info))
      .add("config", plan_config_node(answer.question.base, answer.question.axes, answer.engine))
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
      .add("partial", bool_node(answer.partial))
      .add("warnings", warnings_tree(answer.warnings))
      .add("digest", text_node(answer.digest));
  return map.build();
}

}  // namespace ridgeline::report
