#include "cluster/step_time_predictor.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cluster/pools.hpp"
#include "core/distributions.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "engine/options.hpp"
#include "routing/predictor.hpp"

namespace ridgeline::cluster {
namespace {

constexpr std::int64_t kNullBlock = 1;  ///< Holds no tokens.

/// How long a step takes: `decodes` requests of equal contexts, and at most one chunk of a prompt.
core::Duration step_time(const InstancePool& pool,
                         std::int64_t decodes,
                         core::Tokens context,
                         std::span<const domain::PrefillChunk> prefills) {
  std::vector<core::Tokens> lengths;
  if (pool.model->needs_decode_lengths() && decodes > 0) {
    lengths.assign(static_cast<std::size_t>(decodes), core::Tokens(context.value() / decodes));
  }
  const domain::StepTime time =
      pool.model->predict({.num_decodes = decodes,
                           .decode_context = decodes > 0 ? context : core::Tokens(),
                           .decode_lengths = lengths,
                           .prefills = prefills});
  const auto sequences = decodes + static_cast<std::int64_t>(prefills.size());
  return engine::step_period(time.gpu(),
                             pool.host->of(sequences, time.cpu),
                             pool.host->front(sequences),
                             engine::hides_host(*pool.options));
}

}  // namespace

StepTimePredictor::StepTimePredictor(std::vector<InstancePool> pools,
                                     const PredictorError& error,
                                     std::uint64_t seed)
    : pools_(std::move(pools)), pool_of_(pools_of_instances(pools_)), error_(error), seed_(seed) {}

routing::Latency StepTimePredictor::right(const routing::Prospect& prospect) const {
  const InstancePool& pool = pools_[pool_of_[prospect.instance.value()]];
  const engine::EngineOptions& options = *pool.options;
  const std::int64_t decodes = std::min(prospect.running, options.max_num_seqs - 1);
  const std::int64_t capacity =
      (options.num_gpu_blocks.value() - kNullBlock) * options.block_size.value();
  const auto held =
      core::Tokens(static_cast<std::int64_t>(prospect.kv_usage * static_cast<double>(capacity)));

  // At least the last token of a prompt is computed, wherever the rest lies.
  const std::int64_t own = std::max(prospect.uncached_tokens, std::int64_t{1});
  const std::int64_t all = prospect.queued_tokens + own;
  const std::int64_t budget =
      std::max(options.max_num_batched_tokens.value() - decodes, std::int64_t{1});
  const std::int64_t full_steps = (all - 1) / budget;
  const domain::PrefillChunk full{.past = {}, .new_tokens = core::Tokens(budget)};
  const domain::PrefillChunk last{.past = core::Tokens(prospect.prompt_tokens - own),
                                  .new_tokens = core::Tokens(all - full_steps * budget)};
  core::Duration ttft = step_time(pool, decodes, held, std::span(&last, 1));
  if (full_steps > 0) {
    ttft = core::Duration::saturating_sum(
        ttft,
        core::Duration::saturating_product(step_time(pool, decodes, held, std::span(&full, 1)),
                                           full_steps));
  }
  const core::Duration tpot =
      step_time(pool, decodes + 1, held + core::Tokens(prospect.prompt_tokens), {});

  return {.ttft_ms = ttft.to_milliseconds(), .tpot_ms = tpot.to_milliseconds()};
}

routing::Latency StepTimePredictor::predict(const routing::Prospect& prospect) const {
  const Question question(pool_of_[prospect.instance.value()],
                          prospect.running,
                          prospect.kv_usage,
                          prospect.queued_tokens,
                          prospect.prompt_tokens,
                          prospect.uncached_tokens);
  if (!last_ || last_->first != question) {
    last_.emplace(question, right(prospect));
  }
  routing::Latency latency = last_->second;
  if (error_.bias != 0.0 || error_.sd != 0.0) {
    core::RngStream draws(
        seed_, prospect.instance.value(), "latency predictor", prospect.request.value());
    for (double* const ms : {&latency.ttft_ms, &latency.tpot_ms}) {
      *ms = std::max(*ms * (1.0 + core::normal(draws, error_.bias, error_.sd)), 0.0);
    }
  }
  return latency;
}

}  // namespace ridgeline::cluster
