#include "lab/studies/ladder.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/statistics/quantiles.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "lab/records/campaign.hpp"
#include "lab/records/ladder_source.hpp"
#include "lab/studies/fleet_run.hpp"
#include "metrics/request_metrics.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::studies {
namespace {

using records::LadderSource;

constexpr double kP90 = 0.9;
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
  return settings_of(
      {{.path = "model", .text = campaign.model},
       {.path = "gpu", .text = "h100"},
       {.path = "engine.tensor_parallel_size",
        .text = fmt::format("{}", campaign.tensor_parallel_size)},
       {.path = "engine.num_gpu_blocks", .text = fmt::format("{}", campaign.kv_blocks())},
       {.path = "engine.version", .text = records::kCampaignEngine},
       {.path = "percentiles", .text = "sketch"}},  // The summary's percentiles are not read.
      records::fleet_settings(campaign, strategy));
}

}  // namespace

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
