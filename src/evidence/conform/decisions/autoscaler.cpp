#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "evidence/conform/decisions/decision_case.hpp"
#include "evidence/conform/decisions/systems.hpp"
#include "scaling/rules.hpp"

namespace ridgeline::evidence::conform {
namespace {

using document::Node;

bool check_spare(DecisionCase& recorded) {
  std::vector<std::string> names;
  std::vector<scaling::VariantCounts> variants;
  for (const Node& variant : items_of(recorded.request(), "variants")) {
    names.push_back(word_of(variant, "variant"));
    variants.push_back({.current = count_of(variant, "current"),
                        .desired = count_of(variant, "desired"),
                        .pending = count_of(variant, "pending")});
  }
  std::vector<scaling::ReplicaGauges> replicas;
  for (const Node& replica : items_of(recorded.request(), "replicas")) {
    const std::size_t place = place_of(names, word_of(replica, "variant"));
    variants[place].cost = number_of(replica, "cost");
    replicas.push_back({.variant = place,
                        .kv_usage = number_of(replica, "kv_usage"),
                        .waiting = number_of(replica, "waiting")});
  }
  const Node& params = recorded.params();
  const auto decision =
      scaling::spare_capacity(replicas,
                              variants,
                              {.kv = number_of(params, "kvCacheThreshold", 0.8),
                               .queue = number_of(params, "queueLengthThreshold", 5.0),
                               .kv_trigger = number_of(params, "kvSpareTrigger", 0.1),
                               .queue_trigger = number_of(params, "queueSpareTrigger", 3.0)});
  const Node& expected = recorded.expected();
  recorded.check_number("avg_spare_kv", number_of(expected, "avg_spare_kv"), decision.spare_kv);
  recorded.check_number(
      "avg_spare_queue", number_of(expected, "avg_spare_queue"), decision.spare_queue);
  recorded.check_number("non_saturated",
                        number_of(expected, "non_saturated"),
                        static_cast<double>(decision.unsaturated));
  recorded.check_text(
      "scale_up", fmt::format("{}", flag_of(expected, "scale_up")), fmt::format("{}", decision.up));
  recorded.check_text("scale_down_safe",
                      fmt::format("{}", flag_of(expected, "scale_down_safe")),
                      fmt::format("{}", decision.down_is_safe));
  const Node& targets = part_of(expected, "targets");
  for (std::size_t i = 0; i < names.size() && !targets.members().empty(); ++i) {
    recorded.check_number(fmt::format("target of {}", names[i]),
                          number_of(targets, names[i], -1.0),
                          static_cast<double>(decision.targets[i]));
  }
  return true;
}

bool check_tokens(DecisionCase& recorded) {
  std::vector<std::string> names;
  std::vector<scaling::ReplicaTokens> replicas;
  for (const Node& replica : items_of(recorded.request(), "replicas")) {
    const std::string name = word_of(replica, "variant");
    const std::size_t place = place_of(names, name);
    if (place == names.size()) {
      names.push_back(name);
    }
    replicas.push_back({.variant = place,
                        .kv_capacity = number_of(replica, "kv_capacity_tokens"),
                        .kv_in_use = number_of(replica, "kv_tokens_in_use"),
                        .waiting = number_of(replica, "waiting"),
                        .cost = number_of(replica, "cost_per_hour")});
  }
  const Node& params = recorded.params();
  const auto decision =
      scaling::token_capacity(replicas,
                              number_of(recorded.request(), "pending_kv_capacity_tokens"),
                              {.mean_input = number_of(params, "avg_input_tokens", 512.0),
                               .kv = number_of(params, "kv_cache_threshold", 0.8),
                               .up = number_of(params, "scale_up_threshold", 0.8),
                               .down = number_of(params, "scale_down_boundary", 0.4)});
  const Node& expected = recorded.expected();
  recorded.check_number("total_supply", number_of(expected, "total_supply"), decision.supply);
  recorded.check_number("total_demand", number_of(expected, "total_demand"), decision.demand);
  recorded.check_number(
      "required_capacity", number_of(expected, "required_capacity"), decision.required);
  recorded.check_number("spare_capacity", number_of(expected, "spare_capacity"), decision.spare);
  std::string theirs;
  for (const Node& one : items_of(expected, "decisions")) {
    theirs += fmt::format("{} {:+} ", word_of(one, "variant"), count_of(one, "delta"));
  }
  const std::string ours =
      decision.delta == 0 ? "" : fmt::format("{} {:+} ", names[decision.variant], decision.delta);
  recorded.check_text("decisions", theirs, ours);
  return true;
}

/// The planner's load of one engine, and its thresholds, by stage and target.
bool check_planner(DecisionCase& recorded, const std::string& stage) {
  const Node& params = recorded.params();
  const std::string target = word_of(params, "optimization_target");
  const bool prefill = stage == "prefill";
  scaling::PlannerBounds bounds{
      .up = 1.0, .down = prefill ? 0.1 : 0.6, .up_included = prefill, .down_included = false};
  double scale = 1.0 / (prefill ? number_of(params, "context_length", 1.0)
                                : number_of(params, "max_kv_tokens", 1.0));
  if (target == "latency") {
    bounds.up = prefill ? 0.1 : 0.4;
    bounds.down = prefill ? 0.0 : 0.1;
    bounds.down_included = prefill;
  } else if (target == "load") {
    bounds = {
        .up = number_of(params,
                        prefill ? "prefill_scale_up_queue_tokens" : "decode_scale_up_kv_rate"),
        .down = number_of(
            params, prefill ? "prefill_scale_down_queue_tokens" : "decode_scale_down_kv_rate"),
        .up_included = true,
        .down_included = true};
    scale = prefill ? 1.0 : 100.0 * scale;
  }
  std::vector<double> loads;
  for (const Node& worker : items_of(recorded.request(), "workers")) {
    const double queued = number_of(worker, "queued_prefill_tokens");
    const double decode = number_of(worker, "scheduled_decode_kv_tokens") +
                          number_of(worker, "queued_decode_kv_tokens");
    loads.push_back((prefill ? queued : decode + (stage == "agg" ? queued : 0.0)) * scale);
  }
  const auto planned = scaling::planned_replicas(
      loads, count_of(recorded.request(), "replicas"), count_of(params, "min_endpoint", 1), bounds);
  const Node* desired = recorded.expected().find("desired");
  recorded.check_text(
      "desired",
      desired == nullptr || desired->is_null() ? "none" : fmt::format("{}", desired->as_integer()),
      planned ? fmt::format("{}", *planned) : "none");
  return true;
}

}  // namespace

bool check_autoscaler(DecisionCase& recorded) {
  const std::string policy = recorded.policy();
  constexpr std::string_view kPlanner = "planner/";
  if (policy.starts_with(kPlanner)) {
    return check_planner(recorded, policy.substr(kPlanner.size()));
  }
  if (policy == "autoscaler/v2-saturation") {
    return check_tokens(recorded);
  }
  return policy == "saturation-v1" && check_spare(recorded);
}

}  // namespace ridgeline::evidence::conform
