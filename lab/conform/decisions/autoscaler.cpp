#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cluster/scaling/rules.hpp"
#include "lab/conform/decisions/decision_case.hpp"
#include "lab/conform/decisions/part.hpp"
#include "lab/conform/decisions/systems.hpp"

namespace ridgeline::conform {
namespace {

bool check_spare(DecisionCase& recorded) {
  std::vector<std::string> names;
  std::vector<scaling::VariantCounts> variants;
  for (const Part& variant : recorded.request().at("variants").items()) {
    names.push_back(variant.word("variant"));
    variants.push_back({.current = variant.count("current"),
                        .desired = variant.count("desired"),
                        .pending = variant.count("pending")});
  }
  std::vector<scaling::ReplicaGauges> replicas;
  for (const Part& replica : recorded.request().at("replicas").items()) {
    const std::size_t place = known_place(names, replica.at("variant"));
    if (variants.empty()) {
      break;
    }
    variants[place].cost = replica.number("cost");
    replicas.push_back({.variant = place,
                        .kv_usage = replica.number("kv_usage"),
                        .waiting = replica.number("waiting")});
  }
  const Part params = recorded.params();
  const auto decision =
      scaling::spare_capacity(replicas,
                              variants,
                              {.kv = params.number("kvCacheThreshold", 0.8),
                               .queue = params.number("queueLengthThreshold", 5.0),
                               .kv_trigger = params.number("kvSpareTrigger", 0.1),
                               .queue_trigger = params.number("queueSpareTrigger", 3.0)});
  const Part expected = recorded.expected();
  recorded.check_number("avg_spare_kv", expected.at("avg_spare_kv"), decision.spare_kv);
  recorded.check_number("avg_spare_queue", expected.at("avg_spare_queue"), decision.spare_queue);
  recorded.check_number(
      "non_saturated", expected.at("non_saturated"), static_cast<double>(decision.unsaturated));
  recorded.check_flag("scale_up", expected.at("scale_up"), decision.up);
  recorded.check_flag("scale_down_safe", expected.at("scale_down_safe"), decision.down_is_safe);
  recorded.check_scores(
      "target", expected.at("targets"), names, {decision.targets.begin(), decision.targets.end()});
  return true;
}

bool check_tokens(DecisionCase& recorded) {
  std::vector<std::string> names;
  std::vector<scaling::ReplicaTokens> replicas;
  for (const Part& replica : recorded.request().at("replicas").items()) {
    const std::string name = replica.word("variant");
    const std::size_t place = place_of(names, name);
    if (place == names.size()) {
      names.push_back(name);
    }
    replicas.push_back({.variant = place,
                        .kv_capacity = replica.number("kv_capacity_tokens"),
                        .kv_in_use = replica.number("kv_tokens_in_use"),
                        .waiting = replica.number("waiting"),
                        .cost = replica.number("cost_per_hour")});
  }
  const Part params = recorded.params();
  const auto decision =
      scaling::token_capacity(replicas,
                              recorded.request().number("pending_kv_capacity_tokens"),
                              {.mean_input = params.number("avg_input_tokens", 512.0),
                               .kv = params.number("kv_cache_threshold", 0.8),
                               .up = params.number("scale_up_threshold", 0.8),
                               .down = params.number("scale_down_boundary", 0.4)});
  const Part expected = recorded.expected();
  recorded.check_number("total_supply", expected.at("total_supply"), decision.supply);
  recorded.check_number("total_demand", expected.at("total_demand"), decision.demand);
  recorded.check_number("required_capacity", expected.at("required_capacity"), decision.required);
  recorded.check_number("spare_capacity", expected.at("spare_capacity"), decision.spare);
  std::string theirs;
  for (const Part& one : expected.at_or_null("decisions").items()) {
    theirs += fmt::format("{} {:+} ", one.at("variant").word(), one.at("delta").count());
  }
  const std::string ours =
      decision.delta == 0 ? "" : fmt::format("{} {:+} ", names[decision.variant], decision.delta);
  recorded.check_text("decisions", theirs, ours);
  return true;
}

/// The planner's load of one engine, and its thresholds, by stage and target.
bool check_planner(DecisionCase& recorded, const std::string& stage) {
  const Part params = recorded.params();
  enum class Target : std::uint8_t { kThroughput, kLatency, kLoad };
  constexpr auto kTargets =
      std::to_array<std::pair<std::string_view, Target>>({{"throughput", Target::kThroughput},
                                                          {"latency", Target::kLatency},
                                                          {"load", Target::kLoad}});
  const Target target = params.at("optimization_target").choice<Target>(kTargets);
  const bool prefill = stage == "prefill";
  scaling::PlannerBounds bounds{
      .up = 1.0, .down = prefill ? 0.1 : 0.6, .up_included = prefill, .down_included = false};
  double scale =
      1.0 / (prefill ? params.number("context_length", 1.0) : params.number("max_kv_tokens", 1.0));
  if (target == Target::kLatency) {
    bounds.up = prefill ? 0.1 : 0.4;
    bounds.down = prefill ? 0.0 : 0.1;
    bounds.down_included = prefill;
  } else if (target == Target::kLoad) {
    bounds = {
        .up = params.number(prefill ? "prefill_scale_up_queue_tokens" : "decode_scale_up_kv_rate"),
        .down = params.number(prefill ? "prefill_scale_down_queue_tokens"
                                      : "decode_scale_down_kv_rate"),
        .up_included = true,
        .down_included = true};
    scale = prefill ? 1.0 : 100.0 * scale;
  }
  std::vector<double> loads;
  for (const Part& worker : recorded.request().at("workers").items()) {
    const double queued = worker.number("queued_prefill_tokens");
    const double decode =
        worker.number("scheduled_decode_kv_tokens") + worker.number("queued_decode_kv_tokens");
    loads.push_back((prefill ? queued : decode + (stage == "agg" ? queued : 0.0)) * scale);
  }
  const auto planned = scaling::planned_replicas(
      loads, recorded.request().count("replicas"), params.count("min_endpoint", 1), bounds);
  recorded.check_count("desired", recorded.expected().at_or_null("desired"), planned);
  return true;
}

}  // namespace

bool check_autoscaler(DecisionCase& recorded) {
  const std::string policy = recorded.policy();
  constexpr std::string_view kPlanner = "planner/";
  if (policy.starts_with(kPlanner)) {
    const std::string stage = policy.substr(kPlanner.size());
    return (stage == "prefill" || stage == "decode" || stage == "agg") &&
           check_planner(recorded, stage);
  }
  if (policy == "autoscaler/v2-saturation") {
    return check_tokens(recorded);
  }
  return policy == "saturation-v1" && check_spare(recorded);
}

}  // namespace ridgeline::conform
