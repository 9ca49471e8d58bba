#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/units.hpp"
#include "disaggregation/deciders/deciders.hpp"
#include "document/document.hpp"
#include "evidence/conform/decisions/decision_case.hpp"
#include "evidence/conform/decisions/systems.hpp"
#include "routing/choice.hpp"
#include "routing/dynamo_cost.hpp"

namespace ridgeline::evidence::conform {
namespace {

using document::Node;

std::vector<routing::DynamoWorker> workers_of(const DecisionCase& recorded) {
  std::vector<routing::DynamoWorker> workers;
  for (const Node& endpoint : recorded.endpoints()) {
    workers.push_back({.device_blocks = number_of(endpoint, "device_overlap_blocks"),
                       .host_blocks = number_of(endpoint, "host_overlap_blocks"),
                       .disk_blocks = number_of(endpoint, "disk_overlap_blocks"),
                       .shared_blocks = number_of(endpoint, "shared_beyond_device_blocks"),
                       .prefill_tokens = count_of(endpoint, "active_prefill_tokens"),
                       .decode_blocks = number_of(endpoint, "potential_decode_blocks"),
                       .requests = count_of(endpoint, "active_requests")});
  }
  return workers;
}

void check_softmax(DecisionCase& recorded, const std::vector<double>& costs) {
  const Node& softmax = part_of(recorded.expected(), "softmax");
  if (softmax.members().empty()) {
    return;
  }
  const auto shares = routing::dynamo_probabilities(costs, number_of(softmax, "temperature"));
  const auto& theirs = items_of(softmax, "probabilities");
  for (std::size_t i = 0; i < theirs.size() && i < shares.size(); ++i) {
    recorded.check_number(fmt::format("probability {}", i), theirs[i].as_real(), shares[i]);
  }
  const double uniform = number_of(softmax, "uniform");
  double sum = 0.0;
  std::size_t drawn = 0;
  for (; drawn + 1 < shares.size(); ++drawn) {
    sum += shares[drawn];
    if (uniform < sum) {
      break;
    }
  }
  recorded.check_text("softmax's pick", word_of(softmax, "pick"), recorded.endpoint_ids()[drawn]);
}

bool check_router(DecisionCase& recorded) {
  const Node& params = recorded.params();
  const routing::DynamoWeights weights{
      .block_tokens = number_of(params, "block_size", 16.0),
      .overlap_credit = number_of(params, "overlap_score_credit", 1.0),
      .overlap_decay = number_of(params, "overlap_score_credit_decay"),
      .host = number_of(params, "host_cache_hit_weight", 0.75),
      .disk = number_of(params, "disk_cache_hit_weight", 0.25),
      .shared = number_of(params, "shared_cache_multiplier"),
      .prefill_scale = number_of(params, "prefill_load_scale", 1.0),
      .request = number_of(params, "decode_active_request_weight"),
      .tracks_prefill = flag_of(params, "track_prefill_tokens")};
  const auto costs = routing::dynamo_costs(
      workers_of(recorded), count_of(recorded.request(), "prompt_tokens"), weights);
  const auto& theirs = items_of(recorded.expected(), "costs");
  recorded.check_number(
      "costs", static_cast<double>(theirs.size()), static_cast<double>(costs.size()));
  std::vector<double> gains;
  for (std::size_t i = 0; i < costs.size() && i < theirs.size(); ++i) {
    recorded.check_number(fmt::format("cost {}", i), theirs[i].as_real(), costs[i]);
    gains.push_back(-costs[i]);
  }
  recorded.check_places("picks",
                        items_of(recorded.expected(), "picks"),
                        recorded.endpoint_ids(),
                        routing::highest(gains));
  check_softmax(recorded, costs);
  return true;
}

bool check_bound(DecisionCase& recorded) {
  const Node& params = recorded.params();
  const auto decider = disaggregation::make_isl_bounding(
      {.non_cached_tokens = core::Tokens(count_of(params, "eff_isl_threshold", 2048)),
       .uncached_share = number_of(params, "eff_isl_ratio_threshold", 0.7)});
  const Node& request = recorded.request();
  const bool stays =
      flag_of(params, "enabled") &&
      !decider->disaggregates(
          {.tokens = core::Tokens(count_of(request, "prompt_tokens")),
           .cached_on_decode = core::Tokens(count_of(request, "decode_cached_tokens"))});
  recorded.check_text("bypass_remote_prefill",
                      fmt::format("{}", flag_of(recorded.expected(), "bypass_remote_prefill")),
                      fmt::format("{}", stays));
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

}  // namespace ridgeline::evidence::conform
