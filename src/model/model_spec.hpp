#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "model/operators.hpp"

namespace ridgeline::model {

/// Multi-head latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1): keys and values are
/// rebuilt from one latent vector per token, which is all that the cache holds.
struct LatentSpec {
  std::int64_t query_rank = 0;  ///< 0: queries are projected from the hidden state directly.
  std::int64_t kv_rank = 0;
  std::int64_t rope_dim = 0;   ///< Rotary width of the heads' common key, cached too.
  std::int64_t nope_dim = 0;   ///< Width of a head's query and key without rotary position.
  std::int64_t value_dim = 0;  ///< Width of a head's value.

  friend bool operator==(const LatentSpec&, const LatentSpec&) = default;
};

/// Sparse attention: a small scorer ("indexer") chooses the tokens that attention then reads
/// (DeepSeek-V3.2 technical report, section 2).
struct SparseSpec {
  std::int64_t selected = 0;    ///< Tokens chosen per query.
  std::int64_t heads = 0;       ///< Heads of the scorer.
  std::int64_t head_dim = 0;    ///< Width of the scorer's head; one key of it per token is cached.
  std::int64_t query_rank = 0;  ///< Input of its query projection; 0: the hidden state.
  bool own_scores = true;       ///< False: the layer takes over an earlier layer's choice.
  std::int64_t pool = 1;        ///< Tokens that share a key of the scorer (GLM-5.3-Flash).

  friend bool operator==(const SparseSpec&, const SparseSpec&) = default;
};

/// DeepSeek-V4: keys and values are one vector per head_dim, shared by all heads; a layer reads the
/// last `window` tokens of it and, where `ratio` is not 0, one compressed entry per `ratio` tokens
/// (of which a scorer chooses, where SparseSpec is there). The output projection has two factors,
/// the first in `output_groups` blocks.
struct CompressedSpec {
  std::int64_t query_rank = 0;
  std::int64_t ratio = 0;
  std::int64_t window = 0;
  std::int64_t output_groups = 0;
  std::int64_t output_rank = 0;

  friend bool operator==(const CompressedSpec&, const CompressedSpec&) = default;
};

/// Softmax attention of a layer; 0 heads: the layer has none.
struct AttentionSpec {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;  ///< From the config where it says so; hidden / heads otherwise.
  bool qkv_bias = false;
  bool output_bias = false;
  bool qk_norm = false;               ///< A norm over head_dim on queries and keys (Qwen3).
  bool qk_norm_across_heads = false;  ///< That norm is over all heads together (MiniMax-M2).
  /// Queries come with a gate of equal size (Qwen3.5); of latent attention the output has one of
  /// its size (Kimi K3).
  bool output_gate = false;
  bool head_gate = false;        ///< Each head's output has one gate (Step 3.5, Laguna).
  bool values_are_keys = false;  ///< One projection serves as both (Gemma 4, global layers).
  bool sinks = false;            ///< A learnt logit per head (gpt-oss).
  bool earlier_cache = false;    ///< Keys and values are an earlier layer's (Gemma 4 E2B).
  std::int64_t value_dim = 0;    ///< Width of values where it is not head_dim; 0: head_dim.
  /// Tokens that a query sees: a sliding window, or a chunk; 0: all before it.
  std::int64_t window = 0;
  /// The window is a chunk, whose start is fixed (Llama 4), not sliding.
  bool chunked = false;
  std::optional<LatentSpec> latent = {};
  std::optional<SparseSpec> sparse = {};
  std::optional<CompressedSpec> compressed = {};

  [[nodiscard]] std::int64_t values() const { return value_dim > 0 ? value_dim : head_dim; }
  friend bool operator==(const AttentionSpec&, const AttentionSpec&) = default;
};

/// A layer that carries a state of fixed size instead of a KV cache. What a token costs follows
/// from the sizes below, whatever the update rule.
struct RecurrentSpec {
  enum class Kind : std::uint8_t {
    kGatedDeltaNet,  ///< Qwen3-Next, Qwen3.5 (arXiv:2412.06464).
    kMamba2,         ///< Nemotron-H (arXiv:2405.21060).
    kKimiDelta,      ///< Kimi Linear (arXiv:2510.26692): a decay for each channel.
    kShortConv,      ///< LFM2's gated convolution: each channel a head, no state but its taps.
  };
  Kind kind = Kind::kGatedDeltaNet;
  std::int64_t heads = 0;        ///< Value heads; each has a state of key_dim x value_dim.
  std::int64_t key_heads = 0;    ///< Key heads, or Mamba-2's groups.
  std::int64_t key_dim = 0;      ///< Width of a head; Mamba-2's state size.
  std::int64_t value_dim = 0;    ///< Width of a head's value.
  std::int64_t conv_kernel = 0;  ///< Taps of the short convolution over queries, keys and values.
  bool conv_bias = false;
  std::int64_t gate_rank = 0;   ///< Inner width of the output gate's two factors; 0: one matrix.
  std::int64_t decay_rank = 0;  ///< Inner width of the decay's two factors; 0: one matrix.
  DType state = DType::kFp32;

  friend bool operator==(const RecurrentSpec&, const RecurrentSpec&) = default;
};

/// Feed-forward network: gate, up, down; or up and down alone.
struct DenseFfn {
  std::int64_t width = 0;  ///< 0: the layer has none.
  bool gated = true;

  friend bool operator==(const DenseFfn&, const DenseFfn&) = default;
};

struct MoeFfn {
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;
  std::int64_t expert_width = 0;
  std::int64_t shared_width = 0;  ///< Sum over shared experts; 0 when there are none.
  bool gated = true;              ///< Gate, up and down; else up and down.
  bool bias = false;              ///< On every expert's projections (gpt-oss).
  bool router_bias = false;
  bool router_fp32 = false;  ///< The router's weights and products are in FP32 (MiniMax-M2).
  bool shared_gate = false;  ///< The shared expert's output is scaled by a learnt gate.
  /// Width that routed experts work on where it is not the hidden size (Nemotron 3 Super); 0: it
  /// is.
  std::int64_t latent = 0;

  friend bool operator==(const MoeFfn&, const MoeFfn&) = default;
};

/// Format of the weights of one layer's parts.
struct LayerPrecision {
  DType mixer_in = DType::kBf16;   ///< Projections into attention or recurrence.
  DType mixer_out = DType::kBf16;  ///< And out of it.
  DType ffn = DType::kBf16;        ///< A dense layer's, or the routed experts'.
  DType shared = DType::kBf16;     ///< The shared experts'.

  friend bool operator==(const LayerPrecision&, const LayerPrecision&) = default;
};

/// `count` decoder layers of one shape, in the order of the network.
struct LayerGroup {
  std::int64_t count = 0;
  AttentionSpec attention;
  std::variant<DenseFfn, MoeFfn> ffn;
  std::optional<RecurrentSpec> recurrent = {};  ///< Instead of attention.
  std::int64_t norms = 2;                       ///< Norms of hidden_size, in a layer.
  /// Width of the token's row in a table of the layer's own, which is mixed into its output (Gemma
  /// 4 E2B); 0: there is none.
  std::int64_t row_width = 0;
  /// Where a quantisation treats these layers unlike the network's Precision.
  std::optional<LayerPrecision> precision = {};

  friend bool operator==(const LayerGroup&, const LayerGroup&) = default;
};

/// What reads images: weights beside the decoder's, and tokens in the prompt.
struct VisionTower {
  /// With its projector into the decoder, and with those of an encoder of sounds beside it.
  double parameters = 0.0;
  std::int64_t patch = 0;           ///< Pixels on a side.
  std::int64_t patches_a_side = 1;  ///< Side of the square of patches that become one token.

  /// Prompt tokens of an image, which is rounded up to whole tokens.
  [[nodiscard]] std::int64_t tokens(std::int64_t width, std::int64_t height) const;
  friend bool operator==(const VisionTower&, const VisionTower&) = default;
};

/// Format of each part's weights, and of the KV cache.
struct Precision {
  DType attention = DType::kBf16;
  DType ffn = DType::kBf16;
  DType embedding = DType::kBf16;  ///< Also lm_head, unless that says otherwise.
  DType kv = DType::kBf16;
  std::optional<DType> lm_head = {};

  friend bool operator==(const Precision&, const Precision&) = default;
};

/// What vLLM samples with when the client does not say: the network's generation_config.json.
struct SamplingDefaults {
  std::optional<double> top_p = {};
  std::optional<std::int64_t> top_k = {};
  std::optional<double> repetition_penalty = {};

  [[nodiscard]] bool truncates() const {
    return top_p.value_or(1.0) < 1.0 || top_k.value_or(0) > 0;
  }
  [[nodiscard]] bool penalises() const { return repetition_penalty.value_or(1.0) != 1.0; }
  friend bool operator==(const SamplingDefaults&, const SamplingDefaults&) = default;
};

/// Facts of one decoder network.
struct ModelSpec {
  std::string name;    ///< Catalogue name or path as given.
  std::string hf_id;   ///< "meta-llama/Llama-3.1-8B"; empty when unknown.
  std::string family;  ///< model_type of its config.json, e.g. "llama".
  std::int64_t hidden_size = 0;
  std::int64_t vocab_size = 0;
  core::Tokens max_position;
  bool tied_embeddings = false;
  std::vector<LayerGroup> layers;
  /// Layers that draft further tokens (multi-token prediction). They are not part of the network's
  /// parameters, nor loaded, unless speculative decoding uses them.
  std::vector<LayerGroup> draft_layers;
  std::int64_t draft_modules = 0;  ///< Each drafts one token further.
  std::optional<VisionTower> vision;
  /// Copies of the residual stream, mixed by learnt weights before and after every block
  /// (DeepSeek-V4's hyper-connections); 1: the usual single one.
  std::int64_t residual_streams = 1;
  /// Which ends of the network these layers include: a stage of a pipeline may lack either.
  bool has_embedding = true;
  bool has_head = true;
  /// Hidden-size vectors that a drafting network joins into its input (its target's hidden states
  /// and the token's embedding); 0: it is no such network.
  std::int64_t draft_inputs = 0;
  Precision precision;
  SamplingDefaults sampling;
  /// Keys of its configuration that this version does not know, quoted: they may change the
  /// network.
  std::vector<std::string> unread_keys;
  /// Where each value came from, for `explain`: (key, source).
  std::vector<std::pair<std::string, std::string>> provenance;

  [[nodiscard]] std::int64_t num_layers() const;
};

/// The operators of one forward pass on one rank, in order of execution, layers of equal shape
/// folded into one entry. Parameters, weight bytes, FLOPs and KV bytes are all sums over this list.
/// The sharding must pass check_ranks.
[[nodiscard]] std::vector<Operator> forward_pass(const ModelSpec& spec, const Sharding& sharding);

/// Sums over forward_pass.
[[nodiscard]] double total_parameters(const ModelSpec& spec);
/// As total, with only the experts that one token uses and without a vision tower. The embedding is
/// counted, though a token reads one row of it: some published figures leave it out.
[[nodiscard]] double active_parameters(const ModelSpec& spec);
[[nodiscard]] core::Bytes weight_bytes_per_rank(const ModelSpec& spec, const Sharding& sharding);
[[nodiscard]] core::BytesPerToken kv_bytes_per_token_per_rank(const ModelSpec& spec,
                                                              const Sharding& sharding);

/// One kind of cache that a network keeps for its sequences, on one rank.
struct CacheGroup {
  std::string kind;  ///< "full", "window", "latent", "compressed", "indexer" or "state".
  std::int64_t layers = 0;
  core::Tokens window;                  ///< Tokens kept of a sequence; 0: all.
  core::BytesPerToken bytes_per_token;  ///< All layers of the group.
  core::Bytes bytes_per_sequence;       ///< Whatever its length.
};
/// The caches of one rank, in order of first use. The bytes per token sum to
/// kv_bytes_per_token_per_rank, those per sequence to state_bytes_per_rank.
[[nodiscard]] std::vector<CacheGroup> cache_groups(const ModelSpec& spec, const Sharding& sharding);
/// Bytes that a sequence holds whatever its length: recurrent states, and windows that are part of
/// a layer beside a compressed cache.
[[nodiscard]] core::Bytes state_bytes_per_rank(const ModelSpec& spec, const Sharding& sharding);

/// The stages of a pipeline, cut as vLLM does (`get_pp_indices`): equally, and the layers left over
/// one each to the last stages but the very last. One, the network itself, without a pipeline.
[[nodiscard]] std::vector<ModelSpec> pipeline_stages(const ModelSpec& spec, std::int64_t stages);

/// The network whose forward pass drafts one token by multi-token prediction: its draft layers
/// between the projection of (hidden, embedding) and the shared head. Nothing where there are none.
[[nodiscard]] std::optional<ModelSpec> draft_network(const ModelSpec& spec);

/// Every weight matrix but embeddings and head in one format, as a server's `quantization` flag
/// does.
void set_weight_format(ModelSpec& spec, DType format);

/// Why this network cannot be cut so, or success: heads and widths must divide. The vocabulary need
/// not: ranks hold its ceiling.
[[nodiscard]] core::Result<void> check_sharding(const ModelSpec& spec, const Sharding& sharding);
/// What each stage of a pipeline must meet by itself of check_sharding: why the ranks of one stage
/// cannot share out its heads, columns and experts. It holds for all stages where check_sharding
/// holds for the network.
[[nodiscard]] core::Result<void> check_ranks(const ModelSpec& spec, const Sharding& sharding);

/// The configuration document that a name means, with the keys of a Hugging Face config.json (a
/// nested text_config is lifted to the top), so that single values can be replaced before
/// model_from_node reads it. The name is a catalogue name or alias, a Hugging Face id of the
/// catalogue (with or without its organisation), all in any case, or else a path to a config.json
/// or its folder; beside that file, generation_config.json and hf_quant_config.json are read too.
/// Unknown names give the nearest.
[[nodiscard]] core::Result<document::Node> find_model_document(const std::string& name);
/// The facts in such a document. What is not understood is refused by name; keys of a published
/// config.json that say nothing about size or speed are ignored, but a value whose location is
/// "command line" must be of use. `name` is what to call the network where the document does not
/// come from the catalogue.
[[nodiscard]] core::Result<ModelSpec> model_from_node(const document::Node& document,
                                                      const std::string& name);
/// Both: the network that a name means.
[[nodiscard]] core::Result<ModelSpec> find_model(const std::string& name);
/// A Hugging Face config.json or its folder.
[[nodiscard]] core::Result<ModelSpec> read_hf_config(const std::string& path);
/// Names in the catalogue, sorted.
[[nodiscard]] std::vector<std::string> catalogue_names();

}  // namespace ridgeline::model
