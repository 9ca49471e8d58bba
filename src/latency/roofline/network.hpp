#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"
#include "core/units.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::latency::roofline {

/// What V0 to V2 know of a network: one shape of dense layers, one number of bytes per value. The
/// counts are doubles because every formula is one of doubles.
struct Network {
  double layers = 0.0;
  double hidden = 0.0;
  double heads = 0.0;
  double kv_heads = 0.0;
  double head_dim = 0.0;  ///< hidden / heads in whole numbers, whatever the network's own is.
  double width = 0.0;     ///< Width of the gated feed-forward network.
  double vocab = 0.0;
  double bytes = 2.0;  ///< Per weight, KV value and activation.

  /// Projections of attention and feed-forward network; neither embeddings nor lm_head nor norms.
  [[nodiscard]] core::Bytes weight_bytes() const;
  /// Keys and values of one token over all layers.
  [[nodiscard]] double kv_bytes_per_token() const;
  [[nodiscard]] double kv_width() const { return kv_heads * head_dim; }
  /// The byte model divides hidden by heads without dropping the rest, the FLOPs do not.
  [[nodiscard]] double exact_kv_width() const { return kv_heads * (hidden / heads); }
};

/// The whole network's shape, before it is cut over ranks. Refuses by name what the formulas know
/// nothing of: experts, weights or KV caches that are not of 16 bits, layers of several shapes.
[[nodiscard]] core::Result<Network> network_of(const model::ModelSpec& spec,
                                               const std::string& model);
/// What the formulas get wrong about a network that they accept.
[[nodiscard]] core::Warnings network_notes(const model::ModelSpec& spec, const Network& network);

/// Shares of the KV read and of the activations that are charged. Source: the published V1 (commit
/// 006cae82 of inference-sim), whose parameter search chose them; V2 kept them, V0 has none.
struct ByteFactors {
  double decode_kv = 0.80;
  double prefill_kv = 0.92;
  double decode_activations = 0.75;
  double prefill_activations = 0.85;

  static constexpr ByteFactors none() { return {1.0, 1.0, 1.0, 1.0}; }
  friend bool operator==(const ByteFactors&, const ByteFactors&) = default;
};

/// KV read, KV write and activations of requests with `new_tokens` new tokens each: `context` and
/// `new_tokens` may be sums over requests that are alike in whether they have one new token.
/// The factors of decode apply to one new token, also of a prompt's chunk. Bytes of the whole
/// network, apart from the weights.
[[nodiscard]] double dynamic_bytes(const Network& network,
                                   double context,
                                   double new_tokens,
                                   bool one_new_token,
                                   const ByteFactors& factors);

}  // namespace ridgeline::latency::roofline
