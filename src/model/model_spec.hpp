#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/document.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "model/operators.hpp"

namespace ridgeline::model {

struct AttentionSpec {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;  ///< From the config where it says so; hidden / heads otherwise.
  bool qkv_bias = false;
  bool output_bias = false;
  bool qk_norm = false;  ///< A norm over head_dim on queries and keys (Qwen3).

  friend bool operator==(const AttentionSpec&, const AttentionSpec&) = default;
};

/// Gated feed-forward network: gate, up, down.
struct DenseFfn {
  std::int64_t width = 0;

  friend bool operator==(const DenseFfn&, const DenseFfn&) = default;
};

struct MoeFfn {
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 0;
  std::int64_t expert_width = 0;
  std::int64_t shared_width = 0;  ///< Sum over shared experts; 0 when there are none.

  friend bool operator==(const MoeFfn&, const MoeFfn&) = default;
};

/// `count` decoder layers of one shape, in the order of the network.
struct LayerGroup {
  std::int64_t count = 0;
  AttentionSpec attention;
  std::variant<DenseFfn, MoeFfn> ffn;

  friend bool operator==(const LayerGroup&, const LayerGroup&) = default;
};

/// Format of each part's weights, and of the KV cache.
struct Precision {
  DType attention = DType::kBf16;
  DType ffn = DType::kBf16;
  DType embedding = DType::kBf16;  ///< Also lm_head.
  DType kv = DType::kBf16;

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
  Precision precision;
  SamplingDefaults sampling;
  /// Where each value came from, for `explain`: (key, source).
  std::vector<std::pair<std::string, std::string>> provenance;

  [[nodiscard]] std::int64_t num_layers() const;
};

/// The operators of one forward pass on one rank, in order of execution, layers of equal shape
/// folded into one entry. Parameters, weight bytes, FLOPs and KV bytes are all sums over this list.
/// The sharding must pass check_sharding.
[[nodiscard]] std::vector<Operator> forward_pass(const ModelSpec& spec, const Sharding& sharding);

/// Sums over forward_pass.
[[nodiscard]] double total_parameters(const ModelSpec& spec);
/// As total, with only the experts that one token uses.
[[nodiscard]] double active_parameters(const ModelSpec& spec);
[[nodiscard]] core::Bytes weight_bytes_per_rank(const ModelSpec& spec, const Sharding& sharding);
[[nodiscard]] core::BytesPerToken kv_bytes_per_token_per_rank(const ModelSpec& spec,
                                                              const Sharding& sharding);

/// Why this network cannot be cut so, or success: heads and widths must divide. The vocabulary need
/// not: ranks hold its ceiling.
[[nodiscard]] core::Result<void> check_sharding(const ModelSpec& spec, const Sharding& sharding);

/// The configuration document that a name means, with the keys of a Hugging Face config.json (a
/// nested text_config is lifted to the top), so that single values can be replaced before
/// model_from_node reads it. The name is a catalogue name or alias, a Hugging Face id of the
/// catalogue (with or without its organisation), all in any case, or else a path to a config.json
/// or its folder; beside that file, generation_config.json and hf_quant_config.json are read too.
/// Unknown names give the nearest.
[[nodiscard]] core::Result<core::Node> find_model_document(const std::string& name);
/// The facts in such a document. What is not understood is refused by name; keys of a published
/// config.json that say nothing about size or speed are ignored, but a value whose location is
/// "command line" must be of use. `name` is what to call the network where the document does not
/// come from the catalogue.
[[nodiscard]] core::Result<ModelSpec> model_from_node(const core::Node& document,
                                                      const std::string& name);
/// Both: the network that a name means.
[[nodiscard]] core::Result<ModelSpec> find_model(const std::string& name);
/// A Hugging Face config.json or its folder.
[[nodiscard]] core::Result<ModelSpec> read_hf_config(const std::string& path);
/// Names in the catalogue, sorted.
[[nodiscard]] std::vector<std::string> catalogue_names();

}  // namespace ridgeline::model
