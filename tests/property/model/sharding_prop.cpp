#include <algorithm>
#include <cstdint>
#include <tuple>
#include <variant>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::model {
namespace {

std::int64_t pick(std::int64_t low, std::int64_t high) {
  return *rc::gen::inRange(low, high + 1);
}

struct Cut {
  ModelSpec spec;
  std::int64_t ranks = 1;
};

/// A network of two layer groups, one dense and one mixture, that `ranks` divide.
Cut divisible_network() {
  Cut cut;
  cut.ranks = std::int64_t{1} << pick(0, 4);
  AttentionSpec attention;
  attention.kv_heads = std::int64_t{1} << pick(0, 5);
  attention.heads = std::max(attention.kv_heads, cut.ranks) * pick(1, 3);
  attention.head_dim = pick(1, 64);
  attention.qkv_bias = *rc::gen::arbitrary<bool>();
  attention.output_bias = *rc::gen::arbitrary<bool>();
  attention.qk_norm = *rc::gen::arbitrary<bool>();
  cut.spec.hidden_size = pick(1, 200);
  cut.spec.vocab_size = pick(1, 1000);
  cut.spec.tied_embeddings = *rc::gen::arbitrary<bool>();
  cut.spec.layers = {{.count = pick(1, 5),
                      .attention = attention,
                      .ffn = DenseFfn{.width = cut.ranks * pick(1, 9)}},
                     {.count = pick(1, 5),
                      .attention = attention,
                      .ffn = MoeFfn{.experts = pick(2, 9),
                                    .experts_per_token = 2,
                                    .expert_width = cut.ranks * pick(1, 9),
                                    .shared_width = cut.ranks * pick(0, 3)}}};
  return cut;
}

/// What all ranks together hold more than one GPU would: copies of norms, routers and output
/// biases, copies of KV heads, and the rows that round the vocabulary up.
double copies(const Cut& cut) {
  const ModelSpec& spec = cut.spec;
  const auto hidden = static_cast<double>(spec.hidden_size);
  const auto others = static_cast<double>(cut.ranks - 1);
  double total = others * hidden;  // final norm
  for (const LayerGroup& group : spec.layers) {
    const AttentionSpec& attention = group.attention;
    double layer = 2 * others * hidden;
    layer += attention.qk_norm ? 2 * others * static_cast<double>(attention.head_dim) : 0;
    layer += attention.output_bias ? others * hidden : 0;
    const auto extra_heads =
        static_cast<double>(std::max(attention.kv_heads, cut.ranks) - attention.kv_heads);
    layer += 2 * extra_heads * static_cast<double>(attention.head_dim) *
             (hidden + (attention.qkv_bias ? 1 : 0));
    if (const auto* moe = std::get_if<MoeFfn>(&group.ffn)) {
      layer += others * hidden * static_cast<double>(moe->experts);
    }
    total += static_cast<double>(group.count) * layer;
  }
  const std::int64_t rounded = (spec.vocab_size + cut.ranks - 1) / cut.ranks * cut.ranks;
  const double matrices = spec.tied_embeddings ? 1 : 2;
  return total + matrices * hidden * static_cast<double>(rounded - spec.vocab_size);
}

double parameters_of_a_rank(const Cut& cut) {
  double total = 0;
  for (const Operator& op : forward_pass(cut.spec, {.tensor_parallel_size = cut.ranks})) {
    total += parameters(op);
  }
  return total;
}

// All counts stay far below 2^53, so the sums are exact and equality is meant.
RC_GTEST_PROP(Sharding, ConservesParameters, ()) {
  const Cut cut = divisible_network();
  RC_ASSERT(check_sharding(cut.spec, {.tensor_parallel_size = cut.ranks}).has_value());
  RC_ASSERT(static_cast<double>(cut.ranks) * parameters_of_a_rank(cut) ==
            total_parameters(cut.spec) + copies(cut));
}

/// FLOPs of one token at a context of 100, two per multiply-add, on one rank.
double flops_of_a_rank(const ModelSpec& spec, std::int64_t ranks) {
  constexpr std::int64_t kContext = 100;
  double total = 0;
  for (const Operator& op : forward_pass(spec, {.tensor_parallel_size = ranks})) {
    std::int64_t products = 0;
    if (const auto* gemm = std::get_if<Gemm>(&op.shape)) {
      products = gemm->k * gemm->n;
    } else if (const auto* attention = std::get_if<Attention>(&op.shape)) {
      products = attention->heads * (attention->head_dim + attention->values()) * kContext;
    } else if (const auto* experts = std::get_if<ExpertGemm>(&op.shape)) {
      products = experts->matrices * experts->hidden * experts->width * experts->experts_per_token;
    }
    total += 2.0 * static_cast<double>(op.calls * products);
  }
  return total;
}

/// What the ranks together compute more than one GPU would: routers, copies of KV heads, and the
/// rows that round the vocabulary up.
double repeated_flops(const Cut& cut) {
  double total = 0;
  for (const LayerGroup& group : cut.spec.layers) {
    const AttentionSpec& attention = group.attention;
    std::int64_t products = 2 * (std::max(attention.kv_heads, cut.ranks) - attention.kv_heads) *
                            attention.head_dim * cut.spec.hidden_size;
    if (const auto* moe = std::get_if<MoeFfn>(&group.ffn)) {
      products += (cut.ranks - 1) * cut.spec.hidden_size * moe->experts;
    }
    total += 2.0 * static_cast<double>(group.count * products);
  }
  const std::int64_t rounded = (cut.spec.vocab_size + cut.ranks - 1) / cut.ranks * cut.ranks;
  return total + 2.0 * static_cast<double>(cut.spec.hidden_size * (rounded - cut.spec.vocab_size));
}

RC_GTEST_PROP(Sharding, ConservesFlops, ()) {
  const Cut cut = divisible_network();
  RC_ASSERT(static_cast<double>(cut.ranks) * flops_of_a_rank(cut.spec, cut.ranks) ==
            flops_of_a_rank(cut.spec, 1) + repeated_flops(cut));
}

RC_GTEST_PROP(Sharding, KvCacheOfAllRanksHoldsEveryHeadOnceOrInWholeCopies, ()) {
  const Cut cut = divisible_network();
  const std::int64_t kv_heads = cut.spec.layers.front().attention.kv_heads;
  const auto held = static_cast<double>(std::max(kv_heads, cut.ranks));
  const double one = kv_bytes_per_token_per_rank(cut.spec, {}).value();
  const double each =
      kv_bytes_per_token_per_rank(cut.spec, {.tensor_parallel_size = cut.ranks}).value();
  RC_ASSERT(each * static_cast<double>(cut.ranks) * static_cast<double>(kv_heads) == one * held);
}

RC_GTEST_PROP(Sharding, TwoBytesAWeightWhateverTheCut, ()) {
  const Cut cut = divisible_network();
  RC_ASSERT(weight_bytes_per_rank(cut.spec, {.tensor_parallel_size = cut.ranks}).value() ==
            2 * parameters_of_a_rank(cut));
}

RC_GTEST_PROP(Sharding, ActiveIsTotalLessTheIdleExperts, ()) {
  const Cut cut = divisible_network();
  double idle = 0;
  for (const LayerGroup& group : cut.spec.layers) {
    if (const auto* moe = std::get_if<MoeFfn>(&group.ffn)) {
      idle += static_cast<double>(group.count * (moe->experts - moe->experts_per_token) * 3 *
                                  cut.spec.hidden_size * moe->expert_width);
    }
  }
  RC_ASSERT(active_parameters(cut.spec) + idle == total_parameters(cut.spec));
}

/// A size is accepted exactly when every count divides.
RC_GTEST_PROP(Sharding, AcceptsWhatDividesAndNothingElse, ()) {
  Cut cut = divisible_network();
  cut.ranks = pick(1, 40);
  bool divides = true;
  for (const LayerGroup& group : cut.spec.layers) {
    const std::int64_t kv_heads = group.attention.kv_heads;
    divides &= group.attention.heads % cut.ranks == 0;
    divides &= kv_heads % cut.ranks == 0 || cut.ranks % kv_heads == 0;
    if (const auto* moe = std::get_if<MoeFfn>(&group.ffn)) {
      divides &= moe->expert_width % cut.ranks == 0 && moe->shared_width % cut.ranks == 0;
    } else {
      divides &= std::get<DenseFfn>(group.ffn).width % cut.ranks == 0;
    }
  }
  RC_ASSERT(check_sharding(cut.spec, {.tensor_parallel_size = cut.ranks}).has_value() == divides);
}

}  // namespace
}  // namespace ridgeline::model
