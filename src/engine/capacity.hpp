#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "domain/draft_level.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::engine {

/// Layers of one kind of cache. They form `groups` groups, each of which has a block table of its
/// own in the one pool.
struct CacheLayout {
  enum class Kind : std::uint8_t {
    kWhole,   ///< Every token of a sequence.
    kWindow,  ///< The last `window` tokens.
    kState,   ///< A state of fixed size: one block of a sequence.
  };
  Kind kind = Kind::kWhole;
  std::int64_t layers = 0;
  core::Tokens window;
  std::int64_t groups = 1;

  friend bool operator==(const CacheLayout&, const CacheLayout&) = default;
};

/// Where one GPU's memory goes, term by term, as vLLM divides it when it starts. Meaning, sources
/// and how well it meets published counts: docs/models/capacity.md.
struct MemoryPlan {
  core::Bytes usable;             ///< As the driver reports it.
  double utilization = 0;         ///< gpu_memory_utilization.
  core::Bytes budget;             ///< usable * utilization.
  core::Bytes weights;            ///< Weights of this rank, a drafting network's with it.
  core::Bytes expert_padding;     ///< Added to MXFP4 experts to fill a kernel's tiles; in weights.
  core::Bytes position_tables;    ///< Sines and cosines of every position.
  core::Bytes activations;        ///< Peak of vLLM's profile run.
  core::Bytes non_torch;          ///< What libraries take while the weights are loaded.
  core::Bytes cuda_graphs;        ///< Estimate of all captured graphs.
  bool graphs_in_budget = false;  ///< Up to 0.20 graphs come on top of the budget.
  core::Bytes reserve;            ///< What of the four terms above counts against the budget.
  /// Windows that layers keep beside a compressed cache, of max_num_seqs sequences.
  core::Bytes sequence_state;
  core::Bytes kv_cache;  ///< What is left; negative when the model does not fit.
  /// Kinds of cache, as vLLM's hybrid KV-cache manager divides layers (`kv_cache_utils.py`): groups
  /// of as many layers as the kind with the fewest has, and one pool of blocks that each hold
  /// block_size tokens of one group, or a state.
  std::vector<CacheLayout> layouts;
  /// Tokens of a block: the number asked for, or more, so that a state fits in a block or layers
  /// with small caches fill one.
  core::Tokens block_size;
  core::Bytes block;            ///< KV bytes of one block on this rank: a group's layers.
  core::Blocks num_gpu_blocks;  ///< Including the null block; 0 when nothing fits.

  /// Block tables of a sequence.
  [[nodiscard]] std::int64_t num_groups() const;
  [[nodiscard]] bool has_states() const;
};

struct MemoryOptions {
  model::Sharding sharding = {};
  /// A drafting network on the same GPUs, and how it is cut; or none.
  const model::ModelSpec* draft = nullptr;
  model::Sharding draft_sharding = {};
  core::Bytes host_weights = {};  ///< Weights of the rank that are not in the GPU's memory.
  double gpu_memory_utilization = 0.9;
  std::optional<core::Bytes> kv_cache = {};  ///< Instead of what that leaves.
  core::Tokens block_size{16};
  std::int64_t max_num_seqs = 256;
  core::Tokens max_num_batched_tokens{2048};
  bool enforce_eager = false;  ///< No CUDA graphs.
  bool whole_graphs = false;   ///< CUDA graphs hold decodes whole.
  std::int64_t num_speculative_tokens = 0;
  std::vector<domain::DraftLevel> draft_levels = {};  ///< EngineOptions::draft_levels.
  bool is_large_blackwell = false;                    ///< GraphLimits::is_large_blackwell.
  std::optional<std::int64_t> max_cudagraph_capture_size = {};
  bool every_small_size = false;  ///< GraphLimits::every_small_size.
  Profile profile = {};
};

/// Bytes per logit that sampling holds at its peak in the profile run, for max_num_seqs rows of the
/// whole vocabulary. All hold the logits in 16 bits and their copy in 32.
inline constexpr double kLogitBytes = 6.0;
/// A sort of so many rows or more (PyTorch's `SortStable.cu`, segmented): values, their 64-bit
/// indices twice, and the radix sort's second buffers of both: 38 bytes in all. Logs of vLLM 0.10.2
/// and 0.11 say 37.5 to 37.9 (docs/models/capacity.md).
inline constexpr double kSegmentedRows = 128.0;
inline constexpr double kSegmentedSortBytes = 4.0 + 8.0 + 8.0 + 12.0;
/// A sort of fewer rows, all at once: values and indices, twice an index with its row, keys, and
/// the radix sort's second buffers.
inline constexpr double kWholeSortBytes = 4.0 + 8.0 + 8.0 + 8.0 + 4.0 + 12.0;
/// Probabilities and the noise that they are divided by (`random_sample`), or FlashInfer's masked
/// logits and their probabilities: 14 bytes in all. Logs of vLLM 0.19 say 14.4, of which the
/// vocabulary that each SM of the Triton kernel keeps in 32 bits is 0.5.
inline constexpr double kDrawBytes = 8.0;
inline constexpr double kTritonRowBytes = 4.0;
/// Multiples to which MXFP4 experts are padded when they are loaded: the hidden size, and the width
/// of an expert on a rank (vLLM's `mxfp4.py`, what the Marlin kernels need).
inline constexpr std::int64_t kMxfp4HiddenTile = 256;
inline constexpr std::int64_t kMxfp4WidthTile = 128;
/// GiB that communication libraries take beside PyTorch's allocator on a rank that exchanges data
/// with others; what any GPU's libraries take is Profile::non_torch_gib. 0.42 by a log of 0.11 (two
/// H100); four with 0.25 agree (0.43).
inline constexpr double kCommunicationGib = 0.4;
/// MiB that one layer's share of one captured CUDA graph takes: capturing 67 sizes of a network of
/// 32 layers takes about half a GiB by vLLM's own log line.
inline constexpr double kGraphMibPerLayer = 0.25;

[[nodiscard]] MemoryPlan plan_memory(const model::ModelSpec& network,
                                     const hardware::GpuSpec& gpu,
                                     const MemoryOptions& options);

/// Blocks that a request of so many tokens holds at most, where a step computes `in_flight` of them
/// before a window moves on: max_num_batched_tokens while the prompt is computed, 1 in decode.
[[nodiscard]] std::int64_t blocks_of_request(const MemoryPlan& plan,
                                             core::Tokens tokens,
                                             core::Tokens in_flight);
/// The longest request, up to `longest`, that so many blocks hold; the null block holds nothing.
[[nodiscard]] core::Tokens longest_request(const MemoryPlan& plan,
                                           core::Blocks num_gpu_blocks,
                                           core::Tokens max_num_batched_tokens,
                                           core::Tokens longest);
/// Whether vLLM starts with so many blocks, as far as states go: where CUDA graphs hold decodes
/// whole, Profile::needs_block_per_sequence asks for a block per sequence.
[[nodiscard]] bool has_room_for_states(const MemoryPlan& plan,
                                       core::Blocks num_gpu_blocks,
                                       const MemoryOptions& options);
/// The plan's groups as the engine takes them. A state is what a window of one token keeps: one
/// block; where prefix caching keeps states, what one of two keeps.
[[nodiscard]] std::vector<CacheGroup> engine_cache_groups(const MemoryPlan& plan,
                                                          bool keeps_states = false);

}  // namespace ridgeline::engine
