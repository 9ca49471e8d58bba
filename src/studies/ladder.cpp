#include "studies/ladder.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "metrics/request_metrics.hpp"
#include "scenario/scenario.hpp"
#include "statistics/quantiles.hpp"
#include "studies/campaign.hpp"
#include "studies/fleet_run.hpp"

namespace ridgeline::studies {
namespace {

/// Between two stages: inference-perf starts one a second after it has been set up.
constexpr core::Duration kRest = core::Duration::seconds(1);
/// Contents of system prompts and of questions.
constexpr std::uint64_t kSystemContent = std::uint64_t{1} << 32;
constexpr std::uint64_t kQuestionContent = std::uint64_t{1} << 33;
constexpr std::int64_t kBlockTokens = 16;  ///< vLLM's default.
constexpr double kP90 = 0.9;
/// Of a request, as of vLLM's: the gateway may refuse it.
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

/// Times of each stage's requests.
class StageTimes final : public metrics::Listener {
 public:
  StageTimes(const LadderSource& source, std::size_t stages) : source_(source), stages_(stages) {}

  void on_request(const domain::RequestRecord& record,
                  const metrics::RequestMetrics& metrics) override {
    Times& stage = stages_[source_.stage_of(record.id)];
    ++stage.sent;
    if (!metrics::completed(record.outcome)) {
      return;
    }
    stage.first = std::min(stage.first, record.arrival);
    stage.last = std::max(stage.last, record.arrival + *metrics.e2e);
    stage.ttft.push_back(metrics.ttft->to_seconds());
    stage.tpot += metrics.tpot ? metrics.tpot->to_seconds() : 0.0;
    stage.output += record.output_tokens.value();
    stage.prompt += record.prompt_tokens.value();
    stage.cached += record.cached_tokens.value();
  }

  [[nodiscard]] std::vector<LadderStage> summary() {
    std::vector<LadderStage> all;
    for (Times& stage : stages_) {
      RIDGELINE_CHECK(!stage.ttft.empty(), "every stage of a ladder has answers");
      std::ranges::sort(stage.ttft);
      const auto count = static_cast<double>(stage.ttft.size());
      all.push_back(
          {.sent = stage.sent,
           .requests = std::ssize(stage.ttft),
           .output_tokens_per_s =
               static_cast<double>(stage.output) / (stage.last - stage.first).to_seconds(),
           .ttft_mean_s = std::accumulate(stage.ttft.begin(), stage.ttft.end(), 0.0) / count,
           .ttft_p90_s = statistics::sorted_quantile(stage.ttft, kP90),
           .tpot_mean_s = stage.tpot / count,
           .cached_share = static_cast<double>(stage.cached) / static_cast<double>(stage.prompt)});
    }
    return all;
  }

 private:
  struct Times {
    core::SimTime first = core::SimTime::never();
    core::SimTime last;
    std::vector<double> ttft;
    double tpot = 0.0;
    std::int64_t sent = 0;
    std::int64_t output = 0;
    std::int64_t prompt = 0;
    std::int64_t cached = 0;
  };

  const LadderSource& source_;
  std::vector<Times> stages_;
};

/// Settings of the campaign's fleet under a strategy.
std::vector<scenario::Override> fleet_of(const Campaign& campaign, const Strategy& strategy) {
  std::vector<scenario::Override> settings = {
      {.path = "model", .text = campaign.model},
      {.path = "gpu", .text = "h100"},
      {.path = "engine.tensor_parallel_size",
       .text = fmt::format("{}", campaign.tensor_parallel_size)},
      {.path = "engine.num_gpu_blocks",
       .text = fmt::format("{}", campaign.kv_tokens / kBlockTokens)},
      {.path = "engine.version", .text = "vllm@0.11"},  // Autumn 2025.
      {.path = "percentiles", .text = "sketch"},        // Of a summary that is not read.
      {.path = "cluster.instances", .text = fmt::format("{}", campaign.instances)},
      // A proxy that refuses what comes while so many requests are in flight.
      {.path = "cluster.admission.name", .text = "priority"},
      {.path = "cluster.admission.saturation_detector", .text = "concurrency-detector"},
      {.path = "cluster.admission.max_concurrency_per_instance",
       .text = fmt::format("{}",
                           static_cast<double>(campaign.gateway_requests) /
                               static_cast<double>(campaign.instances))}};
  settings.insert(settings.end(), strategy.settings.begin(), strategy.settings.end());
  return settings;
}

}  // namespace

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

core::Result<std::vector<LadderStage>> simulate_ladder(const Campaign& campaign,
                                                       const Strategy& strategy,
                                                       std::uint64_t seed) {
  LadderSource source(campaign, strategy, seed);
  StageTimes times(source, campaign.stages.size());
  const auto outcome = simulate_scenario(fleet_of(campaign, strategy), source, &times);
  if (!outcome) {
    return core::fail(outcome.error());
  }
  return times.summary();
}

}  // namespace ridgeline::studies
