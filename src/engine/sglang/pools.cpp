// The pools of SGLang's server and the defaults that hang on GPU and network
// (arg_groups/memory_hook.py, arg_groups/model_overrides, mem_cache/kv_cache_configurator.py,
// model_executor/pool_configurator.py of 0.5.23).
#include "engine/sglang/pools.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

#include "core/time.hpp"
#include "core/units.hpp"
#include "engine/engine_plan.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/settings.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::engine::sglang {
namespace {

constexpr double kMib = 1024.0 * 1024.0;
constexpr double kGib = 1024.0 * kMib;

/// Defaults by the GPU's memory (ServerArgs._handle_gpu_memory_settings).
struct MemoryClass {
  double below_gib;
  std::int64_t chunk;
  std::int64_t graphs;       ///< Largest decode graph with fewer than kWideRanks ranks ...
  std::int64_t graphs_wide;  ///< ... and with that many or more.
};
constexpr std::int64_t kWideRanks = 4;
constexpr auto kClasses = std::to_array<MemoryClass>({
    {.below_gib = 20, .chunk = 2048, .graphs = 8, .graphs_wide = 8},
    {.below_gib = 35, .chunk = 2048, .graphs = 24, .graphs_wide = 80},
    {.below_gib = 60, .chunk = 4096, .graphs = 32, .graphs_wide = 160},
    {.below_gib = 90, .chunk = 8192, .graphs = 256, .graphs_wide = 512},
    {.below_gib = 160, .chunk = 8192, .graphs = 256, .graphs_wide = 512},
    {.below_gib = std::numeric_limits<double>::max(),
     .chunk = 16'384,
     .graphs = 512,
     .graphs_wide = 512},
});
/// The second class from 0.5.19 on.
constexpr MemoryClass kLaterClass = {
    .below_gib = 35, .chunk = 4096, .graphs = 48, .graphs_wide = 160};

MemoryClass class_of(const PlanInputs& in) {
  const MemoryClass found = *std::ranges::find_if(kClasses, [&](const MemoryClass& one) {
    return core::as_gibibytes(in.gpu.memory) < one.below_gib;
  });
  return found.below_gib == kLaterClass.below_gib && rules_of(in.version).takes_more_below_35
             ? kLaterClass
             : found;
}

template <class Holds>
bool any_layer(const PlanInputs& in, const Holds& holds) {
  return std::ranges::any_of(in.network.layers, holds);
}

bool has_latent(const PlanInputs& in) {
  return any_layer(
      in, [](const model::LayerGroup& group) { return group.attention.latent.has_value(); });
}

/// Attention to chosen tokens over a latent cache (DeepSeek-V3.2, GLM-5).
bool has_sparse_latent(const PlanInputs& in) {
  return any_layer(in, [](const model::LayerGroup& group) {
    return group.attention.latent.has_value() && group.attention.sparse.has_value();
  });
}

/// Prefill steps with a graph (_generate_prefill_graph_sizes): up to the chunk, at ever wider
/// distances.
std::int64_t num_prefill_graphs(std::int64_t chunk) {
  struct Range {
    std::int64_t last;
    std::int64_t step;
  };
  constexpr auto kRanges =
      std::to_array<Range>({{.last = 32, .step = 4},
                            {.last = 256, .step = 16},
                            {.last = 512, .step = 32},
                            {.last = 1024, .step = 64},
                            {.last = 4096, .step = 256},
                            {.last = std::numeric_limits<std::int64_t>::max(), .step = 512}});
  std::int64_t count = 0;
  std::int64_t at = 0;
  for (const Range& range : kRanges) {
    const std::int64_t last = std::min(range.last, chunk);
    if (last > at) {
      count += (last - at) / range.step;
      at = last;
    }
  }
  return count;
}

/// Bytes of DeepSeek-V4's cache: a latent of 448 in 8 bits, 64 in 16 and 8 of scales; pages are
/// padded to whole multiples of 576 bytes (mem_cache/deepseek_v4_memory_pool.py).
constexpr std::int64_t kLatentBytes = 584;
constexpr std::int64_t kPadding = 576;
constexpr std::int64_t kIndexerBytes = 132;  ///< 128 in 8 bits, and a scale.
constexpr std::int64_t kCompressedPage = 256;

double bytes_of_entry(std::int64_t entries_of_page) {
  const std::int64_t page = entries_of_page * kLatentBytes;
  return static_cast<double>((page + kPadding - 1) / kPadding * kPadding) /
         static_cast<double>(entries_of_page);
}

/// Share of the full pool's tokens that the pool of windows has.
double window_ratio(const PlanInputs& in) {
  constexpr double kStandard = 0.8;
  constexpr double kCompressed = 0.1;
  if (in.settings.stated("swa_full_tokens_ratio") != nullptr) {
    return in.settings.number("swa_full_tokens_ratio");
  }
  return has_compressed_cache(in) ? kCompressed : kStandard;
}

/// Bytes of a token in all layers of a network with a compressed cache: its part of the entries
/// that stand for several tokens, and of the pool of windows that all layers have.
double compressed_bytes_per_token(const PlanInputs& in) {
  constexpr std::int64_t kIndexed = 4;  // Layers of that ratio choose among their entries.
  double bytes = 0;
  for (const model::LayerGroup& group : in.network.layers) {
    const auto layers = static_cast<double>(group.count);
    const std::int64_t ratio =
        group.attention.compressed ? group.attention.compressed->ratio : std::int64_t{0};
    if (ratio > 0) {
      const double entry = bytes_of_entry(std::max<std::int64_t>(kCompressedPage / ratio, 1)) +
                           (ratio == kIndexed ? kIndexerBytes : 0);
      bytes += layers * entry / static_cast<double>(ratio);
    }
    bytes += layers * window_ratio(in) * bytes_of_entry(kCompressedPage);
  }
  return bytes;
}

double bytes_per_token(const PlanInputs& in) {
  double bytes = 0;
  if (has_compressed_cache(in)) {
    bytes = compressed_bytes_per_token(in);
  } else {
    for (const model::CacheGroup& group : model::cache_groups(in.network, in.sharding)) {
      bytes += group.bytes_per_token.value() * (group.window.value() > 0 ? window_ratio(in) : 1.0);
    }
  }
  if (in.draft != nullptr) {  // Its pool has the same slots.
    bytes += has_compressed_cache(in)
                 ? bytes_of_entry(kCompressedPage) * window_ratio(in)
                 : model::kv_bytes_per_token_per_rank(*in.draft, in.draft_sharding).value();
  }
  return bytes;
}

/// Recurrent states have a pool of their own: mamba_full_memory_ratio parts of it to one of the KV
/// pool, a slot more than it gives; and where drafts are verified, one for each draft of a request
/// that runs.
void keep_states(const PlanInputs& in, const Options& options, Pool& pool) {
  const double each = model::state_bytes_per_rank(in.network, in.sharding).value();
  const double room = std::max(pool.bytes.value(), 0.0);
  const auto slots = static_cast<double>(slots_per_request(options));
  const double drafts =
      options.speculation.is_on() ? static_cast<double>(options.speculation.draft_tokens) : 0.0;
  const double parts = in.settings.number("mamba_full_memory_ratio");
  const bool has_limit = in.settings.stated("max_running_requests") != nullptr;
  const std::int64_t limit =
      has_limit
          ? std::max<std::int64_t>(in.settings.integer("max_running_requests") / ranks_of(in), 1)
          : std::numeric_limits<std::int64_t>::max();
  if (in.settings.stated("max_mamba_cache_size") != nullptr) {
    pool.states = in.settings.integer("max_mamba_cache_size") / ranks_of(in);
  } else if (options.disable_radix_cache && has_limit) {
    pool.states = limit;
  } else {
    pool.states = static_cast<std::int64_t>((room * parts / (1.0 + parts) - each * (1.0 + drafts)) /
                                            (each * (1.0 + drafts / slots)));
  }
  pool.states = std::max<std::int64_t>(*pool.states, 0);
  const auto held = static_cast<double>(*pool.states + 1);
  const double running =
      std::min(static_cast<double>(limit), std::floor(static_cast<double>(*pool.states) / slots));
  pool.bytes = pool.bytes - core::Bytes(each * (held + (drafts > 0 ? drafts * (running + 1) : 0)));
}

}  // namespace

std::int64_t ranks_of(const PlanInputs& in) {
  return in.settings.truth("enable_dp_attention") ? in.sharding.data_parallel_size : 1;
}

bool has_compressed_cache(const PlanInputs& in) {
  return any_layer(
      in, [](const model::LayerGroup& group) { return group.attention.compressed.has_value(); });
}

bool has_states(const PlanInputs& in) {
  return any_layer(in, [](const model::LayerGroup& group) { return group.recurrent.has_value(); });
}

std::int64_t whole_chunk(const PlanInputs& in) {
  return in.settings.stated("chunked_prefill_size") != nullptr
             ? in.settings.integer("chunked_prefill_size")
             : class_of(in).chunk;
}

std::int64_t page_of(const PlanInputs& in) {
  const std::int64_t standard = 1;
  constexpr std::int64_t kBlackwell = 64;  // Kernels of TensorRT-LLM, and those of sparse latents.
  if (in.settings.stated("page_size") != nullptr) {
    return in.settings.integer("page_size");
  }
  if (has_compressed_cache(in)) {
    return kCompressedPage;
  }
  if (has_sparse_latent(in)) {
    return kBlackwell;
  }
  if (!rules_of(in.version).sizes_by_kernel) {
    return standard;
  }
  const std::string backend = in.settings.stated("attention_backend") != nullptr
                                  ? in.settings.word("attention_backend")
                                  : std::string();
  if (!backend.empty()) {
    constexpr auto kPaged =
        std::to_array<std::string_view>({"trtllm_mha", "trtllm_mla", "cutedsl_mla", "flashmla"});
    constexpr std::int64_t kFa4Page = 128;
    return std::ranges::find(kPaged, backend) != kPaged.end() ? kBlackwell
           : backend == "fa4" && !has_latent(in)              ? kFa4Page
                                                              : standard;
  }
  const bool is_v3 = has_latent(in) && in.network.family == "deepseek_v3";
  const bool drafts_in_branches =
      in.drafts != nullptr && (in.drafts->branches > 1 || in.drafts->method == "ngram");
  const bool has_sinks =
      any_layer(in, [](const model::LayerGroup& group) { return group.attention.sinks; });
  const bool takes_trtllm = has_latent(in) ? is_v3 : !drafts_in_branches && !has_sinks;
  return in.gpu.architecture == "blackwell" && takes_trtllm && !has_states(in) ? kBlackwell
                                                                               : standard;
}

std::int64_t largest_graph(const PlanInputs& in, const Rules& rules) {
  if (in.settings.stated("cuda_graph_max_bs") != nullptr) {
    return in.settings.integer("cuda_graph_max_bs");
  }
  const MemoryClass standard = class_of(in);
  const bool is_wide = in.sharding.tensor_parallel_size * ranks_of(in) >= kWideRanks;
  const std::int64_t graphs = is_wide ? standard.graphs_wide : standard.graphs;
  return rules.graphs_follow_limit && in.settings.stated("max_running_requests") != nullptr
             ? std::min(graphs, in.settings.integer("max_running_requests"))
             : graphs;
}

std::optional<std::int64_t> default_limit(const PlanInputs& in) {
  constexpr std::int64_t kCompressed = 256;
  constexpr std::int64_t kWithDrafts = 48;
  return has_compressed_cache(in) ? std::optional(kCompressed)
         : in.drafts != nullptr   ? std::optional(kWithDrafts)
                                  : std::nullopt;
}

void take_state_strategy(const PlanInputs& in, Options& options) {
  if (!has_states(in) || options.disable_radix_cache) {
    return;
  }
  options.most_states_per_path = in.settings.integer("mamba_max_states_per_path");
  constexpr std::int64_t kChunk = 64;  // As the kernels of gated delta nets have it.
  const std::string word = in.settings.word("mamba_radix_cache_strategy");
  const bool has_buffers = word.starts_with("extra_buffer") ||
                           (word == "auto" && (options.overlap || options.page_size > 1));
  if (!has_buffers) {
    options.overlap = false;  // The server turns it off by itself.
    return;
  }
  options.state_buffers = options.overlap && word != "extra_buffer_lazy" ? 2 : 1;
  options.state_grid = std::lcm(kChunk, options.page_size);
  options.state_track = std::lcm(options.state_grid, in.settings.integer("mamba_track_interval"));
}

std::int64_t slots_per_request(const Options& options) {
  constexpr std::int64_t kWithTree = 3;
  return options.disable_radix_cache ? 1 : kWithTree + options.state_buffers;
}

double default_fraction(const PlanInputs& in, const Options& options, std::int64_t graphs) {
  constexpr double kBaseMib = 512;
  constexpr double kMibPerChunkToken = 1.5;
  constexpr double kLeastChunk = 2048;
  constexpr double kMibPerGraph = 2;
  constexpr double kRanksOfGib = 8;
  constexpr double kMibOfGib = 1024;
  constexpr double kLargeGib = 60;
  constexpr double kLeastReserveGib = 10;
  constexpr double kDigits = 1000;
  constexpr double kMibPerGraphOfRanks = 3;
  constexpr double kMibMoreOfRanks = 1.5;
  constexpr std::int64_t kManyGraphs = 300;
  constexpr double kMibPerPrefillGraph = 8;
  constexpr double kMibOfLatentPrefill = 1536;
  const double whole = in.gpu.memory.value() / kMib;
  const std::int64_t chunk =
      options.chunked_prefill_size > 0 ? whole_chunk(in) : options.max_prefill_tokens;
  double reserve = kBaseMib +
                   kMibPerChunkToken * std::max(static_cast<double>(chunk), kLeastChunk) +
                   static_cast<double>(in.sharding.gpus()) / kRanksOfGib * kMibOfGib +
                   kMibPerGraph * static_cast<double>(graphs);
  if (const std::int64_t ranks = ranks_of(in); ranks > 1) {
    const auto padded = static_cast<double>(graphs * ranks);
    reserve += padded * (kMibPerGraphOfRanks + (graphs > kManyGraphs ? kMibMoreOfRanks : 0));
  }
  if (options.rules.sizes_by_kernel) {
    reserve += has_latent(in)
                   ? kMibOfLatentPrefill
                   : kMibPerPrefillGraph * static_cast<double>(num_prefill_graphs(chunk));
  }
  if (whole > kLargeGib * kMibOfGib) {
    reserve = std::max(reserve, kLeastReserveGib * kMibOfGib);
  }
  return std::round((whole - reserve) / whole * kDigits) / kDigits;
}

Pool pool_of(const PlanInputs& in, const Options& options, double fraction) {
  constexpr double kLibrariesGib = 0.15;      // CUDA's own, as in vLLM's logs of 0.11
  constexpr double kOneMoreOfSeveral = 0.15;  // communication's: not measured with SGLang
  const bool communicates = in.sharding.gpus() > 1;
  const core::Bytes libraries((kLibrariesGib + (communicates ? kOneMoreOfSeveral : 0.0)) * kGib);
  Pool pool{.fraction = fraction, .free = in.gpu.usable_memory - libraries};
  pool.weights = model::weight_bytes_per_rank(in.network, in.sharding);
  if (in.draft != nullptr) {
    pool.weights = pool.weights + model::weight_bytes_per_rank(*in.draft, in.draft_sharding);
  }
  pool.bytes = pool.free * fraction - pool.weights;
  pool.per_token = bytes_per_token(in);
  if (has_states(in)) {
    keep_states(in, options, pool);
  }
  pool.holds = static_cast<std::int64_t>(std::max(pool.bytes.value(), 0.0) / pool.per_token);
  return pool;
}

void take_host_tier(const PlanInputs& in, const Pool& pool, Options& options) {
  if (!in.settings.truth("enable_hierarchical_cache")) {
    return;
  }
  constexpr double kGiga = 1e9;
  const double bytes = static_cast<double>(in.settings.integer("hicache_size")) * kGiga;
  const double tokens = bytes > 0 ? bytes / pool.per_token
                                  : in.settings.number("hicache_ratio") *
                                        static_cast<double>(options.max_total_num_tokens);
  const std::int64_t page = options.page_size;
  options.host.tokens = static_cast<std::int64_t>(tokens) / page * page;
  const std::string policy = in.settings.word("hicache_write_policy");
  options.host.writes = policy == "write_back"                ? HostWrites::kBack
                        : policy == "write_through_selective" ? HostWrites::kThroughSelective
                                                              : HostWrites::kThrough;
  const core::BytesPerSecond rate(in.settings.number("hicache_bandwidth") * kGiga);
  options.host.per_token = core::Duration::saturating(core::Bytes(pool.per_token) / rate);
  if (pool.states) {  // As many times those of the GPU as there are tokens.
    options.host.states = static_cast<std::int64_t>(
        static_cast<double>(*pool.states) * tokens /
        static_cast<double>(std::max<std::int64_t>(options.max_total_num_tokens, 1)));
    options.host.per_state =
        core::Duration::saturating(model::state_bytes_per_rank(in.network, in.sharding) / rate);
  }
}

}  // namespace ridgeline::engine::sglang
