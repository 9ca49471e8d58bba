#include "latency/roofline/network.hpp"

#include <cstdint>
#include <string>
#include <variant>

#include <fmt/core.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::roofline {
namespace {

/// BF16 and FP16.
constexpr double kBytesPerValue = 2.0;

core::Error cannot_price(const model::ModelSpec& spec,
                         const std::string& model,
                         const std::string& why) {
  return {.field = "latency.name",
          .message = fmt::format("{} cannot price {}: {}", model, spec.name, why),
          .where = {},
          .hint = "--latency kernel can"};
}

}  // namespace

core::Bytes Network::weight_bytes() const {
  const double attention = hidden * (hidden + 2.0 * exact_kv_width()) + hidden * hidden;
  return core::Bytes((attention + 3.0 * hidden * width) * layers * bytes);
}

double Network::kv_bytes_per_token() const {
  return 2.0 * layers * exact_kv_width() * bytes;
}

core::Result<Network> network_of(const model::ModelSpec& spec, const std::string& model) {
  if (spec.layers.size() != 1) {
    return core::fail(cannot_price(spec, model, "its layers are of several shapes"));
  }
  const model::LayerGroup& group = spec.layers.front();
  const auto* dense = std::get_if<model::DenseFfn>(&group.ffn);
  if (dense == nullptr) {
    return core::fail(
        cannot_price(spec, model, "it is a mixture of experts, of which the formulas know none"));
  }
  if (group.attention.heads == 0 || group.attention.latent || dense->width == 0 || !dense->gated) {
    return core::fail(cannot_price(
        spec, model, "its layers are not plain attention and a gated feed-forward network"));
  }
  const model::Precision& precision = spec.precision;
  for (const auto& [what, dtype] : {std::pair("attention weights", precision.attention),
                                    std::pair("feed-forward weights", precision.ffn),
                                    std::pair("KV cache", precision.kv)}) {
    if (model::bytes_per_element(dtype) != kBytesPerValue) {
      return core::fail(cannot_price(
          spec,
          model,
          fmt::format("its {} are {}, and the formulas count 16 bits and the BF16 peak",
                      what,
                      model::name(dtype))));
    }
  }
  const std::int64_t head_dim = spec.hidden_size / group.attention.heads;
  return Network{.layers = static_cast<double>(group.count),
                 .hidden = static_cast<double>(spec.hidden_size),
                 .heads = static_cast<double>(group.attention.heads),
                 .kv_heads = static_cast<double>(group.attention.kv_heads),
                 .head_dim = static_cast<double>(head_dim),
                 .width = static_cast<double>(dense->width),
                 .vocab = static_cast<double>(spec.vocab_size)};
}

core::Warnings network_notes(const model::ModelSpec& spec, const Network& network) {
  const std::int64_t own = spec.layers.front().attention.head_dim;
  if (static_cast<double>(own) == network.head_dim) {
    return {};
  }
  return {{.code = "W-roofline-head-dim",
           .message = fmt::format(
               "V0 to V2 take hidden_size / heads = {} for the head dimension; {} has {}",
               network.head_dim,
               spec.name,
               own),
           .hint = "--latency kernel reads the network's own"}};
}

double dynamic_bytes(const Network& network,
                     double context,
                     double new_tokens,
                     bool one_new_token,
                     const ByteFactors& factors) {
  const double read_factor = one_new_token ? factors.decode_kv : factors.prefill_kv;
  const double activation_factor =
      one_new_token ? factors.decode_activations : factors.prefill_activations;
  const double kv = network.kv_bytes_per_token();
  return kv * context * read_factor + kv * new_tokens +
         network.layers * network.hidden * network.bytes * new_tokens * activation_factor;
}

}  // namespace ridgeline::latency::roofline
