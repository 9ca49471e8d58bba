#pragma once

#include <memory>

#include "engine/loop/rank_agreement.hpp"
#include "engine/options.hpp"

namespace ridgeline::engine::sglang {

/// Ranks of attention in data parallel (managers/scheduler.py, prepare_mlp_sync_batch): each takes
/// an iteration of its own event loop; if any of them has a batch, the others run an idle one, and
/// if none has, none runs.
[[nodiscard]] std::unique_ptr<RankAgreement> make_agreement(const EngineOptions& options);

}  // namespace ridgeline::engine::sglang
