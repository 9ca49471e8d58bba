#include "lab/studies/pairings.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lab/records/campaign.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/ladder.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

/// A stage whose slowest tenth waits less than this for the first token is no overload.
constexpr double kPromptly = 2.5;

}  // namespace

double Pairing::ratio() const {
  return predicted.output_tokens_per_s / measured->output_tokens_per_s;
}

bool Pairing::keeps_up() const {
  return predicted.ttft_p90_s < kPromptly && measured->ttft_p90_s < kPromptly;
}

double Pairing::duration_s(double stamps, std::int64_t answer) const {
  return static_cast<double>(predicted.sent) / measured->arrivals_per_s + measured->ttft_p90_s +
         stamps * static_cast<double>(answer - 1) * measured->itl_mean_s;
}

double Pairing::counted_share(double stamps, std::int64_t answer) const {
  return measured->output_tokens_per_s * duration_s(stamps, answer) /
         static_cast<double>(predicted.sent * answer);
}

std::vector<Pairing> pair_up(const Campaign& campaign,
                             const std::vector<Strategy>& strategies,
                             const std::vector<std::vector<LadderStage>>& ladders) {
  std::vector<Pairing> pairings;
  for (std::size_t stage = 0; stage < campaign.stages.size(); ++stage) {
    for (std::size_t i = 0; i < strategies.size(); ++i) {
      const double rate = campaign.stages[stage].rate;
      const MeasuredStage* row = campaign.find(strategies[i].name, rate);
      // The first stage only warms the caches; its rate may come again.
      if (row != nullptr && stage > 0) {
        pairings.push_back({.measured = row, .predicted = ladders[i][stage]});
      }
    }
  }
  std::ranges::stable_sort(pairings, {}, [](const Pairing& one) { return one.measured->rate; });
  return pairings;
}

StudyTable ladder_table(const std::vector<Pairing>& pairings) {
  StudyTable table{.name = "ladder", .rows = {}};
  for (const auto& [measured, predicted] : pairings) {
    table.rows.push_back(row("rate",
                             measured->rate,
                             "strategy",
                             measured->strategy,
                             "requests",
                             predicted.requests,
                             "predicted_tokens_per_s",
                             predicted.output_tokens_per_s,
                             "measured_tokens_per_s",
                             measured->output_tokens_per_s,
                             "predicted_ttft_mean_s",
                             predicted.ttft_mean_s,
                             "measured_ttft_mean_s",
                             measured->ttft_mean_s,
                             "predicted_ttft_p90_s",
                             predicted.ttft_p90_s,
                             "measured_ttft_p90_s",
                             measured->ttft_p90_s,
                             "predicted_tpot_s",
                             predicted.tpot_mean_s,
                             "measured_itl_s",
                             measured->itl_mean_s,
                             "cached_share",
                             predicted.cached_share));
  }
  return table;
}

StudyTable duration_table(const Campaign& campaign, const std::vector<Pairing>& pairings) {
  StudyTable table{.name = "duration", .rows = {}};
  for (const Pairing& one : pairings) {
    table.rows.push_back(row("rate",
                             one.measured->rate,
                             "strategy",
                             one.measured->strategy,
                             "overload",
                             !one.keeps_up(),
                             "requests_sent",
                             one.predicted.sent,
                             "requests_answered",
                             one.predicted.requests,
                             "one_stamp_per_token_s",
                             one.duration_s(1.0, campaign.output_tokens),
                             "published_share_of_tokens",
                             one.counted_share(1.0, campaign.output_tokens),
                             "two_stamps_per_token_s",
                             one.duration_s(2.0, campaign.output_tokens),
                             "published_share_of_tokens_with_two",
                             one.counted_share(2.0, campaign.output_tokens)));
  }
  return table;
}

}  // namespace ridgeline::studies
