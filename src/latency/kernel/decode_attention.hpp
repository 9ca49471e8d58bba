#pragma once

#include <cstdint>
#include <optional>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {

/// What one call of the decode kernel works on, summed over its sequences: decodes, and prompt
/// chunks so short that they run in the same kernel.
struct DecodeCall {
  std::int64_t sequences = 0;
  std::int64_t tokens = 0;   ///< New ones: one per decode.
  std::int64_t context = 0;  ///< KV lengths before the step.
  double pairs = 0.0;        ///< (query, key) pairs: what the FLOPs count.
  /// Beside prompt chunks of several tokens, whose step is one call for FlashAttention 2.
  bool is_mixed = false;

  void add(const domain::PrefillChunk& chunk);
};

/// Blocks that each stream the whole context of a sequence and KV head, in waves.
struct BlockWaves {
  std::int64_t blocks_per_sequence = 1;
  std::int64_t at_once = 1;   ///< Blocks that run at the same time, two on a multiprocessor.
  std::int64_t one_each = 1;  ///< Multiprocessors.
  std::int64_t unsplit = 0;   ///< From so many blocks on, contexts are not split.
  core::Seconds shared;       ///< A token of one block, its share of the bandwidth being full.
  core::Seconds alone;        ///< A token of one block that has its multiprocessor to itself.
  /// Beside prompts, where each query head is a block of its own with a tile of queries of which
  /// one row is used: a token of one such block. Zero: as without prompts.
  core::Seconds tile = {};
  std::int64_t tiles_per_sequence = 1;  ///< Query heads.

  /// Time per token of the context sum, the sequences being equally long (the step knows no more).
  [[nodiscard]] core::Seconds per_context_token(std::int64_t sequences) const;
  /// Time per context token in a step with prompts: neither are query heads packed that share a KV
  /// head, nor are contexts split, unless the longest query of the call is one token
  /// (mha_varlen_fwd: seqlenq_ngroups_swapped).
  [[nodiscard]] core::Seconds per_context_token_beside_prompts(std::int64_t sequences) const;
  /// Tokens by which the contexts of so many sequences are longer for those tiles, which compute
  /// whole blocks of keys.
  [[nodiscard]] std::int64_t padding_beside_prompts(std::int64_t sequences) const;
  /// Whether those tiles take longer than reading the contexts.
  [[nodiscard]] bool is_bound_by_tiles(std::int64_t sequences) const;
  /// What that time waits for most: memory, or compute where it is the multiprocessors of a last
  /// wave that leaves memory idle, or the tiles of a step with prompts.
  [[nodiscard]] domain::Bottleneck limit(std::int64_t sequences, bool is_mixed) const;
};

/// The time of a call is a straight line in each of its sums, above a floor that depends on the
/// sequences alone: reading the KV cache dominates, and that is additive over sequences.
struct DecodeLine {
  core::Seconds floor;
  core::Seconds floor_per_sequence;
  core::Seconds fixed;
  core::Seconds per_sequence;
  core::Seconds launched_per_sequence;  ///< Its part for launching blocks: overhead.
  core::Seconds per_token;
  core::Seconds per_context_token;
  std::optional<BlockWaves> blocks = std::nullopt;  ///< Instead of per_context_token.
  /// What limits per_context_token, or per_sequence where there is none.
  domain::Bottleneck kind = domain::Bottleneck::kMemory;
  /// Cost::side of the cache traffic alone, so that it is the same at every context length. On the
  /// side of memory, contexts that sequences share are read once (KernelModel::spared_context).
  domain::Bottleneck side = domain::Bottleneck::kMemory;

  [[nodiscard]] core::Seconds slope(std::int64_t sequences, bool is_mixed) const {
    if (!blocks) {
      return per_context_token;
    }
    return is_mixed ? blocks->per_context_token_beside_prompts(sequences)
                    : blocks->per_context_token(sequences);
  }
  /// Tokens that count beside the context sum.
  [[nodiscard]] std::int64_t padding(std::int64_t sequences, bool is_mixed) const {
    return blocks && is_mixed ? blocks->padding_beside_prompts(sequences) : 0;
  }
  [[nodiscard]] domain::Bottleneck limit(std::int64_t sequences, bool is_mixed) const {
    return blocks ? blocks->limit(sequences, is_mixed) : kind;
  }
};
[[nodiscard]] DecodeLine decode_line(const model::Attention& shape,
                                     const DecodeAttentionConstants& constants,
                                     const hardware::GpuSpec& gpu,
                                     double mixed_tile_efficiency = 0.0);

/// One call: floor or line, whichever is longer (docs/models/kernel.md, "Decode attention").
[[nodiscard]] Cost decode_attention(const DecodeCall& call,
                                    const model::Attention& shape,
                                    const DecodeAttentionConstants& constants,
                                    const hardware::GpuSpec& gpu,
                                    double mixed_tile_efficiency = 0.0);

/// Bytes of one token's keys and values in one layer, on one rank.
[[nodiscard]] core::Bytes kv_bytes(const model::Attention& shape);
/// Bytes of one token's queries and attention outputs, both 16 bit.
[[nodiscard]] core::Bytes query_bytes(const model::Attention& shape);
/// FLOPs of one (query, key) pair over all query heads: a product over head_dim and one over the
/// values' size, two FLOPs per multiply-add.
[[nodiscard]] core::Flops pair_flops(const model::Attention& shape);

}  // namespace ridgeline::latency::kernel
