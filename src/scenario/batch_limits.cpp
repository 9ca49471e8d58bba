#include "scenario/batch_limits.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "engine/capacity.hpp"
#include "engine/options.hpp"
#include "scenario/deployment.hpp"

namespace ridgeline::scenario {
namespace {

/// What the sequences of a batch need, after the step.
struct Needs {
  std::int64_t sequences = 0;
  std::int64_t longest = 0;  ///< Tokens of the longest sequence.
  std::int64_t blocks = 0;   ///< KV blocks, if no two sequences share one.
};

Needs needs_of(const Deployment& deployment, const domain::StepBatch& batch) {
  Needs needs;
  const auto add = [&](core::Tokens past, core::Tokens fresh) {
    ++needs.sequences;
    needs.longest = std::max(needs.longest, (past + fresh).value());
    needs.blocks += engine::blocks_of_request(deployment.memory, past + fresh, fresh);
  };
  for (const core::Tokens context : batch.decode_lengths) {
    add(context, core::Tokens(1));
  }
  for (const domain::PrefillChunk& chunk : batch.prefills) {
    add(chunk.past, chunk.new_tokens);
  }
  return needs;
}

}  // namespace

core::Warnings beyond_limits(const Deployment& deployment, const domain::StepBatch& batch) {
  const engine::EngineOptions& engine = deployment.engine;
  const Needs needs = needs_of(deployment, batch);
  core::Warnings warnings;
  const auto warn = [&](const char* code, std::string message, std::string hint) {
    warnings.push_back({.code = code,
                        .message = std::move(message) + ": no engine forms such a step",
                        .hint = std::move(hint)});
  };
  if (needs.sequences > engine.max_num_seqs) {
    warn("W-beyond-max-num-seqs",
         fmt::format("the step has {} {}, max_num_seqs is {}",
                     needs.sequences,
                     core::plural("sequence", needs.sequences),
                     engine.max_num_seqs),
         fmt::format("--max-num-seqs {}", needs.sequences));
  }
  const std::int64_t tokens = batch.num_tokens().value();
  if (tokens > engine::token_budget(engine).value()) {
    const bool own = engine.max_num_scheduled_tokens > core::Tokens(0);
    warn("W-beyond-token-budget",
         fmt::format("the step computes {} {}, {} is {}",
                     tokens,
                     core::plural("token", tokens),
                     own ? "max_num_scheduled_tokens" : "max_num_batched_tokens",
                     engine::token_budget(engine).value()),
         fmt::format(
             "{} {}", own ? "--max-num-scheduled-tokens" : "--max-num-batched-tokens", tokens));
  }
  if (needs.longest > engine.max_model_len.value()) {
    warn("W-beyond-max-model-len",
         fmt::format("its longest sequence has {} {}, max_model_len is {}",
                     needs.longest,
                     core::plural("token", needs.longest),
                     engine.max_model_len.value()),
         fmt::format("--max-model-len {}", needs.longest));
  }
  // One block is the null block, which holds nothing.
  const std::int64_t blocks = engine.num_gpu_blocks.value() - 1;
  if (needs.blocks > blocks) {
    warn("W-beyond-kv-cache",
         fmt::format("its sequences need {} KV {}, the cache of a rank has {}",
                     needs.blocks,
                     core::plural("block", needs.blocks),
                     blocks),
         "ridgeline explain shows what takes the memory");
  }
  return warnings;
}

}  // namespace ridgeline::scenario
