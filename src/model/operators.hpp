#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/units.hpp"

namespace ridgeline::model {

/// Number formats of weights, activations and KV cache.
enum class DType : std::uint8_t { kFp32, kBf16, kFp16, kFp8, kInt8, kInt4, kMxfp4, kNvfp4 };
/// Storage per element; for the block formats with their shared scale: MXFP4 has one byte per 32
/// elements (OCP Microscaling Formats 1.0), NVFP4 one FP8 per 16 (NVIDIA Blackwell).
[[nodiscard]] double bytes_per_element(DType type);
/// "bf16", "fp8", ...
[[nodiscard]] const char* name(DType type);

/// Which rows an operator works on.
enum class Rows : std::uint8_t {
  kTokens,   ///< Every token of the step.
  kSampled,  ///< One per sequence that samples.
};

/// y[rows, n] = x[rows, k] * w[k, n] (+ bias[n]).
struct Gemm {
  std::int64_t k = 0;
  std::int64_t n = 0;
  DType weights = DType::kBf16;
  bool bias = false;
  Rows rows = Rows::kTokens;
  bool tied = false;  ///< Its weight is another operator's (tied embeddings): streamed, but not
                      ///< stored twice.

  friend bool operator==(const Gemm&, const Gemm&) = default;
};

/// Softmax attention over the KV cache of one layer; all counts per rank.
struct Attention {
  std::int64_t heads = 0;     ///< Query heads.
  std::int64_t kv_heads = 0;  ///< Held by the rank (at least 1: replicated when TP exceeds them).
  std::int64_t head_dim = 0;
  DType kv = DType::kBf16;

  friend bool operator==(const Attention&, const Attention&) = default;
};

/// Grouped GEMM of a mixture of experts: gate and up to 2*width, down back to hidden, for the
/// experts that the step's tokens hit. Routing, activation and reduction are part of it, in time as
/// well: the operator "router", a Gemm (hidden, experts) before it, stands in the list for its
/// weights.
struct ExpertGemm {
  std::int64_t experts = 0;          ///< In the network.
  std::int64_t experts_on_rank = 0;  ///< Held by this rank.
  std::int64_t experts_per_token = 0;
  std::int64_t hidden = 0;
  std::int64_t width = 0;  ///< Of one expert on this rank.
  DType weights = DType::kBf16;

  friend bool operator==(const ExpertGemm&, const ExpertGemm&) = default;
};

/// Normalisation weights (the time is in LayerElementwise).
struct Norm {
  std::int64_t width = 0;

  friend bool operator==(const Norm&, const Norm&) = default;
};

/// The small memory-bound kernels of one layer together: norms with residuals, rotary embedding and
/// KV write, activation, and quantisation of activations where the GEMMs are FP8.
struct LayerElementwise {
  std::int64_t hidden = 0;
  /// Activated width per token on this rank; 0 in a mixture of experts, whose grouped GEMM includes
  /// it.
  std::int64_t ffn_width = 0;
  std::int64_t qkv_width = 0;  ///< (query + 2 KV heads) * head_dim on this rank.
  bool quantised_activations = false;

  friend bool operator==(const LayerElementwise&, const LayerElementwise&) = default;
};

/// Token embedding lookup.
struct Embedding {
  std::int64_t vocab = 0;  ///< Rows held by the rank.
  std::int64_t width = 0;
  DType weights = DType::kBf16;

  friend bool operator==(const Embedding&, const Embedding&) = default;
};

/// Exchange over the tensor-parallel group.
struct AllReduce {
  std::int64_t width = 0;  ///< Elements (16 bit) per row.
  Rows rows = Rows::kTokens;
  std::int64_t ranks = 1;

  friend bool operator==(const AllReduce&, const AllReduce&) = default;
};

/// Turning logits into a token.
struct Sampling {
  std::int64_t vocab = 0;

  friend bool operator==(const Sampling&, const Sampling&) = default;
};

using Shape = std::
    variant<Gemm, Attention, ExpertGemm, Norm, LayerElementwise, Embedding, AllReduce, Sampling>;

/// One operator of a forward pass on one rank, called `calls` times with equal shapes (once per
/// layer that has it, or as often as a layer has it).
struct Operator {
  /// "embedding", "layer_norm", "qkv_proj", "qk_norm", "attention", "o_proj", "all_reduce",
  /// "gate_up_proj", "down_proj", "router", "experts", "shared_gate_up_proj", "shared_down_proj",
  /// "elementwise", "final_norm", "lm_head", "logits_exchange", "sampling".
  std::string name;
  std::int64_t calls = 1;
  Shape shape;

  friend bool operator==(const Operator&, const Operator&) = default;
};

/// How a network is cut over GPUs.
struct Sharding {
  std::int64_t tensor_parallel_size = 1;
};

/// Parameters an operator stores on its rank, over all its calls; 0 for those without weights.
[[nodiscard]] double parameters(const Operator& op);
/// Bytes of those weights.
[[nodiscard]] core::Bytes weight_bytes(const Operator& op);
/// KV cache bytes per token that an operator needs on its rank, over all its calls; 0 unless
/// attention.
[[nodiscard]] core::BytesPerToken kv_bytes_per_token(const Operator& op);

}  // namespace ridgeline::model
