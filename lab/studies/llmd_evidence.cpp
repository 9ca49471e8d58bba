#include "lab/studies/llmd_evidence.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lab/records/campaign.hpp"
#include "lab/studies/pairings.hpp"

namespace ridgeline::studies {
namespace {

/// What some rows range over.
struct Range {
  double least = 0.0;
  double median = 0.0;
  double most = 0.0;
};

Range range_of(std::vector<double> values) {
  if (values.empty()) {
    return {};
  }
  std::ranges::sort(values);
  return {.least = values.front(), .median = values[values.size() / 2], .most = values.back()};
}

/// Which share of the tokens asked for the published throughputs have in the time that the other
/// published figures say a stage took. Of rows without overload, where the time follows from
/// arrivals and answers, and of requests that the gateway lets through at once.
Range counted_shares(const Campaign& campaign,
                     const std::vector<Pairing>& pairings,
                     double stamps) {
  std::vector<double> shares;
  for (const Pairing& one : pairings) {
    if (one.keeps_up() && one.predicted.sent <= campaign.gateway_requests) {
      shares.push_back(one.counted_share(stamps, campaign.output_tokens));
    }
  }
  return range_of(std::move(shares));
}

/// Requests that an instance ran at a time where others waited, by Little's law: the median.
double running(const Campaign& campaign, const std::vector<Pairing>& pairings, double stamps) {
  std::vector<double> counts;
  for (const Pairing& one : pairings) {
    if (!one.keeps_up() && one.predicted.sent <= campaign.gateway_requests) {
      counts.push_back(one.measured->output_tokens_per_s * stamps * one.measured->itl_mean_s /
                       static_cast<double>(campaign.instances));
    }
  }
  return range_of(std::move(counts)).median;
}

/// Requests that an instance's KV cache holds, halfway through their answers and without a common
/// prefix.
double requests_of_cache(const Campaign& campaign) {
  const auto prompt = static_cast<double>(campaign.system_tokens + campaign.question_tokens);
  return static_cast<double>(campaign.kv_tokens) /
         (prompt + static_cast<double>(campaign.output_tokens) / 2.0);
}

/// Stages of more requests than the gateway lets through at once.
std::string of_full_gateway(const Campaign& campaign, const std::vector<Pairing>& pairings) {
  std::vector<double> shares;
  for (const Pairing& one : pairings) {
    if (one.predicted.sent > campaign.gateway_requests) {
      shares.push_back(one.counted_share(kStampsPerToken, campaign.output_tokens));
    }
  }
  if (shares.empty()) {
    return "";
  }
  const Range range = range_of(std::move(shares));
  return fmt::format(
      " Stages of more than {} requests account for {:.2f} to {:.2f} of theirs under every "
      "strategy, "
      "as if the gateway refused what came while so many were in flight (Envoy's default), as it "
      "does here.",
      campaign.gateway_requests,
      range.least,
      range.most);
}

}  // namespace

double step_factor(const std::vector<Pairing>& pairings) {
  double sum = 0.0;
  double rows = 0.0;
  for (const auto& [measured, predicted] : pairings) {
    if (measured->rate == pairings.front().measured->rate && predicted.tpot_mean_s > 0.0) {
      sum += kStampsPerToken * measured->itl_mean_s / predicted.tpot_mean_s;
      rows += 1.0;
    }
  }
  return rows > 0.0 ? sum / rows : 1.0;
}

std::string evidence_of(const Campaign& campaign, const std::vector<Pairing>& pairings) {
  const Range one = counted_shares(campaign, pairings, 1.0);
  const Range two = counted_shares(campaign, pairings, kStampsPerToken);
  return fmt::format(
      "The published gaps are half of the time between tokens: without overload, arrivals, first "
      "token and answers of that length account for {:.2f} to {:.2f} of the published tokens "
      "({:.2f} "
      "at the median) if each token has two time stamps, and for {:.2f} to {:.2f} ({:.2f}) if it "
      "has "
      "one. In overload {:.0f} requests run on an instance with two stamps and {:.0f} with one; "
      "its "
      "KV cache holds {:.0f} while others wait. At the lowest rate such gaps are {:.2f} times "
      "ours: "
      "the servers' steps were longer than the kernel model's.{}",
      two.least,
      two.most,
      two.median,
      one.least,
      one.most,
      one.median,
      running(campaign, pairings, kStampsPerToken),
      running(campaign, pairings, 1.0),
      requests_of_cache(campaign),
      step_factor(pairings),
      of_full_gateway(campaign, pairings));
}

}  // namespace ridgeline::studies
