#include <algorithm>
#include <cstdint>
#include <string_view>

#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "model/pass.hpp"

namespace ridgeline::model {

std::int64_t Pass::kv_heads(const AttentionSpec& attention) const {
  return std::max<std::int64_t>(1, attention.kv_heads / ranks_);
}

std::int64_t Pass::mixer_width(const LayerGroup& group) const {
  if (group.recurrent) {
    const RecurrentSpec& recurrent = *group.recurrent;
    const std::int64_t key_heads = std::max<std::int64_t>(1, recurrent.key_heads / ranks_);
    return (recurrent.heads / ranks_) * recurrent.value_dim + 2 * key_heads * recurrent.key_dim;
  }
  const AttentionSpec& attention = group.attention;
  if (attention.latent) {
    const LatentSpec& latent = *attention.latent;
    return attention.heads / ranks_ * (latent.nope_dim + latent.rope_dim) + latent.kv_rank +
           latent.rope_dim;
  }
  if (attention.compressed) {
    return (attention.heads / ranks_ + 1) * attention.head_dim;
  }
  const bool writes = attention.heads > 0 && !attention.earlier_cache;
  const std::int64_t kv = writes ? kv_heads(attention) : 0;
  return (attention.heads / ranks_ + kv) * attention.head_dim + kv * attention.values();
}

void Pass::add_mixer(const Layers& layers) {
  const LayerGroup& group = layers.group;
  if (group.recurrent) {
    add_recurrent(layers, *group.recurrent);
  } else if (group.attention.latent) {
    add_latent(layers, *group.attention.latent);
  } else if (group.attention.compressed) {
    add_compressed(layers, *group.attention.compressed);
  } else if (group.attention.heads > 0) {
    add_attention(layers);
  }
}

void Pass::add_attention(const Layers& layers) {
  const AttentionSpec& attention = layers.group.attention;
  const std::int64_t count = layers.group.count;
  const std::int64_t heads = attention.heads / ranks_;
  const std::int64_t kv = kv_heads(attention);
  const std::int64_t queries = heads * attention.head_dim * (attention.output_gate ? 2 : 1);
  const bool projects = !attention.earlier_cache;
  const std::int64_t keys = projects ? kv * attention.head_dim : 0;
  const std::int64_t values = projects && !attention.values_are_keys ? kv * attention.values() : 0;
  add("qkv_proj",
      count,
      Gemm{.k = spec_.hidden_size,
           .n = queries + keys + values,
           .weights = layers.precision.mixer_in,
           .bias = attention.qkv_bias});
  if (attention.qk_norm && attention.qk_norm_across_heads) {
    add_norm("q_norm", count, heads * attention.head_dim);
    add_norm("k_norm", count, keys);
    // The variances of queries and keys are summed over the ranks: two FP32 values per token.
    constexpr std::int64_t kVariances = 2;
    constexpr std::int64_t k16BitPerFp32 = 2;
    add("qk_norm_exchange", count, AllReduce{.width = kVariances * k16BitPerFp32, .ranks = ranks_});
  } else if (attention.qk_norm) {
    add_norm("qk_norm", (projects ? 2 : 1) * count, attention.head_dim);
  }
  if (attention.head_gate) {
    add("head_gate",
        count,
        Gemm{.k = spec_.hidden_size, .n = heads, .weights = spec_.precision.embedding});
  }
  if (attention.sinks) {
    add_norm("sinks", count, heads);
  }
  if (attention.sparse) {
    add_indexer(layers, *attention.sparse);
  }
  add("attention",
      count,
      Attention{.heads = heads,
                .kv_heads = kv,
                .head_dim = attention.head_dim,
                .kv = spec_.precision.kv,
                .value_dim = attention.value_dim,
                .window = attention.window,
                .selected = attention.sparse ? attention.sparse->selected : 0,
                .frees_window = !attention.chunked,
                .has_cache = projects});
  add("o_proj",
      count,
      Gemm{.k = heads * attention.values(),
           .n = spec_.hidden_size,
           .weights = layers.precision.mixer_out,
           .bias = attention.output_bias});
}

void Pass::add_indexer(const Layers& layers, const SparseSpec& sparse) {
  if (!sparse.own_scores) {
    return;
  }
  const std::int64_t count = layers.group.count;
  const std::int64_t from = sparse.query_rank > 0 ? sparse.query_rank : spec_.hidden_size;
  // Held whole by every rank; the weights of the heads stay in 16 bits.
  add("indexer_q_proj",
      count,
      Gemm{.k = from, .n = sparse.heads * sparse.head_dim, .weights = layers.precision.mixer_in});
  add("indexer_k_proj",
      count,
      Gemm{.k = spec_.hidden_size,
           .n = sparse.head_dim + sparse.heads,
           .weights = spec_.precision.embedding});
  add_norm("indexer_norm", count, 2 * sparse.head_dim);
  if (sparse.pool > 1) {
    // A gate for each token and a bias for each place weigh the keys of a pool.
    add("indexer_pool",
        count,
        Gemm{.k = spec_.hidden_size, .n = sparse.head_dim, .weights = spec_.precision.embedding});
    add_norm("indexer_places", count, sparse.pool * sparse.head_dim);
  }
  add("indexer",
      count,
      Indexer{.heads = sparse.heads, .head_dim = sparse.head_dim, .ratio = sparse.pool});
}

void Pass::add_latent(const Layers& layers, const LatentSpec& latent) {
  const AttentionSpec& attention = layers.group.attention;
  const std::int64_t count = layers.group.count;
  const std::int64_t heads = attention.heads / ranks_;
  const DType weights = layers.precision.mixer_in;
  const std::int64_t queries = heads * (latent.nope_dim + latent.rope_dim);
  const std::int64_t cached = latent.kv_rank + latent.rope_dim;
  if (latent.query_rank > 0) {
    // vLLM fuses both ways down; every rank holds them whole.
    add("qkv_a_proj",
        count,
        Gemm{.k = spec_.hidden_size, .n = latent.query_rank + cached, .weights = weights});
    add_norm("q_a_norm", count, latent.query_rank);
    add("q_b_proj", count, Gemm{.k = latent.query_rank, .n = queries, .weights = weights});
  } else {
    add("q_proj", count, Gemm{.k = spec_.hidden_size, .n = queries, .weights = weights});
    add("kv_a_proj", count, Gemm{.k = spec_.hidden_size, .n = cached, .weights = weights});
  }
  add_norm("kv_a_norm", count, latent.kv_rank);
  if (attention.sparse) {
    add_indexer(layers, *attention.sparse);
  }
  if (attention.output_gate) {
    add("output_gate",
        count,
        Gemm{.k = spec_.hidden_size, .n = heads * latent.value_dim, .weights = weights});
  }
  // Rebuilds keys and values of new tokens; in a decode the same weights bring queries into the
  // latent space and outputs back, for as many products.
  add("kv_b_proj",
      count,
      Gemm{.k = latent.kv_rank,
           .n = heads * (latent.nope_dim + latent.value_dim),
           .weights = weights});
  add("attention",
      count,
      LatentAttention{.heads = heads,
                      .rank = latent.kv_rank,
                      .rope = latent.rope_dim,
                      .nope = latent.nope_dim,
                      .value = latent.value_dim,
                      .kv = spec_.precision.kv,
                      .selected = attention.sparse ? attention.sparse->selected : 0});
  add("o_proj",
      count,
      Gemm{.k = heads * latent.value_dim,
           .n = spec_.hidden_size,
           .weights = layers.precision.mixer_out});
}

void Pass::add_compressed(const Layers& layers, const CompressedSpec& compressed) {
  const AttentionSpec& attention = layers.group.attention;
  const std::int64_t count = layers.group.count;
  const std::int64_t heads = attention.heads / ranks_;
  const DType weights = layers.precision.mixer_in;
  add("qkv_a_proj",
      count,
      Gemm{.k = spec_.hidden_size,
           .n = compressed.query_rank + attention.head_dim,
           .weights = weights});
  add_norm("q_a_norm", count, compressed.query_rank);
  add_norm("kv_a_norm", count, attention.head_dim);
  add("q_b_proj",
      count,
      Gemm{.k = compressed.query_rank, .n = heads * attention.head_dim, .weights = weights});
  add_norm("sinks", count, heads);
  if (compressed.ratio > 0) {
    add_compressor(layers, compressed);
  }
  add("attention",
      count,
      CompressedAttention{.heads = heads,
                          .head_dim = attention.head_dim,
                          .window = compressed.window,
                          .ratio = compressed.ratio,
                          .selected = attention.sparse ? attention.sparse->selected : 0,
                          .kv = spec_.precision.kv});
  const std::int64_t groups = compressed.output_groups / ranks_;
  add("o_a_proj",
      count,
      Gemm{.k = attention.heads * attention.head_dim / compressed.output_groups,
           .n = groups * compressed.output_rank,
           .weights = layers.precision.mixer_out});
  add("o_b_proj",
      count,
      Gemm{.k = groups * compressed.output_rank,
           .n = spec_.hidden_size,
           .weights = layers.precision.mixer_out});
}

void Pass::add_compressor(const Layers& layers, const CompressedSpec& compressed) {
  const AttentionSpec& attention = layers.group.attention;
  const std::int64_t count = layers.group.count;
  // Values and gates, from overlapping pairs of windows where a scorer chooses among the entries.
  const std::int64_t overlap = attention.sparse ? 2 : 1;
  const auto compressor = [&](std::string_view name, std::int64_t width) {
    add(name,
        count,
        Gemm{.k = spec_.hidden_size,
             .n = 2 * overlap * width,
             .weights = spec_.precision.embedding});
    add_norm("compressor_norm", count, width + compressed.ratio * overlap * width);
  };
  compressor("compressor", attention.head_dim);
  if (!attention.sparse) {
    return;
  }
  compressor("indexer_compressor", attention.sparse->head_dim);
  add("indexer_q_proj",
      count,
      Gemm{.k = compressed.query_rank,
           .n = attention.sparse->heads * attention.sparse->head_dim,
           .weights = layers.precision.mixer_in});
  add("indexer_weights",
      count,
      Gemm{.k = spec_.hidden_size,
           .n = attention.sparse->heads,
           .weights = spec_.precision.embedding});
  add("indexer",
      count,
      Indexer{.heads = attention.sparse->heads,
              .head_dim = attention.sparse->head_dim,
              .ratio = compressed.ratio});
}

void Pass::add_recurrent_inputs(const Layers& layers, const RecurrentSpec& recurrent) {
  const std::int64_t hidden = spec_.hidden_size;
  const std::int64_t heads = recurrent.heads / ranks_;
  const std::int64_t inner = heads * recurrent.value_dim;
  const std::int64_t keys =
      2 * std::max<std::int64_t>(1, recurrent.key_heads / ranks_) * recurrent.key_dim;
  const DType weights = layers.precision.mixer_in;
  const auto project = [&](std::string_view name, std::int64_t k, std::int64_t n, DType format) {
    add(name, layers.group.count, Gemm{.k = k, .n = n, .weights = format});
  };
  switch (recurrent.kind) {
    // Queries, keys and values, and the gate of the output; per head two rates.
    case RecurrentSpec::Kind::kGatedDeltaNet:
      project("in_proj", hidden, inner + keys + inner, weights);
      project("in_proj_ba", hidden, 2 * heads, spec_.precision.embedding);
      break;
    // Per head one rate.
    case RecurrentSpec::Kind::kMamba2:
      project("in_proj", hidden, inner + keys + inner + heads, weights);
      break;
    // Queries, keys and values; the gate of the output and the decay of each channel, each by one
    // matrix or by two, the first of which every rank holds whole; per head one rate.
    case RecurrentSpec::Kind::kKimiDelta: {
      std::int64_t direct = 0;
      for (const std::int64_t rank : {recurrent.gate_rank, recurrent.decay_rank}) {
        if (rank == 0) {
          direct += inner;
        } else {
          project("gate_a_proj", hidden, rank, weights);
          project("gate_b_proj", rank, inner, weights);
        }
      }
      project("in_proj", hidden, inner + keys + direct, weights);
      project("in_proj_b", hidden, heads, spec_.precision.embedding);
      break;
    }
    // What is convolved, and a gate before and after.
    case RecurrentSpec::Kind::kShortConv:
      project("in_proj", hidden, 3 * inner, weights);
      break;
  }
}

void Pass::add_recurrent(const Layers& layers, const RecurrentSpec& recurrent) {
  const std::int64_t count = layers.group.count;
  const std::int64_t heads = recurrent.heads / ranks_;
  const std::int64_t key_heads = std::max<std::int64_t>(1, recurrent.key_heads / ranks_);
  const std::int64_t inner = heads * recurrent.value_dim;
  const std::int64_t channels = inner + 2 * key_heads * recurrent.key_dim;
  add_recurrent_inputs(layers, recurrent);
  add_norm("conv1d", count, channels * (recurrent.conv_kernel + (recurrent.conv_bias ? 1 : 0)));
  // Decay and step bias per head (Kimi's bias: per channel), and Mamba-2's skip; the norm is over a
  // head, or over all of them.
  switch (recurrent.kind) {
    case RecurrentSpec::Kind::kGatedDeltaNet:
      add_norm("state_rates", count, 2 * heads);
      add_norm("gated_norm", count, recurrent.value_dim);
      break;
    case RecurrentSpec::Kind::kMamba2:
      add_norm("state_rates", count, 3 * heads);
      add_norm("gated_norm", count, inner);
      break;
    case RecurrentSpec::Kind::kKimiDelta:
      add_norm("state_rates", count, heads + inner);
      add_norm("gated_norm", count, recurrent.value_dim);
      break;
    case RecurrentSpec::Kind::kShortConv:
      break;
  }
  add("recurrence",
      count,
      Recurrence{.heads = heads,
                 .key_dim = recurrent.key_dim,
                 .value_dim = recurrent.value_dim,
                 .conv_channels = channels,
                 .conv_kernel = recurrent.conv_kernel,
                 .state = recurrent.state});
  add("out_proj",
      count,
      Gemm{.k = inner, .n = spec_.hidden_size, .weights = layers.precision.mixer_out});
}

}  // namespace ridgeline::model
