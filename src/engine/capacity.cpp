#include "engine/capacity.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "core/units.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "model/weight_format.hpp"

namespace ridgeline::engine {

namespace {

constexpr double kBytesOf16Bits = 2.0;
constexpr double kMib = 1024.0 * 1024.0;

/// Whether the network runs in vLLM's second model runner.
bool runs_second_runner(const model::ModelSpec& network, const Profile& profile) {
  if (profile.all_in_second_runner) {
    return true;
  }
  return profile.dense_in_second_runner && !model::has_experts(network) &&
         std::ranges::none_of(model::cache_groups(network, {}), [](const model::CacheGroup& group) {
           return group.bytes_per_token.value() == 0.0;
         });
}

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

/// Bytes that sampling so many rows holds at its peak.
double sampler_bytes(const model::ModelSpec& network,
                     const hardware::GpuSpec& gpu,
                     const MemoryOptions& options,
                     double rows) {
  const auto vocabulary = static_cast<double>(network.vocab_size);
  double per_row = kLogitBytes;
  double buffers = 0.0;
  if (options.profile.sorts_to_sample) {
    per_row += rows < kSegmentedRows ? kWholeSortBytes : kSegmentedSortBytes;
  } else if (!runs_second_runner(network, options.profile)) {
    per_row += kDrawBytes;
    buffers = options.profile.samples_by_triton ? kTritonRowBytes : 0.0;
  }
  return vocabulary * (per_row * rows + buffers * std::min(rows, static_cast<double>(gpu.num_sms)));
}

/// Peak of the profile run, in which max_num_batched_tokens tokens pass the network and
/// max_num_seqs rows are sampled: either inside a layer or in the sampler. Hidden states and
/// residuals of all tokens live through both.
core::Bytes activation_peak(const model::ModelSpec& network,
                            const hardware::GpuSpec& gpu,
                            const MemoryOptions& options) {
  const auto tokens = static_cast<double>(options.max_num_batched_tokens.value());
  const auto rows = std::min(static_cast<double>(options.max_num_seqs), tokens);
  const double kept = 2.0 * static_cast<double>(network.hidden_size) * kBytesOf16Bits * tokens;
  const double layer =
      ffn_elements(network, static_cast<double>(options.sharding.tensor_parallel_size)) *
      kBytesOf16Bits * tokens;
  return core::Bytes(kept + std::max(layer, sampler_bytes(network, gpu, options, rows)));
}

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// What padding adds to the MXFP4 experts that a rank holds of one stage.
core::Bytes padding_of_experts(const model::ModelSpec& stage, const model::Sharding& sharding) {
  const std::int64_t ranks = sharding.expert_ranks();
  core::Bytes added;
  for (const model::LayerGroup& layer : stage.layers) {
    const auto* moe = std::get_if<model::MoeFfn>(&layer.ffn);
    const model::DType format = layer.precision ? layer.precision->ffn : stage.precision.ffn;
    if (moe == nullptr || format != model::DType::kMxfp4) {
      continue;
    }
    const bool whole = sharding.expert_parallel;
    const std::int64_t experts = whole ? (moe->experts + ranks - 1) / ranks : moe->experts;
    const std::int64_t width = whole ? moe->expert_width : moe->expert_width / ranks;
    const std::int64_t hidden = moe->latent > 0 ? moe->latent : stage.hidden_size;
    const std::int64_t matrices = moe->gated ? 3 : 2;
    const std::int64_t elements =
        rounded_up(hidden, kMxfp4HiddenTile) * rounded_up(width, kMxfp4WidthTile) - hidden * width;
    added += core::Bytes(static_cast<double>(layer.count * experts * matrices * elements) *
                         model::bytes_per_element(format));
  }
  return added;
}

/// Padding of the experts in the stage where it is most.
core::Bytes expert_padding(const model::ModelSpec& network, const model::Sharding& sharding) {
  core::Bytes most;
  for (const model::ModelSpec& stage :
       model::pipeline_stages(network, sharding.pipeline_parallel_size)) {
    most = std::max(most, padding_of_experts(stage, sharding));
  }
  return most;
}

/// MiB that the fused all-reduce takes at once between so many GPUs (vLLM's
/// `allreduce_rms_fusion.py`); 0 where it does not exist.
double fused_mib(const hardware::GpuSpec& gpu, std::int64_t ranks) {
  struct Limit {
    std::string_view architecture;
    std::int64_t ranks;
    double mib;
  };
  static constexpr std::array kLimits = {Limit{"hopper", 2, 64},
                                         Limit{"hopper", 4, 2},
                                         Limit{"hopper", 8, 0.5},
                                         Limit{"blackwell", 2, 64},
                                         Limit{"blackwell", 4, 32},
                                         Limit{"blackwell", 8, 1}};
  const auto* const found = std::ranges::find_if(kLimits, [&](const Limit& limit) {
    return gpu.has_nvlink && limit.architecture == gpu.architecture && limit.ranks == ranks;
  });
  return found == kLimits.end() ? 0.0 : found->mib;
}

/// What libraries take beside PyTorch's allocator. Stages alone add nothing: 0.07 GiB by the log of
/// three stages, where one GPU alone has 0.25 (0.19, H100).
core::Bytes non_torch_bytes(const model::ModelSpec& network,
                            const hardware::GpuSpec& gpu,
                            const MemoryOptions& options) {
  const model::Sharding& sharding = options.sharding;
  const std::int64_t ranks = sharding.tensor_parallel_size;
  core::Bytes bytes = core::gibibytes(options.profile.non_torch_gib);
  const bool shares_experts = sharding.data_parallel_size > 1 && model::has_experts(network);
  if (ranks > 1 || shares_experts) {
    bytes += core::gibibytes(kCommunicationGib);
  }
  const double mib = fused_mib(gpu, ranks);
  if (options.profile.fuses_all_reduce && mib > 0.0 && sharding.gpus() == ranks) {
    // A rank's part of every other rank's message, and three more for the one-shot kernel.
    constexpr double kCopies = 1.0 + 3.0;
    const double message = std::min(mib * kMib,
                                    static_cast<double>(options.max_num_batched_tokens.value()) *
                                        static_cast<double>(network.hidden_size) * kBytesOf16Bits);
    bytes += core::gibibytes(options.profile.fused_all_reduce_gib) +
             core::Bytes(kCopies * static_cast<double>(ranks) * message);
  }
  return bytes;
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
  const auto sizes = cuda_graph_sizes(options.profile,
                                      {.max_num_seqs = options.max_num_seqs,
                                       .max_num_batched_tokens = options.max_num_batched_tokens,
                                       .num_speculative_tokens = options.num_speculative_tokens,
                                       .draft_levels = options.draft_levels,
                                       .is_large_blackwell = options.is_large_blackwell,
                                       .is_gpt_oss = network.family == "gpt_oss",
                                       .largest = options.max_cudagraph_capture_size,
                                       .every_small_size = options.every_small_size});
  return core::Bytes(static_cast<double>(sizes.size()) * static_cast<double>(network.num_layers()) *
                     kGraphMibPerLayer * kMib);
}

/// The caches of one rank's layers by kind, and what one layer of each takes.
struct Caches {
  struct Part {
    CacheLayout layout;
    core::BytesPerToken bytes_per_token;  ///< All its layers.
    core::Bytes bytes_per_sequence;
  };
  std::vector<Part> parts;
  core::Bytes beside;  ///< Per sequence, of layers that keep all tokens compressed.
};

Caches caches_of(const model::ModelSpec& network, const model::Sharding& sharding) {
  Caches caches;
  for (const model::CacheGroup& group : model::cache_groups(network, sharding)) {
    CacheLayout layout{.layers = group.layers, .window = group.window};
    const bool is_state = group.bytes_per_token.value() == 0.0;
    if (is_state) {
      layout.kind = CacheLayout::Kind::kState;
    } else if (group.window > core::Tokens(0)) {
      layout.kind = CacheLayout::Kind::kWindow;
    } else {
      caches.beside += group.bytes_per_sequence;
    }
    const auto same =
        std::find_if(caches.parts.begin(), caches.parts.end(), [&](const Caches::Part& part) {
          return part.layout.kind == layout.kind && part.layout.window == layout.window;
        });
    if (same == caches.parts.end()) {
      caches.parts.push_back(
          {.layout = layout,
           .bytes_per_token = group.bytes_per_token,
           .bytes_per_sequence = is_state ? group.bytes_per_sequence : core::Bytes()});
      continue;
    }
    // An indexer's keys stand in the layers whose attention they serve.
    same->layout.layers = group.kind == "indexer" ? std::max(same->layout.layers, group.layers)
                                                  : same->layout.layers + group.layers;
    same->bytes_per_token += group.bytes_per_token;
    same->bytes_per_sequence += is_state ? group.bytes_per_sequence : core::Bytes();
  }
  return caches;
}

/// vLLM takes the layers of the rarest kind for a group's size, but all of the commonest where that
/// is less than 1.25 times as many (`_get_kv_cache_groups_uniform_page_size`).
std::int64_t layers_of_a_group(const std::vector<Caches::Part>& parts) {
  constexpr double kNearlyEqual = 1.25;
  std::int64_t fewest = parts.front().layout.layers;
  std::int64_t most = fewest;
  for (const Caches::Part& part : parts) {
    fewest = std::min(fewest, part.layout.layers);
    most = std::max(most, part.layout.layers);
  }
  return static_cast<double>(most) < kNearlyEqual * static_cast<double>(fewest) ? most : fewest;
}

/// How many times the tokens of the largest kind a block of the smallest kind holds. vLLM gives
/// that kind longer blocks (`unify_kv_cache_spec_page_size`); here all have them, and the larger
/// kinds more groups of fewer layers: as many bytes for a token.
std::int64_t tokens_that_fit(const std::vector<Caches::Part>& parts, core::BytesPerToken largest) {
  std::int64_t times = 1;
  for (const Caches::Part& part : parts) {
    if (part.bytes_per_token.value() > 0.0) {
      const core::BytesPerToken own =
          part.bytes_per_token / static_cast<double>(part.layout.layers);
      times = std::max(times, static_cast<std::int64_t>(std::floor(largest / own)));
    }
  }
  return times;
}

/// Divides the layers of the stage with the largest caches into groups.
void divide_cache(const model::ModelSpec& network, const MemoryOptions& options, MemoryPlan& plan) {
  model::Sharding stage_sharding = options.sharding;
  stage_sharding.pipeline_parallel_size = 1;
  plan.block_size = options.block_size;
  for (const model::ModelSpec& stage :
       model::pipeline_stages(network, options.sharding.pipeline_parallel_size)) {
    const Caches caches = caches_of(stage, stage_sharding);
    if (caches.parts.empty()) {
      continue;
    }
    const std::int64_t layers = layers_of_a_group(caches.parts);
    // A layer's bytes of one token, and of a state, where they are largest.
    core::BytesPerToken token;
    core::Bytes state;
    for (const Caches::Part& part : caches.parts) {
      const auto count = static_cast<double>(part.layout.layers);
      token = std::max(token, part.bytes_per_token / count);
      state = std::max(state, part.bytes_per_sequence / count);
    }
    // vLLM's HybridAttentionMambaModelConfig: blocks of a multiple of 16 tokens that a state fits
    // in.
    constexpr std::int64_t kAlignment = 16;
    core::Tokens block_size = options.block_size;
    if (state.value() > 0.0 && token.value() > 0.0) {
      const auto tokens = static_cast<std::int64_t>(
          std::ceil(state.value() / (static_cast<double>(kAlignment) * token.value())));
      block_size = std::max(block_size, core::Tokens(kAlignment * tokens));
    }
    core::Bytes block = state * static_cast<double>(layers);
    for (const Caches::Part& part : caches.parts) {
      block = std::max(block,
                       part.bytes_per_token * block_size * static_cast<double>(layers) /
                           static_cast<double>(part.layout.layers));
    }
    if (block <= plan.block) {
      continue;
    }
    plan.block = block;
    plan.block_size = block_size * tokens_that_fit(caches.parts, token);
    plan.sequence_state = caches.beside * static_cast<double>(options.max_num_seqs);
    plan.layouts.clear();
    for (const Caches::Part& part : caches.parts) {
      plan.layouts.push_back(part.layout);
      plan.layouts.back().groups = part.layout.kind == CacheLayout::Kind::kState
                                       ? (part.layout.layers + layers - 1) / layers
                                       : static_cast<std::int64_t>(std::ceil(
                                             part.bytes_per_token * plan.block_size / block));
    }
  }
  // A block of the scheduler is one of each rank's. Drafts keep all tokens on every rank.
  plan.block_size = plan.block_size * options.sharding.decode_context_parallel_size;
  if (options.draft != nullptr) {
    plan.block += model::kv_bytes_per_token_per_rank(*options.draft, options.draft_sharding) *
                  plan.block_size;
  }
}

}  // namespace

std::int64_t MemoryPlan::num_groups() const {
  std::int64_t groups = 0;
  for (const CacheLayout& layout : layouts) {
    groups += layout.groups;
  }
  return groups;
}

bool MemoryPlan::has_states() const {
  return std::ranges::any_of(
      layouts, [](const CacheLayout& layout) { return layout.kind == CacheLayout::Kind::kState; });
}

MemoryPlan plan_memory(const model::ModelSpec& network,
                       const hardware::GpuSpec& gpu,
                       const MemoryOptions& options) {
  const model::Sharding& sharding = options.sharding;
  MemoryPlan plan;
  plan.usable = gpu.usable_memory;
  plan.utilization = options.gpu_memory_utilization;
  plan.budget = plan.usable * plan.utilization;
  plan.expert_padding = expert_padding(network, sharding);
  plan.weights = model::weight_bytes_per_rank(network, sharding) + plan.expert_padding;
  if (options.draft != nullptr) {
    plan.weights += model::weight_bytes_per_rank(*options.draft, options.draft_sharding);
  }
  plan.weights = plan.weights - options.host_weights;
  plan.position_tables = position_tables(network);
  plan.activations = activation_peak(network, gpu, options);
  plan.non_torch = non_torch_bytes(network, gpu, options);
  plan.cuda_graphs = graph_bytes(network, options);
  // The second runner estimates none (`profile_cudagraph_memory`).
  plan.graphs_in_budget =
      options.profile.graphs_in_kv_budget && !runs_second_runner(network, options.profile);
  plan.reserve = plan.position_tables + plan.activations + plan.non_torch +
                 (plan.graphs_in_budget ? plan.cuda_graphs : core::Bytes(0));
  divide_cache(network, options, plan);
  plan.kv_cache =
      options.kv_cache.value_or(plan.budget - plan.weights - plan.reserve) - plan.sequence_state;
  if (plan.kv_cache > core::Bytes(0) && plan.block > core::Bytes(0)) {
    plan.num_gpu_blocks =
        core::Blocks(static_cast<std::int64_t>(std::floor(plan.kv_cache / plan.block)));
  }
  return plan;
}

std::int64_t blocks_of_request(const MemoryPlan& plan,
                               core::Tokens tokens,
                               core::Tokens in_flight) {
  const std::int64_t size = plan.block_size.value();
  const auto blocks_for = [size](std::int64_t count) { return (count + size - 1) / size; };
  std::int64_t blocks = 0;
  for (const CacheLayout& layout : plan.layouts) {
    std::int64_t each = blocks_for(tokens.value());
    if (layout.kind == CacheLayout::Kind::kState) {
      each = 1;
    } else if (layout.kind == CacheLayout::Kind::kWindow) {
      // SlidingWindowSpec.max_memory_usage_bytes: the window may begin inside a block.
      each = std::min(each, blocks_for(layout.window.value() - 1 + in_flight.value()) + 1);
    }
    blocks += each * layout.groups;
  }
  return blocks;
}

core::Tokens longest_request(const MemoryPlan& plan,
                             core::Blocks num_gpu_blocks,
                             core::Tokens max_num_batched_tokens,
                             core::Tokens longest) {
  std::int64_t fits = 0;
  std::int64_t too_long = longest.value() + 1;
  while (fits + 1 < too_long) {
    const std::int64_t middle = fits + (too_long - fits) / 2;
    const bool room = blocks_of_request(plan, core::Tokens(middle), max_num_batched_tokens) <
                      num_gpu_blocks.value();
    (room ? fits : too_long) = middle;
  }
  return core::Tokens(fits);
}

bool has_room_for_states(const MemoryPlan& plan,
                         core::Blocks num_gpu_blocks,
                         const MemoryOptions& options) {
  return !options.profile.needs_block_per_sequence || !options.whole_graphs || !plan.has_states() ||
         options.max_num_seqs <= num_gpu_blocks.value();
}

std::vector<CacheGroup> engine_cache_groups(const MemoryPlan& plan, bool keeps_states) {
  std::vector<CacheGroup> groups;
  for (const CacheLayout& layout : plan.layouts) {
    CacheGroup group;
    if (layout.kind == CacheLayout::Kind::kWindow) {
      group.sliding_window = layout.window;
    } else if (layout.kind == CacheLayout::Kind::kState) {
      group = {.sliding_window = core::Tokens(keeps_states ? 2 : 1), .keeps_states = keeps_states};
    }
    groups.insert(groups.end(), static_cast<std::size_t>(layout.groups), group);
  }
  if (groups.empty()) {
    groups.emplace_back();
  }
  return groups;
}

}  // namespace ridgeline::engine
