#include "lab/records/fleet_records.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "document/document.hpp"
#include "lab/records/campaign.hpp"
#include "lab/records/evidence_words.hpp"
#include "lab/records/ladder.hpp"
#include "lab/records/ladder_source.hpp"
#include "lab/records/record_identity.hpp"
#include "lab/records/record_instances.hpp"
#include "model/model_spec.hpp"
#include "routing/registry.hpp"

namespace ridgeline::records {
namespace {

/// llm-d's benchmarks name what a policy goes by; here the router that does so, with its own
/// weights where the record does not say which.
struct PolicyWord {
  std::string_view word;
  std::string_view router;
  std::string_view scorers = {};
};
constexpr auto kPolicyWords = std::to_array<PolicyWord>({
    {"precise", "llm-d-precise"},
    {"approximate", "llm-d"},
    {"load", "llm-d", "{kv-cache-utilization-scorer: 1, queue-scorer: 1}"},
});
/// Behind the word in such a name.
constexpr std::string_view kScheduling = "-scheduling";
/// Another word for one: prefixes by what was sent.
constexpr std::string_view kEstimated = "estimated";
constexpr std::string_view kApproximate = "approximate";

/// What a stage that cannot be read should have had; the most requests are kMostRequests.
constexpr std::string_view kStageExpected =
    "a rate_rps and a duration_s that give 1 to 200000 requests in 30 days";

/// "Least Request" as "least-request", "precise-scheduling" as "precise".
std::string policy_name(std::string_view policy) {
  std::string name = core::lower_case(policy);
  std::ranges::replace(name, ' ', '-');
  std::ranges::replace(name, '_', '-');
  if (name.ends_with(kScheduling)) {
    name.resize(name.size() - kScheduling.size());
  }
  return name == kEstimated ? std::string(kApproximate) : name;
}

/// The router that does what a policy's name says; nothing where there is none.
std::optional<Strategy> strategy_of(const std::string& name) {
  const auto* const word = std::ranges::find(kPolicyWords, name, &PolicyWord::word);
  if (word == kPolicyWords.end()) {
    return routing::find_router(name)
               ? std::optional(Strategy{
                     .name = name, .settings = {{.path = "cluster.router.name", .text = name}}})
               : std::nullopt;
  }
  Strategy strategy{
      .name = name,
      .settings = {{.path = "cluster.router.name", .text = std::string(word->router)}}};
  if (!word->scorers.empty()) {
    strategy.settings.push_back(
        {.path = "cluster.router.scorers", .text = std::string(word->scorers)});
  }
  return strategy;
}

/// Replaces the settings of the fleet by those under another strategy.
void apply(const Strategy& strategy, Evidence& evidence) {
  Campaign& campaign = ladder_of(*evidence.fleet).campaign;
  campaign.strategies = {strategy};
  evidence.stated.clear();
  for (const auto& setting : fleet_settings(campaign, strategy)) {
    evidence.stated.emplace_back(setting.path, setting.text);
  }
}

void read_router(const document::Node& cluster, Evidence& evidence) {
  const auto instances =
      whole_number_of(cluster, "instances", "cluster", kMostRecordInstances, evidence);
  if (!instances) {
    return;
  }
  Fleet& fleet = evidence.fleet.emplace();
  auto ladder = std::make_shared<Ladder>();
  fleet.load = ladder;
  const RecordInstances all = instances_of(*instances, evidence);
  fleet.policy = text_at(cluster, "policy");
  ladder->campaign.instances = all.ranks();
  check_gpus({&all, 1}, evidence);
  if (fleet.policy.empty()) {
    evidence.refusal = "cluster.policy is missing: how requests are shared out is unknown";
    return;
  }
  const auto strategy = strategy_of(policy_name(fleet.policy));
  if (!strategy) {
    evidence.refusal = fmt::format("cluster.policy: there is no router for {}", fleet.policy);
    return;
  }
  apply(*strategy, evidence);
}

/// Whether a record's fleet and load are those of a published campaign.
bool is_same(const Campaign& record, const Evidence& evidence, const Campaign& published) {
  const auto network = model::find_model(record.model);
  const auto known = model::find_model(published.model);
  return network && known && network->name == known->name &&
         record.tensor_parallel_size == published.tensor_parallel_size &&
         evidence.data_parallel == 1 && record.instances == published.instances &&
         evidence.server.num_gpu_blocks == published.kv_blocks() &&
         record.groups == published.groups &&
         record.prompts_per_group == published.prompts_per_group &&
         record.system_tokens == published.system_tokens &&
         record.question_tokens == published.question_tokens &&
         record.output_tokens == published.output_tokens;
}

std::optional<CampaignStage> stage_at(const document::Node& node) {
  const auto rate = number_at(node, "rate_rps");
  const auto seconds = number_at(node, "duration_s");
  const bool sound = rate && seconds && *rate > 0.0 && *seconds > 0.0 &&
                     *seconds <= kLongestRunSeconds && std::floor(*rate * *seconds) >= 1.0 &&
                     *rate * *seconds <= static_cast<double>(kMostRequests);
  return sound ? std::optional(CampaignStage{.rate = *rate, .seconds = *seconds}) : std::nullopt;
}

/// What a campaign's stages send; the limits of a record are those of the whole.
void check_ladder(const Campaign& campaign, Evidence& evidence) {
  double requests = 0.0;
  double seconds = 0.0;
  for (const CampaignStage& stage : campaign.stages) {
    requests += stage.rate * stage.seconds;
    seconds += stage.seconds;
  }
  if (requests > static_cast<double>(kMostRequests) || seconds > kLongestRunSeconds) {
    evidence.problem =
        fmt::format("workload.stages: {:.6g} requests in {:.6g} s, expected at most {} in {:.0f}",
                    requests,
                    seconds,
                    kMostRequests,
                    kLongestRunSeconds);
  }
}

/// Prompts in groups, and their lengths; false where the record lacks one, and says so.
bool read_prompts(const document::Node& workload, Evidence& evidence) {
  Campaign& campaign = ladder_of(*evidence.fleet).campaign;
  struct Key {
    std::string_view of;
    std::string_view name;
    std::int64_t most;
    std::int64_t Campaign::* value;
  };
  const auto tokens = static_cast<std::int64_t>(kMostTokens);
  const auto keys = std::to_array<Key>(
      {{"prefix", "num_groups", kMostRequests, &Campaign::groups},
       {"prefix", "prompts_per_group", kMostRequests, &Campaign::prompts_per_group},
       {"input", "system_prompt_len", tokens, &Campaign::system_tokens},
       {"input", "question_len", tokens, &Campaign::question_tokens},
       {"output", "nominal_tokens", tokens, &Campaign::output_tokens}});
  for (const Key& key : keys) {
    const document::Node* node = member_at(workload, key.of);
    const auto found =
        node == nullptr
            ? std::nullopt
            : whole_number_of(
                  *node, key.name, fmt::format("workload.{}", key.of), key.most, evidence);
    if (!found) {
      return false;
    }
    campaign.*key.value = *found;
  }
  const std::int64_t prompts = campaign.groups * campaign.prompts_per_group;
  if (prompts > kMostRequests) {
    evidence.problem =
        fmt::format("workload.prefix: {} prompts, expected at most {}", prompts, kMostRequests);
  }
  return evidence.problem.empty();
}

/// The stages that the record lists, in their order; none where it lists none.
std::vector<CampaignStage> stages_of(const document::Node& workload, Evidence& evidence) {
  std::vector<CampaignStage> stages;
  for (const document::Node& node : items_at(workload, "stages")) {
    const auto stage = stage_at(node);
    if (!stage) {
      evidence.problem =
          fmt::format("workload.stages[{}]: expected {}", stages.size(), kStageExpected);
      return {};
    }
    stages.push_back(*stage);
  }
  return stages;
}

bool holds(const std::vector<CampaignStage>& stages, const CampaignStage& stage) {
  return std::ranges::find(stages, stage) != stages.end();
}

/// Which stages there were, and which of them the record is about.
void place(const document::Node& workload, const Campaign* published, Evidence& evidence) {
  Ladder& fleet = ladder_of(*evidence.fleet);
  Campaign& campaign = fleet.campaign;
  campaign.stages = stages_of(workload, evidence);
  if (!evidence.problem.empty()) {
    return;
  }
  fleet.stage = stage_at(workload);
  if (!campaign.stages.empty() && !fleet.stage) {  // A summary.
    const document::Node* prefix = member_at(workload, "prefix");
    fleet.warms_up = campaign.stages.size() > 1 && mentions(text_at(*prefix, "note"), "warm-up");
    if (fleet.warms_up) {
      evidence.stages.erase(evidence.stages.begin());
    }
    return;
  }
  if (!fleet.stage) {
    evidence.problem = fmt::format("workload: expected {}", kStageExpected);
    return;
  }
  const auto listed = std::ranges::find(campaign.stages, *fleet.stage);
  if (listed != campaign.stages.end()) {
    evidence.stages = {evidence.stages[static_cast<std::size_t>(listed - campaign.stages.begin())]};
  } else if (published != nullptr && holds(published->stages, *fleet.stage)) {
    campaign.stages = published->stages;
  }
  if (!holds(campaign.stages, *fleet.stage)) {
    const auto prompts = static_cast<double>(campaign.groups * campaign.prompts_per_group);
    campaign.stages = {{.rate = fleet.stage->rate, .seconds = prompts / fleet.stage->rate},
                       *fleet.stage};
    fleet.is_made_up = true;
  }
}

}  // namespace

const document::Node* fleet_of(const document::Node& record) {
  const document::Node* cluster = member_at(record, "cluster");
  if (cluster == nullptr) {
    return nullptr;
  }
  const bool is_one =
      cluster->is_map() && member_at(*cluster, "prefill") == nullptr &&
      member_at(*cluster, "decode") == nullptr &&
      (member_at(*cluster, "instances") == nullptr || number_at(*cluster, "instances") == 1.0);
  return is_one ? nullptr : cluster;
}

void read_cluster(const document::Node& cluster, Evidence& evidence) {
  if (!cluster.is_map()) {
    evidence.problem = fmt::format("cluster: found {}, expected an object", cluster.describe());
  } else if (member_at(cluster, "prefill") != nullptr || member_at(cluster, "decode") != nullptr) {
    read_apart(cluster, evidence);
  } else {
    read_router(cluster, evidence);
  }
}

void read_ladder(const document::Node& workload, Evidence& evidence) {
  const document::Node* prefix = member_at(workload, "prefix");
  const auto is_of = [&](StageLoad::Kind kind) {
    return std::ranges::all_of(evidence.stages,
                               [&](const auto& stage) { return stage.kind == kind; });
  };
  const bool is_paced = is_of(StageLoad::Kind::kRandom) || is_of(StageLoad::Kind::kEven);
  if (!evidence.fleet || ladder_of(*evidence.fleet).is_apart || !is_paced || prefix == nullptr ||
      member_at(*prefix, "num_groups") == nullptr || !read_prompts(workload, evidence)) {
    return;
  }
  static const std::vector<Campaign> kPublished = published_campaigns();
  Ladder& fleet = ladder_of(*evidence.fleet);
  Campaign& campaign = fleet.campaign;
  campaign.model = evidence.model;
  campaign.tensor_parallel_size = evidence.tensor_parallel;
  campaign.poisson = is_of(StageLoad::Kind::kRandom);
  const auto published = std::ranges::find_if(
      kPublished, [&](const Campaign& one) { return is_same(campaign, evidence, one); });
  const bool is_known = published != kPublished.end();
  place(workload, is_known ? &*published : nullptr, evidence);
  if (is_known) {
    campaign.gateway_requests = published->gateway_requests;
    campaign.measured = published->measured;
    const auto strategy =
        std::ranges::find(published->strategies, campaign.strategies.front().name, &Strategy::name);
    apply(
        Strategy(strategy != published->strategies.end() ? *strategy : campaign.strategies.front()),
        evidence);
    if (evidence.engine_version.empty()) {
      evidence.engine_version = kCampaignEngine;
      evidence.assumed.push_back(
          fmt::format("engine version: {}, by the campaign's date", kCampaignEngine));
    }
    evidence.assumed.push_back(
        fmt::format("as published of {}: the weights of its scorers; {} requests in flight through "
                    "the gateway, Envoy's default",
                    published->id,
                    campaign.gateway_requests));
  }
  // What llm-d publishes as its requests per second is what the clients sent.
  if (evidence.completed_per_s && fleet.stage) {
    fleet.achieved_per_s = evidence.completed_per_s;
    evidence.assumed.push_back(fmt::format(
        "requests are sent at the {} a second that were achieved", *fleet.achieved_per_s));
  }
  evidence.completed_per_s.reset();
  if (mentions(evidence.generator, "inference-perf")) {
    evidence.stamps_per_token = kStampsPerToken;
    if (evidence.measured.at(Figure::kItl, Level::kMean)) {
      evidence.assumed.emplace_back(
          "itl: two times were noted for each token, so that gaps are half of the time between "
          "tokens");
    }
  }
  fleet.has_stages = true;
  check_ladder(campaign, evidence);
}

}  // namespace ridgeline::records
