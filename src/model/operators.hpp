#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/units.hpp"

namespace ridgeline::model {

/// Number formats of weights, activations and KV cache.
enum class DType : std::uint8_t {
  kFp32,
  kBf16,
  kFp16,
  kFp8,
  kInt8,
  kInt4,
  kMxfp4,
  kNvfp4,
  kMxfp8,
  kFp8WeightOnly,  ///< These and the next: products in 16 bits, whatever the GPU can do.
  kInt8WeightOnly,
  kNvfp4WeightOnly,
  kInt4Group32,
  kInt4With8Bit,  ///< Products in 8 bits: W4A8.
  kFp8Block,      ///< One scale per 128 x 128 weights: other kernels than plain FP8's.
};
/// Storage per element; for the block formats with their shared scale: MXFP4 and MXFP8 have one
/// byte per 32 elements (OCP Microscaling Formats 1.0), NVFP4 one FP8 per 16 (NVIDIA Blackwell).
/// INT4 has a scale of 2 bytes and a zero of 4 bits per 128 elements, as AWQ and GPTQ keep them;
/// where groups are of 32 elements, a scale alone, as compressed-tensors does.
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
  std::int64_t value_dim = 0;  ///< Width of values where it is not head_dim; 0: head_dim.
  std::int64_t window = 0;     ///< Tokens that a query sees; 0: all before it.
  std::int64_t selected = 0;  ///< Tokens that a query reads of those, chosen by an indexer; 0: all.
  bool frees_window = true;   ///< Whether the cache forgets what left the window.
  bool has_cache = true;      ///< False: the cache that it reads is an earlier layer's.

  [[nodiscard]] std::int64_t values() const { return value_dim > 0 ? value_dim : head_dim; }
  friend bool operator==(const Attention&, const Attention&) = default;
};

/// Latent attention of one layer. The cache holds one vector of rank + rope per token, on every
/// rank. Prompts attend with keys and values rebuilt; decodes attend in the latent space.
struct LatentAttention {
  std::int64_t heads = 0;  ///< On this rank.
  std::int64_t rank = 0;
  std::int64_t rope = 0;
  std::int64_t nope = 0;
  std::int64_t value = 0;
  DType kv = DType::kBf16;
  std::int64_t selected = 0;

  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

/// Attention over a window and over a compressed cache (CompressedSpec).
struct CompressedAttention {
  std::int64_t heads = 0;  ///< On this rank.
  std::int64_t head_dim = 0;
  std::int64_t window = 0;
  std::int64_t ratio = 0;     ///< 0: the window alone.
  std::int64_t selected = 0;  ///< Compressed entries that a query reads; 0: all.
  DType kv = DType::kBf16;

  friend bool operator==(const CompressedAttention&, const CompressedAttention&) = default;
};

/// Scoring every token before a query, to choose those that attention reads.
struct Indexer {
  std::int64_t heads = 0;  ///< All of them: every rank scores alike.
  std::int64_t head_dim = 0;
  std::int64_t ratio = 1;  ///< Tokens of one cached key.

  friend bool operator==(const Indexer&, const Indexer&) = default;
};

/// The update and reading of a recurrent state, with its short convolution; all counts per rank.
struct Recurrence {
  std::int64_t heads = 0;
  std::int64_t key_dim = 0;
  std::int64_t value_dim = 0;
  std::int64_t conv_channels = 0;
  std::int64_t conv_kernel = 0;
  DType state = DType::kFp32;

  friend bool operator==(const Recurrence&, const Recurrence&) = default;
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
  std::int64_t width = 0;  ///< Width of one expert on this rank.
  DType weights = DType::kBf16;
  std::int64_t matrices = 3;  ///< Gate, up and down; 2 without a gate.
  bool bias = false;
  /// Ranks whose tokens come together here, this one included: attention's data parallelism.
  std::int64_t token_sources = 1;

  friend bool operator==(const ExpertGemm&, const ExpertGemm&) = default;
};

/// Normalisation weights, and other vectors (the time is in LayerElementwise).
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

/// How tokens of data-parallel ranks reach the experts, and return (vLLM's `all2all_backend`).
enum class AllToAllBackend : std::uint8_t {
  kAllGatherReduceScatter,  ///< Every rank gets every token.
  kDeepEpHighThroughput,    ///< A token goes once to each rank that has one of its experts.
  kDeepEpLowLatency,        ///< A token goes to each of its experts.
};
[[nodiscard]] const char* name(AllToAllBackend backend);

/// One way of it: dispatch or combine.
struct AllToAll {
  std::int64_t width = 0;  ///< Elements per token.
  double bytes_per_element = 2.0;
  std::int64_t ranks = 1;
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;
  AllToAllBackend backend = AllToAllBackend::kAllGatherReduceScatter;

  /// Expected copies of a token that leave its rank, routing being uniform.
  [[nodiscard]] double copies() const;
  friend bool operator==(const AllToAll&, const AllToAll&) = default;
};

/// Weights that no step of the decoder reads: a vision tower.
struct Resident {
  double elements = 0.0;
  DType weights = DType::kBf16;

  friend bool operator==(const Resident&, const Resident&) = default;
};

/// Turning logits into a token.
struct Sampling {
  std::int64_t vocab = 0;

  friend bool operator==(const Sampling&, const Sampling&) = default;
};

using Shape = std::variant<Gemm,
                           Attention,
                           LatentAttention,
                           CompressedAttention,
                           Indexer,
                           Recurrence,
                           ExpertGemm,
                           Norm,
                           LayerElementwise,
                           Embedding,
                           AllReduce,
                           AllToAll,
                           Resident,
                           Sampling>;

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

/// How a network is cut over GPUs, in vLLM's words. Attention is cut by tensor_parallel_size and
/// copied data_parallel_size times, each copy with requests of its own; experts are cut over both
/// together, by their width or, with expert_parallel, by whole experts.
struct Sharding {
  std::int64_t tensor_parallel_size = 1;
  std::int64_t pipeline_parallel_size = 1;
  std::int64_t data_parallel_size = 1;
  std::int64_t prefill_context_parallel_size = 1;
  /// Ranks of the tensor-parallel group to which the tokens of a cache are dealt out in turn.
  std::int64_t decode_context_parallel_size = 1;
  bool expert_parallel = false;
  AllToAllBackend all_to_all = AllToAllBackend::kAllGatherReduceScatter;

  /// Ranks that share the experts.
  [[nodiscard]] std::int64_t expert_ranks() const {
    return tensor_parallel_size * data_parallel_size;
  }
  [[nodiscard]] std::int64_t gpus() const {
    return tensor_parallel_size * pipeline_parallel_size * data_parallel_size *
           prefill_context_parallel_size;
  }
  /// GPUs of one data-parallel rank, which in a fleet is an instance.
  [[nodiscard]] std::int64_t gpus_of_rank() const { return gpus() / data_parallel_size; }
};

/// Parameters an operator stores on its rank, over all its calls; 0 for those without weights.
[[nodiscard]] double parameters(const Operator& op);
/// Bytes of those weights.
[[nodiscard]] core::Bytes weight_bytes(const Operator& op);
/// KV cache bytes per token that an operator needs on its rank, over all its calls; 0 unless
/// attention.
[[nodiscard]] core::BytesPerToken kv_bytes_per_token(const Operator& op);
/// Bytes that it keeps of each sequence whatever its length, over all its calls.
[[nodiscard]] core::Bytes state_bytes_per_sequence(const Operator& op);

}  // namespace ridgeline::model
