#include "lab/records/ladder_source.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "evidence/validate/staged_source.hpp"
#include "lab/records/campaign.hpp"
#include "lab/records/evidence_words.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::records {
namespace {

/// Contents of system prompts and of questions.
constexpr std::uint64_t kSystemContent = std::uint64_t{1} << 32;
constexpr std::uint64_t kQuestionContent = std::uint64_t{1} << 33;
/// Priority of a request, on vLLM's scale: the gateway may refuse it.
constexpr std::int32_t kMayBeRefused = 1;

/// The campaign's prompts in the order in which they are sent, over and over: inference-perf
/// shuffles them once.
std::vector<std::uint64_t> prompt_order(const Campaign& campaign, std::uint64_t seed) {
  std::vector<std::uint64_t> order(
      static_cast<std::size_t>(campaign.groups * campaign.prompts_per_group));
  std::iota(order.begin(), order.end(), std::uint64_t{0});
  core::RngStream rng(seed, 0, "ladder prompts");
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[rng.below(left)]);
  }
  return order;
}

/// Instants of a stage's requests since its start, ascending.
std::vector<double> stage_arrivals(const Campaign& campaign,
                                   const Strategy& strategy,
                                   std::size_t stage,
                                   std::uint64_t seed) {
  const CampaignStage& asked = campaign.stages[stage];
  const MeasuredStage* row = campaign.find(strategy.name, asked.rate);
  const double rate = row == nullptr ? asked.rate : row->arrivals_per_s;
  const double count = std::floor(asked.rate * asked.seconds);
  std::vector<double> instants;
  core::RngStream rng(seed, 0, "ladder arrivals", stage);
  for (double i = 0.0; i < count; i += 1.0) {
    instants.push_back(campaign.poisson ? rng.uniform() * count / rate : i / rate);
  }
  std::ranges::sort(instants);
  return instants;
}

}  // namespace

std::vector<scenario::Override> fleet_settings(const Campaign& campaign, const Strategy& strategy) {
  std::vector<scenario::Override> settings = {
      {.path = "cluster.instances", .text = fmt::format("{}", campaign.instances)}};
  if (campaign.gateway_requests < Campaign::kNoLimit) {
    // A proxy that refuses what comes while so many requests are in flight.
    settings.push_back({.path = "cluster.admission.name", .text = "priority"});
    settings.push_back(
        {.path = "cluster.admission.saturation_detector", .text = "concurrency-detector"});
    settings.push_back({.path = "cluster.admission.max_concurrency_per_instance",
                        .text = fmt::format("{}",
                                            static_cast<double>(campaign.gateway_requests) /
                                                static_cast<double>(campaign.instances))});
  }
  settings.insert(settings.end(), strategy.settings.begin(), strategy.settings.end());
  return settings;
}

LadderSource::LadderSource(const Campaign& campaign, const Strategy& strategy, std::uint64_t seed) {
  const auto prompts = prompt_order(campaign, seed);
  for (std::size_t stage = 0; stage < campaign.stages.size(); ++stage) {
    for (const double instant : stage_arrivals(campaign, strategy, stage, seed)) {
      const std::uint64_t prompt = prompts[requests_.size() % prompts.size()];
      const std::uint64_t group = prompt / static_cast<std::uint64_t>(campaign.prompts_per_group);
      domain::Request request;
      request.id = core::RequestId(static_cast<core::RequestId::Rep>(requests_.size()));
      request.arrival = core::SimTime::at(core::Duration::saturating(core::Seconds(instant)));
      request.prompt_tokens = core::Tokens(campaign.system_tokens + campaign.question_tokens);
      request.output_tokens = core::Tokens(campaign.output_tokens);
      request.max_tokens = request.output_tokens;
      request.priority = kMayBeRefused;
      request.prompt = {
          {.content = kSystemContent + group, .length = core::Tokens(campaign.system_tokens)},
          {.content = kQuestionContent + prompt, .length = core::Tokens(campaign.question_tokens)}};
      requests_.push_back(std::move(request));
    }
    ends_.push_back(requests_.size());
  }
}

std::size_t LadderSource::stage_of(core::RequestId id) const {
  const auto end = std::ranges::upper_bound(ends_, static_cast<std::size_t>(id.value()));
  return static_cast<std::size_t>(end - ends_.begin());
}

std::optional<core::SimTime> LadderSource::next_arrival() {
  if (next_ == requests_.size() || next_ == ends_[stage_]) {
    return std::nullopt;
  }
  return core::SimTime::saturating_sum(stage_start_, requests_[next_].arrival.since_start());
}

domain::Request LadderSource::pop() {
  const auto arrival = next_arrival();
  RIDGELINE_CHECK(arrival.has_value(), "no request to take");
  domain::Request request = requests_[next_];
  request.arrival = *arrival;
  ++next_;
  return request;
}

void LadderSource::on_completion(core::RequestId /*id*/, core::SimTime time) {
  ++completed_;
  if (completed_ == ends_[stage_] && stage_ + 1 < ends_.size()) {
    ++stage_;
    stage_start_ = core::SimTime::saturating_sum(time, kRest);
  }
}

}  // namespace ridgeline::records
