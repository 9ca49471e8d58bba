#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::model {

/// Collects the operators of a forward pass on one rank, folding those of equal name and shape.
class Pass {
 public:
  Pass(const ModelSpec& spec, const Sharding& sharding);

  void add(std::string_view name, std::int64_t calls, const Shape& shape);
  void add_layers(const LayerGroup& group);
  /// What all layers with a row of a table of their own share (LayerGroup::row_width).
  void add_row_projection();

  [[nodiscard]] std::vector<Operator> take() && { return std::move(operators_); }

 private:
  /// What a layer's parts have in common.
  struct Layers {
    const LayerGroup& group;
    LayerPrecision precision;
  };

  // pass_mixers.cpp
  void add_mixer(const Layers& layers);
  void add_attention(const Layers& layers);
  void add_latent(const Layers& layers, const LatentSpec& latent);
  void add_compressed(const Layers& layers, const CompressedSpec& compressed);
  void add_compressor(const Layers& layers, const CompressedSpec& compressed);
  void add_indexer(const Layers& layers, const SparseSpec& sparse);
  void add_recurrent(const Layers& layers, const RecurrentSpec& recurrent);
  void add_recurrent_inputs(const Layers& layers, const RecurrentSpec& recurrent);
  void add_norm(std::string_view name, std::int64_t calls, std::int64_t width);
  /// vLLM replicates KV heads when there are fewer of them than ranks.
  [[nodiscard]] std::int64_t kv_heads(const AttentionSpec& attention) const;
  /// Rotary and cache-write traffic of a token in elements.
  [[nodiscard]] std::int64_t mixer_width(const LayerGroup& group) const;

  // pass.cpp
  void add_gated(std::string_view gate_up,
                 std::string_view down,
                 const Layers& layers,
                 std::int64_t width,
                 bool gated,
                 DType weights);
  /// Both give the activated width that the element-wise kernels see.
  std::int64_t add_ffn(const Layers& layers, const DenseFfn& ffn);
  std::int64_t add_ffn(const Layers& layers, const MoeFfn& ffn);
  void add_experts(const Layers& layers, const MoeFfn& ffn);
  void add_rows(const LayerGroup& group);
  void add_all_to_all(std::string_view name, const Layers& layers, const MoeFfn& ffn);
  void add_all_reduce(std::int64_t calls);

  const ModelSpec& spec_;
  Sharding sharding_;
  std::int64_t ranks_;
  std::vector<Operator> operators_;
};

/// The formats of a group's parts: its own, or the network's.
[[nodiscard]] LayerPrecision layer_precision(const ModelSpec& spec, const LayerGroup& group);

}  // namespace ridgeline::model
