#include "model/pass.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::model {
namespace {

/// Gate, up and down; without a gate two.
constexpr std::int64_t kGatedMatrices = 3;

bool quantises_activations(DType weights) {
  switch (weights) {
    case DType::kFp8:
    case DType::kFp8Block:
    case DType::kInt8:
    case DType::kMxfp8:
    case DType::kNvfp4:
    case DType::kInt4With8Bit:
      return true;
    default:
      return false;
  }
}

std::int64_t shares(std::int64_t count, std::int64_t ranks) {
  return (count + ranks - 1) / ranks;
}

bool has_mixer(const LayerGroup& group) {
  return group.recurrent.has_value() || group.attention.heads > 0;
}

bool has_ffn(const LayerGroup& group) {
  const auto* dense = std::get_if<DenseFfn>(&group.ffn);
  return dense == nullptr || dense->width > 0;
}

}  // namespace

LayerPrecision layer_precision(const ModelSpec& spec, const LayerGroup& group) {
  return group.precision.value_or(LayerPrecision{.mixer_in = spec.precision.attention,
                                                 .mixer_out = spec.precision.attention,
                                                 .ffn = spec.precision.ffn,
                                                 .shared = spec.precision.ffn});
}

Pass::Pass(const ModelSpec& spec, const Sharding& sharding)
    : spec_(spec), sharding_(sharding), ranks_(sharding.tensor_parallel_size) {}

void Pass::add(std::string_view name, std::int64_t calls, const Shape& shape) {
  const auto same = std::find_if(operators_.begin(), operators_.end(), [&](const Operator& op) {
    return op.name == name && op.shape == shape;
  });
  if (same != operators_.end()) {
    same->calls += calls;
  } else {
    operators_.push_back({.name = std::string(name), .calls = calls, .shape = shape});
  }
}

void Pass::add_norm(std::string_view name, std::int64_t calls, std::int64_t width) {
  add(name, calls, Norm{.width = width});
}

void Pass::add_all_reduce(std::int64_t calls) {
  if (ranks_ > 1 && calls > 0) {
    add("all_reduce",
        calls,
        AllReduce{.width = spec_.hidden_size, .rows = Rows::kTokens, .ranks = ranks_});
  }
}

void Pass::add_layers(const LayerGroup& group) {
  const Layers layers{.group = group, .precision = layer_precision(spec_, group)};
  add("layer_norm", group.norms * group.count, Norm{.width = spec_.hidden_size});
  if (spec_.residual_streams > 1) {
    // Two mixings a layer: streams x hidden in; weights before, after and between them out
    // (hyper-connections, arXiv:2409.19606, with DeepSeek-V4's (2 + n) * n outputs).
    const std::int64_t streams = spec_.residual_streams;
    add("stream_mixing",
        2 * group.count,
        Gemm{.k = streams * spec_.hidden_size,
             .n = (2 + streams) * streams,
             .weights = DType::kFp32});
  }
  add_mixer(layers);
  const std::int64_t activated =
      std::visit([&](const auto& ffn) { return add_ffn(layers, ffn); }, group.ffn);
  add_all_reduce(group.count * ((has_mixer(group) ? 1 : 0) + (has_ffn(group) ? 1 : 0)));
  add_rows(group);
  add("elementwise",
      group.count,
      LayerElementwise{.hidden = spec_.hidden_size,
                       .ffn_width = activated,
                       .qkv_width = mixer_width(group),
                       .quantised_activations = quantises_activations(layers.precision.mixer_in) ||
                                                quantises_activations(layers.precision.ffn)});
}

void Pass::add_row_projection() {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  for (const LayerGroup& group : spec_.layers) {
    rows += group.count * group.row_width;
    width = std::max(width, group.row_width);
  }
  if (rows > 0) {
    add("row_proj",
        1,
        Gemm{.k = spec_.hidden_size,
             .n = shares(rows, ranks_),
             .weights = spec_.precision.embedding});
    add_norm("row_norm", 1, width);
  }
}

void Pass::add_rows(const LayerGroup& group) {
  if (group.row_width == 0) {
    return;
  }
  const DType weights = spec_.precision.embedding;
  add("layer_table",
      group.count,
      Embedding{
          .vocab = shares(spec_.vocab_size, ranks_), .width = group.row_width, .weights = weights});
  // Held whole by every rank.
  add("row_gate",
      group.count,
      Gemm{.k = spec_.hidden_size, .n = group.row_width, .weights = weights});
  add("row_out_proj",
      group.count,
      Gemm{.k = group.row_width, .n = spec_.hidden_size, .weights = weights});
}

void Pass::add_gated(std::string_view gate_up,
                     std::string_view down,
                     const Layers& layers,
                     std::int64_t width,
                     bool gated,
                     DType weights) {
  add(gate_up,
      layers.group.count,
      Gemm{.k = spec_.hidden_size, .n = (gated ? 2 : 1) * width, .weights = weights});
  add(down, layers.group.count, Gemm{.k = width, .n = spec_.hidden_size, .weights = weights});
}

std::int64_t Pass::add_ffn(const Layers& layers, const DenseFfn& ffn) {
  if (ffn.width == 0) {
    return 0;
  }
  const std::int64_t width = ffn.width / ranks_;
  add_gated(ffn.gated ? "gate_up_proj" : "up_proj",
            "down_proj",
            layers,
            width,
            ffn.gated,
            layers.precision.ffn);
  return width;
}

std::int64_t Pass::add_ffn(const Layers& layers, const MoeFfn& ffn) {
  const std::int64_t count = layers.group.count;
  // The router is small, held whole by every rank, and never quantised.
  add("router",
      count,
      Gemm{.k = spec_.hidden_size,
           .n = ffn.experts,
           .weights = ffn.router_fp32 ? DType::kFp32 : spec_.precision.embedding,
           .bias = ffn.router_bias});
  if (ffn.latent > 0) {
    add("latent_in_proj",
        count,
        Gemm{.k = spec_.hidden_size, .n = ffn.latent, .weights = layers.precision.shared});
  }
  add_all_to_all("dispatch", layers, ffn);
  add_experts(layers, ffn);
  add_all_to_all("combine", layers, ffn);
  if (ffn.latent > 0) {
    add("latent_out_proj",
        count,
        Gemm{.k = ffn.latent, .n = spec_.hidden_size, .weights = layers.precision.shared});
  }
  if (ffn.shared_width > 0) {
    add_gated(ffn.gated ? "shared_gate_up_proj" : "shared_up_proj",
              "shared_down_proj",
              layers,
              ffn.shared_width / ranks_,
              ffn.gated,
              layers.precision.shared);
  }
  if (ffn.shared_gate) {
    add_norm("shared_expert_gate", count, spec_.hidden_size);
  }
  return 0;
}

void Pass::add_experts(const Layers& layers, const MoeFfn& ffn) {
  const std::int64_t ranks = sharding_.expert_ranks();
  add("experts",
      layers.group.count,
      ExpertGemm{
          .experts = ffn.experts,
          .experts_on_rank = sharding_.expert_parallel ? shares(ffn.experts, ranks) : ffn.experts,
          .experts_per_token = ffn.experts_per_token,
          .hidden = ffn.latent > 0 ? ffn.latent : spec_.hidden_size,
          .width = sharding_.expert_parallel ? ffn.expert_width : ffn.expert_width / ranks,
          .weights = layers.precision.ffn,
          .matrices = ffn.gated ? kGatedMatrices : kGatedMatrices - 1,
          .bias = ffn.bias,
          .token_sources = sharding_.data_parallel_size});
}

void Pass::add_all_to_all(std::string_view name, const Layers& layers, const MoeFfn& ffn) {
  if (sharding_.data_parallel_size < 2) {
    return;  // every rank of a tensor-parallel group has the tokens already
  }
  // DeepEP sends what FP8 experts take as FP8; sums return in 16 bits.
  const DType experts = layers.precision.ffn;
  const bool fp8 = name == "dispatch" && (experts == DType::kFp8 || experts == DType::kFp8Block) &&
                   sharding_.all_to_all != AllToAllBackend::kAllGatherReduceScatter;
  add(name,
      layers.group.count,
      AllToAll{.width = ffn.latent > 0 ? ffn.latent : spec_.hidden_size,
               .bytes_per_element = bytes_per_element(fp8 ? DType::kFp8 : DType::kBf16),
               .ranks = sharding_.data_parallel_size,
               .experts = ffn.experts,
               .experts_per_token = ffn.experts_per_token,
               .backend = sharding_.all_to_all});
}

}  // namespace ridgeline::model
