#include "latency/roofline/step_cost.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/math.hpp"
#include "core/time.hpp"
#include "domain/step.hpp"

namespace ridgeline::latency::roofline {
namespace {

// V1's weights of a mixed step, from its parameter search (commit 006cae82).
constexpr std::int64_t kPrefillHeavyRatio = 4;
constexpr std::int64_t kPrefillHeavyTokens = 100;
constexpr double kPrefillHeavyShare = 0.75;
constexpr std::int64_t kDecodeHeavyRatio = 2;
constexpr std::int64_t kDecodeHeavyTokens = 50;
constexpr double kDecodeHeavyShare = 0.65;

// V1's growth of the overhead with the requests of a step, from the same search.
constexpr double kGrowthPerDoubling = 0.15;
constexpr double kGrowthBase = 0.3;
constexpr double kGrowthDecodes = 2.0;
constexpr double kRequestsWithoutGrowth = 2.0;
constexpr double kLn2 = 0.693147180559945309417;

constexpr double kMicrosecondsPerSecond = 1e6;
/// In microseconds: no run has room for a step as long.
constexpr double kLongestStep = core::SimTime::last().to_seconds() * kMicrosecondsPerSecond;

}  // namespace

void set_default_shares(StepCost& cost, std::int64_t prefill_tokens, std::int64_t decode_tokens) {
  if (prefill_tokens > kPrefillHeavyRatio * decode_tokens && prefill_tokens > kPrefillHeavyTokens) {
    cost.prefill.share = kPrefillHeavyShare;
    cost.decode.share = 1.0 - kPrefillHeavyShare;
  } else if (decode_tokens > kDecodeHeavyRatio * prefill_tokens &&
             decode_tokens > kDecodeHeavyTokens) {
    cost.prefill.share = 1.0 - kDecodeHeavyShare;
    cost.decode.share = kDecodeHeavyShare;
  } else {
    const auto all = static_cast<double>(prefill_tokens + decode_tokens);
    cost.prefill.share = static_cast<double>(prefill_tokens) / all;
    cost.decode.share = static_cast<double>(decode_tokens) / all;
  }
}

double legacy_overhead_us(const LegacyOverhead& constants,
                          std::int64_t prefills,
                          std::int64_t decodes) {
  const auto requests = static_cast<double>(prefills + decodes);
  double growth = 1.0;
  if (requests > kRequestsWithoutGrowth) {
    const double doublings = core::log(requests / kRequestsWithoutGrowth) / kLn2;
    growth += kGrowthPerDoubling * doublings *
              (kGrowthBase + kGrowthDecodes * static_cast<double>(decodes) / requests);
  }
  double overhead = constants.base_us * growth;
  if (prefills > 0) {
    overhead +=
        static_cast<double>(prefills) * (decodes > 0 ? constants.mixed_us : constants.prefill_us);
  }
  return overhead;
}

void finish(StepCost& cost, double minimum_us) {
  const double micros =
      cost.seconds * kMicrosecondsPerSecond + cost.overhead_us + cost.all_reduce_us;
  cost.waiting_us = std::max(minimum_us - micros, 0.0);
  cost.micros = std::max(micros, minimum_us);
  cost.rounded_us = static_cast<std::int64_t>(std::round(std::min(cost.micros, kLongestStep)));
}

BatchCounts counts_of(const domain::StepBatch& batch) {
  BatchCounts counts;
  counts.prefills = static_cast<std::int64_t>(batch.prefills.size());
  for (const domain::PrefillChunk& chunk : batch.prefills) {
    counts.prefill_tokens += chunk.new_tokens.value();
  }
  counts.decodes = batch.num_decodes;
  return counts;
}

}  // namespace ridgeline::latency::roofline
