#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/loop/rank_agreement.hpp"
#include "engine/options.hpp"
#include "engine/tensorrt_llm/settings.hpp"

namespace ridgeline::engine::tensorrt_llm {

/// What a rank of attention in data parallel tells the others before a step. One without requests
/// has a dummy generation of one token.
struct RankStatus {
  bool is_idle = false;
  std::int64_t contexts = 0;
  std::int64_t generations = 0;

  /// It has requests and nothing to run: what it waits for is in flight.
  [[nodiscard]] bool is_stuck() const { return !is_idle && contexts + generations == 0; }
};

/// Holds contexts until every rank has one, so that no rank computes prompts while the others wait
/// for it (py_executor.py: _balance_adp_requests).
class AttentionDpBalance {
 public:
  AttentionDpBalance(const Settings& settings, std::int64_t max_batch_size)
      : settings_(settings), max_batch_size_(max_batch_size) {}

  /// Whether the contexts of this iteration are left out of it, on every rank.
  [[nodiscard]] bool holds(std::span<const RankStatus> ranks);
  /// So many iterations without contexts have passed.
  void advance_quiet(std::int64_t iterations);

 private:
  Settings settings_;
  std::int64_t max_batch_size_;
  std::int64_t waiting_ = 0;   ///< Iterations since some rank had no context, or no seat.
  std::int64_t batching_ = 0;  ///< Iterations for which contexts of all ranks wait for more.
};

/// Ranks of attention in data parallel: contexts are balanced, and where a rank with requests has
/// nothing to run, none runs (py_executor.py: _can_queue).
[[nodiscard]] std::unique_ptr<RankAgreement> make_agreement(const EngineOptions& options);

}  // namespace ridgeline::engine::tensorrt_llm
