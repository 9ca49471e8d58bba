#include "engine/capacity.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <variant>

#include "core/units.hpp"
#include "engine/profiles.hpp"
#include "hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::engine {

namespace {

constexpr double kBytesOf16Bits = 2.0;

/// Elements per token that one layer's feed-forward part holds at once on a rank: gate and up, and
/// their product; in a mixture for each expert that the token uses, with what comes out of it.
double ffn_elements(const model::ModelSpec& network, double ranks) {
  double most = 0.0;
  for (const auto& layer : network.layers) {
    double elements = 0.0;
    constexpr double kGateUpProduct = 3.0;
    if (const auto* dense = std::get_if<model::DenseFfn>(&layer.ffn)) {
      elements = kGateUpProduct * static_cast<double>(dense->width) / ranks;
    } else if (const auto* mixture = std::get_if<model::MoeFfn>(&layer.ffn)) {
      const auto widths = static_cast<double>(mixture->experts_per_token * mixture->expert_width +
                                              mixture->shared_width);
      elements = kGateUpProduct * widths / ranks +
                 static_cast<double>(mixture->experts_per_token * network.hidden_size);
    }
    most = std::max(most, elements);
  }
  return most;
}

/// Peak of the profile run, in which max_num_batched_tokens tokens pass the network and
/// max_num_seqs rows are sampled: either inside a layer or in the sampler. Hidden states and
/// residuals of all tokens live through both.
core::Bytes activation_peak(const model::ModelSpec& network, const MemoryOptions& options) {
  const auto tokens = static_cast<double>(options.max_num_batched_tokens.value());
  const auto rows = std::min(static_cast<double>(options.max_num_seqs), tokens);
  const double kept = 2.0 * static_cast<double>(network.hidden_size) * kBytesOf16Bits * tokens;
  const double layer =
      ffn_elements(network, static_cast<double>(options.sharding.tensor_parallel_size)) *
      kBytesOf16Bits * tokens;
  const double sampler = kSamplerBytesPerLogit * rows * static_cast<double>(network.vocab_size);
  return core::Bytes(kept + std::max(layer, sampler));
}

core::Bytes position_tables(const model::ModelSpec& network) {
  // One table of sines and cosines for all layers, a head wide, at the network's own length.
  const auto width = static_cast<double>(network.layers.front().attention.head_dim);
  return core::Bytes(static_cast<double>(network.max_position.value()) * width * kBytesOf16Bits);
}

core::Bytes graph_bytes(const model::ModelSpec& network, const MemoryOptions& options) {
  if (options.enforce_eager) {
    return core::Bytes(0);
  }
  const auto sizes =
      cuda_graph_sizes(options.profile, options.max_num_seqs, options.max_num_batched_tokens);
  constexpr double kMib = 1024.0 * 1024.0;
  return core::Bytes(static_cast<double>(sizes.size()) * static_cast<double>(network.num_layers()) *
                     kGraphMibPerLayer * kMib);
}

}  // namespace

MemoryPlan plan_memory(const model::ModelSpec& network,
                       const hardware::GpuSpec& gpu,
                       const MemoryOptions& options) {
  const model::Sharding& sharding = options.sharding;
  MemoryPlan plan;
  plan.usable = gpu.usable_memory;
  plan.utilization = options.gpu_memory_utilization;
  plan.budget = plan.usable * plan.utilization;
  plan.weights = model::weight_bytes_per_rank(network, sharding);
  plan.position_tables = position_tables(network);
  plan.activations = activation_peak(network, options);
  plan.non_torch = core::gibibytes(kNonTorchGib + (sharding.gpus() > 1 ? kCommunicationGib : 0.0));
  plan.cuda_graphs = graph_bytes(network, options);
  plan.graphs_in_budget = options.profile.graphs_in_kv_budget;
  plan.reserve = plan.position_tables + plan.activations + plan.non_torch +
                 (plan.graphs_in_budget ? plan.cuda_graphs : core::Bytes(0));
  plan.kv_cache = plan.budget - plan.weights - plan.reserve;
  plan.block = model::kv_bytes_per_token_per_rank(network, sharding) * options.block_size;
  if (plan.kv_cache > core::Bytes(0) && plan.block > core::Bytes(0)) {
    plan.num_gpu_blocks =
        core::Blocks(static_cast<std::int64_t>(std::floor(plan.kv_cache / plan.block)));
  }
  plan.kv_tokens = core::Tokens(plan.num_gpu_blocks.value() * options.block_size.value());
  return plan;
}

std::int64_t smallest_fitting_tp(const model::ModelSpec& network,
                                 const hardware::GpuSpec& gpu,
                                 const MemoryOptions& options,
                                 core::Tokens tokens) {
  for (std::int64_t tp = 1; tp <= gpu.gpus_per_node; tp *= 2) {
    MemoryOptions candidate = options;
    candidate.sharding.tensor_parallel_size = tp;
    if (!model::check_sharding(network, candidate.sharding)) {
      continue;
    }
    // The null block holds no tokens.
    if (plan_memory(network, gpu, candidate).kv_tokens >= tokens + options.block_size) {
      return tp;
    }
  }
  return 0;
}

}  // namespace ridgeline::engine
