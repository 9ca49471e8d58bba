#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/disaggregation/deciders/deciders.hpp"
#include "core/units.hpp"
#include "lab/conform/decisions/decision_case.hpp"
#include "lab/conform/decisions/part.hpp"
#include "lab/conform/decisions/systems.hpp"
#include "routing/choice.hpp"
#include "routing/dynamo_cost.hpp"

namespace ridgeline::conform {
namespace {

std::vector<routing::DynamoWorker> workers_of(const DecisionCase& recorded) {
  std::vector<routing::DynamoWorker> workers;
  for (const Part& endpoint : recorded.endpoints()) {
    workers.push_back({.device_blocks = endpoint.number("device_overlap_blocks"),
                       .host_blocks = endpoint.number("host_overlap_blocks"),
                       .disk_blocks = endpoint.number("disk_overlap_blocks"),
                       .shared_blocks = endpoint.number("shared_beyond_device_blocks"),
                       .prefill_tokens = endpoint.count("active_prefill_tokens"),
                       .decode_blocks = endpoint.number("potential_decode_blocks"),
                       .requests = endpoint.count("active_requests")});
  }
  return workers;
}

void check_softmax(DecisionCase& recorded, const std::vector<double>& costs) {
  const Part softmax = recorded.expected()["softmax"];
  if (!softmax.is_there() || costs.empty()) {
    return;
  }
  const auto shares = routing::dynamo_probabilities(costs, softmax.at("temperature").number());
  recorded.check_numbers("probability", softmax.at("probabilities"), shares);
  const double uniform = softmax.at("uniform").number();
  double sum = 0.0;
  std::size_t drawn = 0;
  for (; drawn + 1 < shares.size(); ++drawn) {
    sum += shares[drawn];
    if (uniform < sum) {
      break;
    }
  }
  recorded.check_word("softmax's pick", softmax.at("pick"), recorded.endpoint_ids()[drawn]);
}

bool check_router(DecisionCase& recorded) {
  const Part params = recorded.params();
  const bool tracks_prefill = params.at("track_prefill_tokens").flag();
  const routing::DynamoWeights weights{.block_tokens = params.number("block_size", 16.0),
                                       .overlap_credit = params.number("overlap_score_credit", 1.0),
                                       .overlap_decay = params.number("overlap_score_credit_decay"),
                                       .host = params.number("host_cache_hit_weight", 0.75),
                                       .disk = params.number("disk_cache_hit_weight", 0.25),
                                       .shared = params.number("shared_cache_multiplier"),
                                       .prefill_scale = params.number("prefill_load_scale", 1.0),
                                       .request = params.number("decode_active_request_weight"),
                                       .tracks_prefill = tracks_prefill};
  const auto costs = routing::dynamo_costs(
      workers_of(recorded), recorded.request().at("prompt_tokens").count(), weights);
  recorded.check_numbers("cost", recorded.expected().at("costs"), costs);
  std::vector<double> gains;
  for (const double cost : costs) {
    gains.push_back(-cost);
  }
  recorded.check_places(
      "picks", recorded.expected().at("picks"), recorded.endpoint_ids(), routing::highest(gains));
  check_softmax(recorded, costs);
  return true;
}

bool check_bound(DecisionCase& recorded) {
  const Part params = recorded.params();
  constexpr auto kPolicies =
      std::to_array<std::pair<std::string_view, bool>>({{"isl_bounding", true}});
  static_cast<void>(params.at("policy").choice<bool>(kPolicies));
  const auto decider = disaggregation::make_isl_bounding(
      {.non_cached_tokens = core::Tokens(params.count("eff_isl_threshold", 2048)),
       .uncached_share = params.number("eff_isl_ratio_threshold", 0.7)});
  const Part request = recorded.request();
  const bool apart = decider->disaggregates(
      {.tokens = core::Tokens(request.at("prompt_tokens").count()),
       .cached_on_decode = core::Tokens(request.count("decode_cached_tokens"))});
  const bool stays = params.at("enabled").flag() && !apart;
  recorded.check_flag(
      "bypass_remote_prefill", recorded.expected().at("bypass_remote_prefill"), stays);
  return true;
}

}  // namespace

bool check_dynamo(DecisionCase& recorded) {
  const std::string policy = recorded.policy();
  if (policy == "kv-router") {
    return check_router(recorded);
  }
  if (policy == "conditional-disagg") {
    return check_bound(recorded);
  }
  return check_autoscaler(recorded);
}

}  // namespace ridgeline::conform
