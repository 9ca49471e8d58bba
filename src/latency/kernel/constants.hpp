#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/reader.hpp"

namespace ridgeline::latency::kernel {

/// Constants of one kernel family on one GPU; data/latency/kernel.yaml says what each means and
/// where it comes from. Efficiencies are shares of datasheet peaks and may exceed 1 by a little
/// where a fit says so.
/// How a library that picks its output tile by the number of rows alone computes: 64 x 64 up to 64
/// rows (64 x 16 for narrow outputs), 64 x 128 up to 128, 128 x 128 above, in clusters of two tiles
/// of rows (vLLM: csrc/quantization/w8a8/cutlass/c3x/scaled_mm_sm90_fp8_dispatch.cuh).
struct TilesByRows {
  double efficiency_up_to_64 = 1.0;  ///< Share of the dense peak, as the next two.
  /// Instead, from 17 to 32 rows, which measure slower than 48 and 64 do.
  std::optional<double> efficiency_17_to_32 = std::nullopt;
  double efficiency_up_to_128 = 1.0;
  double efficiency_large = 1.0;         ///< From 8,192 rows and a depth of 6,144: 256 x 128.
  double partial_cluster_penalty = 0.0;  ///< Share of the time; last cluster nearly empty.
};

struct GemmConstants {
  core::Seconds fixed;
  double bandwidth_efficiency = 1.0;
  core::Seconds ramp;
  core::Bytes ramp_bytes;
  double compute_efficiency = 1.0;
  double small_tile_penalty = 0.0;  ///< Share of the efficiency, not percent.
  double overlap_exponent = 1.0;
  core::Seconds split;
  double wave_smoothing = 0.0;      ///< 0: whole waves of tiles; 1: no rounding above one wave.
  double startup_depth = 0.0;       ///< Depth (k) that every tile pays for without having it.
  double reread_factor = 0.0;       ///< Activations read again per 128 columns, as traffic.
  double sustained_slowdown = 0.0;  ///< Share of the time that long kernels lose to power limits.
  double before_hopper = 1.0;  ///< Times bandwidth_efficiency, on such GPUs (is_before_hopper).
  std::optional<TilesByRows> tiles_by_rows =
      std::nullopt;  ///< Absent: the best tile and split of k.
};

/// FlashAttention 2, where one thread block works through a sequence and KV head. It splits the
/// context over several blocks only while they are few and query heads share their KV head
/// (num_splits_heuristic and mha_varlen_fwd of its flash_api.cpp). Calls whose query heads share
/// one are two kernels, each with its fixed part: the second puts parts and heads in their places.
struct UnsplitDecode {
  core::BytesPerSecond multiprocessor;  ///< What a multiprocessor streams at most.
};

struct DecodeAttentionConstants {
  core::Seconds floor;
  core::Seconds fixed;
  core::Seconds kv_head_wave;
  core::Seconds kv_head_wave_floor;  ///< Least time per wave, whatever it streams.
  double bandwidth_efficiency = 1.0;
  core::Seconds query_head_wave;  ///< Per (sequence * query head) / SM.
  /// Only where vLLM takes FlashAttention 2 (is_before_hopper); absent: every context is split.
  std::optional<UnsplitDecode> unsplit = std::nullopt;
  double before_hopper = 1.0;  ///< Times bandwidth_efficiency there.
  /// What a multiprocessor works through at most, of the cache's bytes; absent: as much as the
  /// memory delivers.
  std::optional<core::BytesPerSecond> multiprocessor = std::nullopt;
};

struct PrefillAttentionConstants {
  core::Seconds floor;
  double compute_efficiency = 1.0;
  double startup_tokens = 0.0;
  double overlap_exponent = 1.0;
  double straggler_weight = 0.0;
  double straggler_exponent = 1.0;  ///< Soft maximum of all work and the longest tile.
  core::Seconds fixed;
  double query_traffic_factor = 0.0;  ///< Times queries and outputs, of each new token.
  double kv_traffic_factor = 0.0;     ///< Times keys and values, of each new token.
  double traffic_exponent = 1.0;  ///< Exponent of the soft maximum of computing and that traffic.
};

/// vLLM's fused kernel works on tiles of 16 rows while a call has no more tokens than experts, and
/// of 64 above (get_default_config of fused_moe.py): small tiles waste fewer rows, at a smaller
/// share of the peak.
struct FewTokenTiles {
  double compute_efficiency = 1.0;
  double tile_rows = 0.0;
};

struct ExpertConstants {
  core::Seconds fixed;
  double bandwidth_efficiency = 1.0;
  double pair_traffic_factor = 0.0;
  double compute_efficiency = 1.0;
  double tile_rows = 0.0;
  double overlap_exponent = 1.0;
  core::Seconds per_expert;
  std::optional<FewTokenTiles> few_tokens = std::nullopt;  ///< Absent: no other tiles.
  /// For kernels that fit their tile to the rows of an expert (Marlin): wasted rows per expert, in
  /// tiles. Absent: tile_rows.
  std::optional<double> tile_share = std::nullopt;
  double before_hopper = 1.0;  ///< Times bandwidth_efficiency, on such GPUs (is_before_hopper).
  /// What a multiprocessor works through at most, of weights and of pair_traffic_factor's bytes,
  /// which then pass through memory once; absent: as much as the memory delivers.
  std::optional<core::BytesPerSecond> multiprocessor = std::nullopt;
  /// For kernels that multiply by instructions of a warp (mma.sync): multiply-adds of 16 bit per
  /// multiprocessor and clock that these give at most. Absent: the tensor cores' own.
  std::optional<double> warp_macs = std::nullopt;
};

/// A second way of NCCL, with more to start and less to pay for each byte; the faster one is taken.
struct LargeMessages {
  core::Seconds start;
  double efficiency = 1.0;     ///< Share of the link's bandwidth.
  double memory_passes = 0.0;  ///< Over the message, at the memory's bandwidth.
};

struct AllReduceConstants {
  core::Seconds one_shot;
  core::Seconds one_shot_rank;
  double one_shot_efficiency = 1.0;
  core::Seconds two_shot;
  /// More per rank above two, of calls that then move the message twice; absent: the ring's bytes,
  /// and ExchangeConstants::two_shot_floor.
  std::optional<core::Seconds> two_shot_rank = std::nullopt;
  double two_shot_efficiency = 1.0;
  core::Seconds nccl;
  double nccl_efficiency = 1.0;
  std::optional<LargeMessages> nccl_large = std::nullopt;
  /// Times NCCL's efficiencies above four ranks, where the switch adds up (NVLink SHARP); absent:
  /// it does not.
  std::optional<double> nccl_switch_gain = std::nullopt;
  /// The clock that the times hold at: other GPUs take them in clocks; absent: as they are.
  std::optional<double> clock_ghz = std::nullopt;
};

/// All-reduces of GPUs without NVLink.
struct PcieConstants {
  core::Seconds two_ranks;
  core::Seconds rank;  ///< More per rank above two.
  double two_ranks_efficiency = 1.0;
  double bus_efficiency_up_to_4_ranks = 1.0;
  double bus_efficiency_above_4_ranks = 1.0;
};

/// The column of one fitted GPU; what it lacks comes from the generic column, which has everything.
struct Column {
  std::string name;          ///< A catalogue name, or "generic".
  std::string architecture;  ///< As in hardware::GpuSpec, or "any".
  std::optional<GemmConstants> gemm_16bit;
  std::optional<GemmConstants> gemm_8bit;
  std::optional<GemmConstants> gemm_8bit_block;  ///< FP8 scaled in blocks; absent: gemm_8bit.
  /// DeepGEMM's FP8 in blocks; absent here and in the generic column: gemm_8bit_block.
  std::optional<GemmConstants> gemm_8bit_deep_gemm;
  std::optional<GemmConstants> gemm_nvfp4;  ///< Where the GPU multiplies NVFP4; absent: gemm_8bit.
  std::optional<DecodeAttentionConstants> decode_attention;
  /// For caches with 8 bits per element; absent here and in the generic column: decode_attention.
  std::optional<DecodeAttentionConstants> decode_attention_8bit;
  std::optional<PrefillAttentionConstants> prefill_attention;
  std::optional<ExpertConstants> experts_16bit_coarse;
  std::optional<ExpertConstants> experts_16bit_fine;
  std::optional<ExpertConstants> experts_8bit_coarse;
  std::optional<ExpertConstants> experts_8bit_fine;
  /// FP8 scaled in blocks, NVFP4, and MXFP4 weights with MXFP8 activations, of any number of
  /// experts, where the GPU multiplies them; absent: the 8-bit sets.
  std::optional<ExpertConstants> experts_8bit_block;
  std::optional<ExpertConstants> experts_nvfp4;
  std::optional<ExpertConstants> experts_mxfp4_mxfp8;
  /// Weights that are narrower than the products; absent here and in the generic column: the 16-bit
  /// sets.
  std::optional<ExpertConstants> experts_weight_only;
  std::optional<ExpertConstants> experts_mxfp4;  ///< MXFP4's own; absent: experts_weight_only.
  std::optional<AllReduceConstants> all_reduce;
  std::optional<PcieConstants> pcie;  ///< Absent: ExchangeConstants::pcie.
};

/// The one server that a constant was measured on.
struct MeasuredOn {
  std::string gpu;                ///< Catalogue name.
  std::int64_t most_experts = 0;  ///< Networks with more have other expert kernels.
  std::string server;             ///< In words, for warnings.
};

/// What holds on every GPU.
struct StepConstants {
  core::Seconds layer_launch_gap;
  core::Seconds norm;  ///< One norm between a mixer's GEMMs, with its launch.
  /// Per layer, where a CUDA graph is replayed in pieces because the step has prompt chunks.
  core::Seconds piecewise_layer_gap;
  /// Per layer with experts that quantise their activations, of a step with prompt chunks that no
  /// captured graph is large enough for.
  core::Seconds uncaptured_expert_gap;
  /// Where that gap was measured, and nowhere else it is charged; absent: everywhere.
  std::optional<MeasuredOn> uncaptured_expert_gap_on = std::nullopt;
  /// What the host takes to launch one kernel (launches()) of a step that no captured graph holds.
  /// The GPU's work hides it.
  core::Seconds host_launch;
  core::Seconds host_experts;  ///< More for the experts of a layer: the Python around them.
  /// Host time of a layer of decodes in pieces of a graph: attention and its metadata, and the
  /// pieces beside it.
  core::Seconds host_pieces;
  /// Small kernels beside an indexer's two and beside a recurrence's, of one layer and step: the
  /// formulas leave them out.
  core::Seconds indexer;
  core::Seconds recurrence;
  core::Seconds step_gap;
  double elementwise_traffic_factor = 1.0;
  double elementwise_bandwidth_efficiency = 1.0;
  /// For networks with few experts; for all where the set has no law of popularity (the first set).
  double streamed_expert_fraction = 1.0;
  bool has_popularity_law = false;
  /// ExpertChoice::popularity_shape of networks with many experts, where prompts are random tokens.
  double random_tokens_popularity_shape = 0.0;
  /// Times the rows that experts compute and move in the tables: of networks with many experts (but
  /// in Marlin), and in 16 bit of those with few (in 8 bit no server showed it).
  double uneven_experts = 1.0;
  double uneven_coarse_experts = 1.0;
  double uneven_marlin_experts = 1.0;  ///< For many experts in Marlin.
  /// Whether routers that one engine computes in FP32 are so here too; else they are in 16 bit, as
  /// others.
  bool fp32_routers = true;
  /// Choosing experts by FP32 scores in small kernels, of a layer and step, before one kernel did
  /// it all.
  core::Seconds unfused_routing;
  /// Kernels that a norm over the whole width of queries or keys is, whose sums are exchanged.
  std::int64_t wide_norm_kernels = 1;
  /// What an all-reduce that computes the norm after it spares: that kernel and its launch.
  core::Seconds fused_norm;
  /// What a product spares whose rows the kernel before it writes quantised: the kernel that would
  /// quantise them and its launch.
  core::Seconds fused_quantisation;
  /// Share of a token's experts that a verification has read for the token before it already.
  double verified_experts_in_common = 0.0;
};

struct SamplingConstants {
  core::Bytes bytes_per_logit;
  core::Seconds truncation;
  core::Seconds truncation_per_logit;
  core::Seconds penalty_per_logit;
  std::int64_t reference_sms = 1;
  double reference_clock_ghz = 1.0;
};

struct AttentionConstants {
  core::Tokens short_chunk;
  double prefill_bandwidth_efficiency = 1.0;
  double shared_context_saving = 0.0;  ///< Share of a shared token's time; 0 to below 1.
  /// Prompts' pairs pay for their exponentials, so that small heads gain less than their FLOPs.
  bool exponentials = false;
  /// Share of the peak that decodes' tiles reach where FlashAttention 2 takes them in one call with
  /// prompts; 0: such calls cost what they cost apart.
  double mixed_tile_efficiency = 0.0;
};

/// Which algorithm exchanges a message, and how GPUs without NVLink do.
struct ExchangeConstants {
  core::Bytes one_shot_up_to_4_ranks;
  core::Bytes one_shot_above_4_ranks;
  core::Bytes custom;  ///< Exclusive.
  core::Seconds two_shot_floor;
  core::Seconds two_shot_floor_rank;
  PcieConstants pcie;  ///< For GPUs whose column states none.
};

struct Constants {
  StepConstants step;
  SamplingConstants sampling;
  AttentionConstants attention;
  ExchangeConstants exchange;
  std::int64_t coarse_experts = 0;  ///< Most experts of a network that takes the coarse sets.
  std::vector<std::string> cut_down_compute;
  /// Share of the dense peak that kernels reach where tensor cores are all that holds them up;
  /// absent: GPUs of slower tensor cores take their column as it stands.
  std::optional<double> best_compute_share = std::nullopt;
  std::vector<Column>
      columns;  ///< At least "generic", complete; the others in the order of preference.
};

/// Reads the text of a kernel.yaml, strictly; `file` names it in errors.
[[nodiscard]] core::Result<Constants> read_constants(std::string_view text,
                                                     const std::string& file);

/// `base`, with the columns of a text that has nothing but `columns`, as `kernels fit` writes it.
/// They stand before the others, in their order; a set that one lacks comes from the column of the
/// same name in `base`.
[[nodiscard]] core::Result<Constants> read_overlay(std::string_view text,
                                                   const std::string& file,
                                                   const Constants& base);

/// The list at `columns` of a reader.
[[nodiscard]] std::vector<Column> read_columns(document::ObjectReader& root, core::Errors& errors);
/// What `column` lacks, from `other`.
[[nodiscard]] Column completed(Column column, const Column& other);
/// `base` with those columns before its own, as read_overlay().
[[nodiscard]] Constants overlay(const Constants& base, std::vector<Column> columns);

/// The constants compiled into the binary (data/latency/kernel.yaml), read once.
[[nodiscard]] const Constants& builtin_constants();

}  // namespace ridgeline::latency::kernel
