#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/check.hpp"
#include "core/units.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::model {
namespace {

/// Before attention and before the feed-forward network.
constexpr std::int64_t kNormsPerLayer = 2;
/// After the output projection and after the feed-forward network, where ranks hold partial sums.
constexpr std::int64_t kExchangesPerLayer = 2;

bool quantises_activations(DType weights) {
  return weights == DType::kFp8 || weights == DType::kInt8;
}

/// Collects operators, folding those of equal name and shape.
class Pass {
 public:
  Pass(const ModelSpec& spec, std::int64_t ranks) : spec_(spec), ranks_(ranks) {}

  void add(std::string_view name, std::int64_t calls, Shape shape) {
    const auto same = std::find_if(operators_.begin(), operators_.end(), [&](const Operator& op) {
      return op.name == name && op.shape == shape;
    });
    if (same != operators_.end()) {
      same->calls += calls;
    } else {
      operators_.push_back({.name = std::string(name), .calls = calls, .shape = shape});
    }
  }

  void add_layers(const LayerGroup& group) {
    add("layer_norm", kNormsPerLayer * group.count, Norm{.width = spec_.hidden_size});
    add_attention(group);
    const std::int64_t activated =
        std::visit([&](const auto& ffn) { return add_ffn(group.count, ffn); }, group.ffn);
    if (ranks_ > 1) {
      add("all_reduce",
          kExchangesPerLayer * group.count,
          AllReduce{.width = spec_.hidden_size, .rows = Rows::kTokens, .ranks = ranks_});
    }
    add("elementwise",
        group.count,
        LayerElementwise{
            .hidden = spec_.hidden_size,
            .ffn_width = activated,
            .qkv_width = qkv_width(group.attention),
            .quantised_activations = quantises_activations(spec_.precision.attention) ||
                                     quantises_activations(spec_.precision.ffn)});
  }

  std::vector<Operator> take() && { return std::move(operators_); }

 private:
  /// vLLM replicates KV heads when there are fewer of them than ranks.
  [[nodiscard]] std::int64_t kv_heads(const AttentionSpec& attention) const {
    return std::max<std::int64_t>(1, attention.kv_heads / ranks_);
  }

  [[nodiscard]] std::int64_t qkv_width(const AttentionSpec& attention) const {
    return (attention.heads / ranks_ + 2 * kv_heads(attention)) * attention.head_dim;
  }

  void add_attention(const LayerGroup& group) {
    const AttentionSpec& attention = group.attention;
    const std::int64_t heads = attention.heads / ranks_;
    add("qkv_proj",
        group.count,
        Gemm{.k = spec_.hidden_size,
             .n = qkv_width(attention),
             .weights = spec_.precision.attention,
             .bias = attention.qkv_bias});
    if (attention.qk_norm) {
      add("qk_norm", 2 * group.count, Norm{.width = attention.head_dim});
    }
    add("attention",
        group.count,
        Attention{.heads = heads,
                  .kv_heads = kv_heads(attention),
                  .head_dim = attention.head_dim,
                  .kv = spec_.precision.kv});
    add("o_proj",
        group.count,
        Gemm{.k = heads * attention.head_dim,
             .n = spec_.hidden_size,
             .weights = spec_.precision.attention,
             .bias = attention.output_bias});
  }

  void add_gated(std::string_view gate_up,
                 std::string_view down,
                 std::int64_t count,
                 std::int64_t width) {
    add(gate_up,
        count,
        Gemm{.k = spec_.hidden_size, .n = 2 * width, .weights = spec_.precision.ffn});
    add(down, count, Gemm{.k = width, .n = spec_.hidden_size, .weights = spec_.precision.ffn});
  }

  /// Both give the activated width that the element-wise kernels see.
  std::int64_t add_ffn(std::int64_t count, const DenseFfn& ffn) {
    const std::int64_t width = ffn.width / ranks_;
    add_gated("gate_up_proj", "down_proj", count, width);
    return width;
  }

  std::int64_t add_ffn(std::int64_t count, const MoeFfn& ffn) {
    // The router is small, held whole by every rank, and never quantised.
    add("router",
        count,
        Gemm{.k = spec_.hidden_size, .n = ffn.experts, .weights = spec_.precision.embedding});
    add("experts",
        count,
        ExpertGemm{.experts = ffn.experts,
                   .experts_on_rank = ffn.experts,
                   .experts_per_token = ffn.experts_per_token,
                   .hidden = spec_.hidden_size,
                   .width = ffn.expert_width / ranks_,
                   .weights = spec_.precision.ffn});
    if (ffn.shared_width > 0) {
      add_gated("shared_gate_up_proj", "shared_down_proj", count, ffn.shared_width / ranks_);
    }
    return 0;
  }

  const ModelSpec& spec_;
  std::int64_t ranks_;
  std::vector<Operator> operators_;
};

std::vector<Operator> whole(const ModelSpec& spec) {
  return forward_pass(spec, Sharding{});
}

}  // namespace

std::int64_t ModelSpec::num_layers() const {
  std::int64_t count = 0;
  for (const LayerGroup& group : layers) {
    count += group.count;
  }
  return count;
}

std::vector<Operator> forward_pass(const ModelSpec& spec, const Sharding& sharding) {
  RIDGELINE_CHECK(check_sharding(spec, sharding).has_value(), "check_sharding comes first");
  const std::int64_t ranks = sharding.tensor_parallel_size;
  const std::int64_t vocab = (spec.vocab_size + ranks - 1) / ranks;
  const DType weights = spec.precision.embedding;
  Pass pass(spec, ranks);
  pass.add(
      "embedding", 1, Embedding{.vocab = vocab, .width = spec.hidden_size, .weights = weights});
  for (const LayerGroup& group : spec.layers) {
    pass.add_layers(group);
  }
  pass.add("final_norm", 1, Norm{.width = spec.hidden_size});
  pass.add("lm_head",
           1,
           Gemm{.k = spec.hidden_size,
                .n = vocab,
                .weights = weights,
                .rows = Rows::kSampled,
                .tied = spec.tied_embeddings});
  if (ranks > 1) {
    pass.add(
        "logits_exchange", 1, AllReduce{.width = vocab, .rows = Rows::kSampled, .ranks = ranks});
  }
  pass.add("sampling", 1, Sampling{.vocab = spec.vocab_size});
  return std::move(pass).take();
}

double total_parameters(const ModelSpec& spec) {
  double total = 0.0;
  for (const Operator& op : whole(spec)) {
    total += parameters(op);
  }
  return total;
}

double active_parameters(const ModelSpec& spec) {
  double total = 0.0;
  for (Operator& op : whole(spec)) {
    if (auto* experts = std::get_if<ExpertGemm>(&op.shape)) {
      experts->experts_on_rank = experts->experts_per_token;
    }
    total += parameters(op);
  }
  return total;
}

core::Bytes weight_bytes_per_rank(const ModelSpec& spec, const Sharding& sharding) {
  core::Bytes total;
  for (const Operator& op : forward_pass(spec, sharding)) {
    total += weight_bytes(op);
  }
  return total;
}

core::BytesPerToken kv_bytes_per_token_per_rank(const ModelSpec& spec, const Sharding& sharding) {
  core::BytesPerToken total;
  for (const Operator& op : forward_pass(spec, sharding)) {
    total += kv_bytes_per_token(op);
  }
  return total;
}

}  // namespace ridgeline::model
