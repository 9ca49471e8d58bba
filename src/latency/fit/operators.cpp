#include "latency/fit/operators.hpp"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <variant>
#include <vector>

#include "core/units.hpp"
#include "latency/fit/samples.hpp"
#include "latency/kernel/all_reduce.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/kernel/decode_attention.hpp"
#include "latency/kernel/expert_gemm.hpp"
#include "latency/kernel/gemm.hpp"
#include "latency/kernel/prefill_attention.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::fit {
namespace {

using core::microseconds;

/// How the tokens of a table choose experts.
kernel::ExpertChoice table_choice(const ExpertCall& call) {
  return {.is_published_table = true, .experts_hit = call.experts_hit};
}

constexpr double kMegabyte = 1e6;
constexpr double kGigabyte = 1e9;
/// Smaller weights are rare in the networks that are served, and launch-bound.
constexpr double kLeastWeightBytes = 8e6;
/// Steps have at most so many tokens.
constexpr std::int64_t kMostRows = 16384;
/// Weights and caches of other layers push an operator's own out of L2 inside a network; a table
/// measures the same call again and again, so that only what exceeds L2 well is streamed there.
constexpr double kBeyondL2 = 1.3;
/// GPUs whose L2 holds a usual weight matrix. On the others the rows with weights below it are few
/// and hardly differ.
constexpr double kLargeL2 = 64e6;
constexpr std::int64_t kHeadDim = 128;
/// Shorter prompts are launch-bound.
constexpr std::int64_t kLeastPrompt = 512;
/// In microseconds: no call of any table is shorter, and long ones alone tell little about it.
constexpr double kShortestPrefill = 8.0;
/// What the kernels of GPUs before Hopper stream of what Hopper's do. Where no table says, it stays
/// at the share that the others' end at: BF16 experts 0.89, decode attention 0.91.
constexpr double kBeforeHopper = 0.86;
/// Limits of what the model covers: tensor parallelism within a node, experts cut to parts that
/// fill a tile, and rows that the tensor cores need not pad.
constexpr std::int64_t kGpusPerNode = 8;
constexpr std::int64_t kLeastWidth = 128;
constexpr std::int64_t kAlignedWidth = 16;

std::int64_t coarse_experts() {
  return kernel::builtin_constants().coarse_experts;
}

/// Products of weights in that format; narrow formats only where the GPU multiplies them.
template <model::DType Weights>
bool selects_gemm(const Sample& sample, const hardware::GpuSpec& gpu) {
  const auto& call = std::get<GemmCall>(sample.call);
  const kernel::MatmulFormat format = kernel::matmul_format(call.weights, gpu);
  const bool wanted = call.weights == Weights && (Weights == model::DType::kBf16 || format.is_8bit);
  const double bytes =
      format.weight_bytes * kernel::real(call.shape.k) * kernel::real(call.shape.n);
  const bool warm = gpu.l2_cache.value() > kLargeL2 && bytes <= kBeyondL2 * gpu.l2_cache.value();
  return wanted && call.source == BlockGemmSource::kDefault && bytes >= kLeastWeightBytes &&
         call.shape.m <= kMostRows && !warm;
}

/// Rows of DeepGEMM hold the host's launches, without a CUDA graph: 77 to 101 us, whatever is
/// multiplied. Those well above show the kernel.
bool selects_deep_gemm(const Sample& sample, const hardware::GpuSpec& gpu) {
  constexpr core::Seconds kBeyondLaunches = microseconds(150.0);
  auto call = std::get<GemmCall>(sample.call);
  const bool is_deep_gemm = call.source == BlockGemmSource::kDeepGemm;
  call.source = BlockGemmSource::kDefault;
  return is_deep_gemm && sample.time > kBeyondLaunches &&
         selects_gemm<model::DType::kFp8Block>({.call = call, .time = sample.time}, gpu);
}

template <model::DType Cache>
bool selects_decode(const Sample& sample, const hardware::GpuSpec& gpu) {
  const auto& [call, shape] = std::get<DecodeAttentionCall>(sample.call);
  const core::Bytes cache = kernel::kv_bytes(shape) * kernel::real(call.context + call.tokens);
  return shape.kv == Cache && shape.head_dim == kHeadDim && cache > gpu.l2_cache * kBeyondL2;
}

bool selects_prefill(const Sample& sample, const hardware::GpuSpec& /*gpu*/) {
  const auto& [call, shape] = std::get<PrefillAttentionCall>(sample.call);
  return shape.kv == model::DType::kBf16 && shape.head_dim == kHeadDim &&
         call.new_tokens >= kLeastPrompt * call.chunks;
}

/// The rows that show experts as they are served.
bool selects_served_experts(const Sample& sample, const hardware::GpuSpec& gpu) {
  const auto& call = std::get<ExpertCall>(sample.call);
  const double bytes = kernel::expected_experts(call.shape, call.tokens, table_choice(call)) *
                       kernel::real(call.shape.matrices) * kernel::real(call.shape.hidden) *
                       kernel::real(call.shape.width) *
                       kernel::matmul_format(call.shape.weights, gpu).weight_bytes;
  const bool warm = bytes <= kBeyondL2 * gpu.l2_cache.value();
  // Few wide experts are served in parts; whole ones run an untuned kernel of vLLM's.
  const std::int64_t least_parts = call.shape.experts <= coarse_experts() ? 2 : 1;
  const bool is_served_part = !call.tensor_parallel || (*call.tensor_parallel >= least_parts &&
                                                        *call.tensor_parallel <= kGpusPerNode);
  return !warm && call.tokens <= kMostRows && call.shape.experts_on_rank == call.shape.experts &&
         is_served_part && call.shape.width >= kLeastWidth && call.shape.width % kAlignedWidth == 0;
}

template <bool Is8bit, bool IsCoarse>
bool selects_experts_of(const Sample& sample, const hardware::GpuSpec& gpu) {
  const auto& call = std::get<ExpertCall>(sample.call);
  const bool wanted = Is8bit ? call.shape.weights == model::DType::kFp8 &&
                                   kernel::matmul_format(call.shape.weights, gpu).is_8bit
                             : call.shape.weights == model::DType::kBf16;
  return wanted && IsCoarse == (call.shape.experts <= coarse_experts()) &&
         selects_served_experts(sample, gpu);
}

/// Experts of any number whose products are of that format.
template <model::DType Weights>
bool selects_narrow_experts(const Sample& sample, const hardware::GpuSpec& gpu) {
  const auto& call = std::get<ExpertCall>(sample.call);
  return call.shape.weights == Weights && !call.is_weight_only &&
         kernel::matmul_format(Weights, gpu).is_8bit && selects_served_experts(sample, gpu);
}

/// vLLM runs narrow weights in Marlin, but for MXFP4 from Hopper on, which is Triton's.
bool runs_in_triton(const Sample& sample, const hardware::GpuSpec& gpu) {
  return std::get<ExpertCall>(sample.call).shape.weights == model::DType::kMxfp4 &&
         !kernel::is_before_hopper(gpu);
}
bool selects_marlin(const Sample& sample, const hardware::GpuSpec& gpu) {
  const auto& call = std::get<ExpertCall>(sample.call);
  return call.is_weight_only && !runs_in_triton(sample, gpu) && selects_served_experts(sample, gpu);
}
/// GPUs that multiply 4-bit floats have a third kernel, for which the model has no set.
bool selects_triton_mxfp4(const Sample& sample, const hardware::GpuSpec& gpu) {
  return runs_in_triton(sample, gpu) && std::get<ExpertCall>(sample.call).is_weight_only &&
         gpu.peak_fp4.value() <= 0.0 && selects_served_experts(sample, gpu);
}

bool selects_all_reduce(const Sample& /*sample*/, const hardware::GpuSpec& gpu) {
  return gpu.has_nvlink;
}

// clang-format off
std::vector<Constant> common_gemm() {
  return {
      {"fixed_us", 0, 12, {3.5, 3.5}, [](Trial& t, double v) { t.gemm.fixed = microseconds(v); }},
      // No more than the datasheet's: a form that is not quite the library's asks for it.
      {"bandwidth_efficiency", 0.3, 1, {0.85, 0.85}, [](Trial& t, double v) { t.gemm.bandwidth_efficiency = v; }},
      {"ramp_us", 0, 40, {1, 1}, [](Trial& t, double v) { t.gemm.ramp = microseconds(v); }},
      {"ramp_mb", 200, 200, {200, 200}, [](Trial& t, double v) { t.gemm.ramp_bytes = core::Bytes(v * kMegabyte); }},
      {"startup_depth", 0, 2000, {200, 400}, [](Trial& t, double v) { t.gemm.startup_depth = v; }},
      {"sustained_slowdown", 0, 1, {0.05, 0.2}, [](Trial& t, double v) { t.gemm.sustained_slowdown = v; }},
  };
}

std::vector<Constant> joined(std::vector<Constant> first, const std::vector<Constant>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// Not of the column: see Trial::quantisation_passes.
Constant quantisation() {
  return {"quantisation_passes", 0, 4, {0.5, 0.1}, [](Trial& t, double v) { t.quantisation_passes = v; }, {}, false};
}

/// Not of the column: see Trial::padding.
Constant padding() {
  return {"padding_us", 0, 12, {3, 6}, [](Trial& t, double v) { t.padding = microseconds(v); }, {}, false};
}

/// On an L40S block FP8 begins late and fills the memory slowly.
std::vector<Constant> begun_late(std::vector<Constant> constants) {
  constexpr double kLatestStart = 30;
  constexpr double kLongestRamp = 150;
  for (Constant& constant : constants) {
    constant.highest = constant.key == "fixed_us"  ? kLatestStart
                       : constant.key == "ramp_us" ? kLongestRamp
                                                   : constant.highest;
  }
  return constants;
}

std::vector<Constant> best_tile_gemm() {
  return joined(common_gemm(), {
      {"compute_efficiency", 0.3, 1, {0.84, 0.9}, [](Trial& t, double v) { t.gemm.compute_efficiency = v; }},
      {"small_tile_penalty_percent", 0, 25, {1, 3}, [](Trial& t, double v) { t.gemm.small_tile_penalty = v / 100; }},
      {"overlap_exponent", 1, 20, {3.5, 2}, [](Trial& t, double v) { t.gemm.overlap_exponent = v; }},
      {"split_us", 0, 10, {3, 1}, [](Trial& t, double v) { t.gemm.split = microseconds(v); }},
      {"wave_smoothing", 0, 1, {0.2, 0.9}, [](Trial& t, double v) { t.gemm.wave_smoothing = v; }},
      {"reread_factor", 0, 1, {0.05, 0.02}, [](Trial& t, double v) { t.gemm.reread_factor = v; }},
  });
}

std::vector<Constant> common_gemm_of(const std::vector<Constant>& constants) {
  return joined(constants, {
      {"before_hopper", 0.7, 1.1, {kBeforeHopper, kBeforeHopper}, [](Trial& t, double v) { t.gemm.before_hopper = v; }},
  });
}

/// What short calls take is not in tables whose rows are long (selects_deep_gemm). InferSim's table
/// of the H800, the H100's chip, has the kernel alone from 16 rows on: fitted to it a call begins
/// with 1.4 us, and streams as below. The quantisation before it is a small kernel more, 2.7 us.
std::vector<Constant> deep_gemm_constants() {
  constexpr double kFixed = 4.1;
  constexpr double kStreamed = 1;
  constexpr double kRamp = 40;
  std::vector<Constant> constants = best_tile_gemm();
  std::erase_if(constants, [](const Constant& constant) {
    return constant.key == "fixed_us" || constant.key == "bandwidth_efficiency" ||
           constant.key == "ramp_us";
  });
  return joined({
      {"fixed_us", kFixed, kFixed, {kFixed, kFixed}, [](Trial& t, double v) { t.gemm.fixed = microseconds(v); }},
      {"bandwidth_efficiency", kStreamed, kStreamed, {kStreamed, kStreamed}, [](Trial& t, double v) { t.gemm.bandwidth_efficiency = v; }},
      {"ramp_us", kRamp, kRamp, {kRamp, kRamp}, [](Trial& t, double v) { t.gemm.ramp = microseconds(v); }},
  }, joined(constants, {quantisation()}));
}

kernel::TilesByRows& by_rows(Trial& trial) {
  if (!trial.gemm.tiles_by_rows) {
    trial.gemm.tiles_by_rows.emplace();
  }
  return *trial.gemm.tiles_by_rows;
}

std::vector<Constant> tiles_by_rows_gemm() {
  return joined(common_gemm(), {
      {"compute_efficiency", 0.2, 1, {0.7, 0.6}, [](Trial& t, double v) { t.gemm.compute_efficiency = v; }},
      {"small_tile_penalty_percent", 0, 0, {0, 0}, [](Trial& t, double v) { t.gemm.small_tile_penalty = v / 100; }},
      {"overlap_exponent", 1, 8, {3, 2}, [](Trial& t, double v) { t.gemm.overlap_exponent = v; }},
      {"split_us", 0, 0, {0, 0}, [](Trial& t, double v) { t.gemm.split = microseconds(v); }},
      {"tiles_by_rows.efficiency_up_to_64", 0.05, 1, {0.3, 0.2}, [](Trial& t, double v) { by_rows(t).efficiency_up_to_64 = v; }},
      {"tiles_by_rows.efficiency_17_to_32", 0.05, 1, {0.2, 0.15}, [](Trial& t, double v) { by_rows(t).efficiency_17_to_32 = v; }},
      {"tiles_by_rows.efficiency_up_to_128", 0.1, 1, {0.5, 0.4}, [](Trial& t, double v) { by_rows(t).efficiency_up_to_128 = v; }},
      {"tiles_by_rows.efficiency_large", 0.2, 1, {0.8, 0.7}, [](Trial& t, double v) { by_rows(t).efficiency_large = v; }},
      {"tiles_by_rows.partial_cluster_penalty", 0, 1, {0.05, 0.02}, [](Trial& t, double v) { by_rows(t).partial_cluster_penalty = v; }},
  });
}

std::vector<Constant> decode_constants() {
  return {
      // The shortest call has nothing to stream.
      {"fixed_us", 0, 40, {17, 10},
       [](Trial& t, double v) { t.decode_attention.fixed = t.decode_attention.floor = microseconds(v); }, "floor_us"},
      {"kv_head_wave_us", 0, 5, {0.6, 0.2}, [](Trial& t, double v) { t.decode_attention.kv_head_wave = microseconds(v); }},
      {"kv_head_wave_floor_us", 0, 20, {2, 4},
       [](Trial& t, double v) { t.decode_attention.kv_head_wave_floor = microseconds(v); }},
      {"bandwidth_efficiency", 0.3, 1.1, {0.9, 0.8}, [](Trial& t, double v) { t.decode_attention.bandwidth_efficiency = v; }},
      {"query_head_wave_us", 0, 5, {0.1, 0.02}, [](Trial& t, double v) { t.decode_attention.query_head_wave = microseconds(v); }},
  };
}

std::vector<Constant> bounded_decode_constants() {
  return joined(decode_constants(), {
      {"multiprocessor_gb_s", 5, 200, {25, 30},
       [](Trial& t, double v) { t.decode_attention.multiprocessor = core::BytesPerSecond(v * kGigabyte); }},
  });
}

std::vector<Constant> unsplit_decode_constants() {
  return joined(decode_constants(), {
      {"unsplit.multiprocessor_gb_s", 5, 200, {24, 30},
       [](Trial& t, double v) { t.decode_attention.unsplit = {.multiprocessor = core::BytesPerSecond(v * kGigabyte)}; }},
  });
}

std::vector<Constant> common_decode_constants() {
  return joined(unsplit_decode_constants(), {
      {"before_hopper", 0.7, 1.1, {kBeforeHopper, kBeforeHopper}, [](Trial& t, double v) { t.decode_attention.before_hopper = v; }},
  });
}

std::vector<Constant> prefill_constants() {
  return {
      {"floor_us", 0, 0, {0, 0}, [](Trial& t, double v) { t.prefill_attention.floor = microseconds(v); }},
      {"fixed_us", kShortestPrefill, 30, {10, 10}, [](Trial& t, double v) { t.prefill_attention.fixed = microseconds(v); }},
      {"compute_efficiency", 0.2, 1, {0.65, 0.6}, [](Trial& t, double v) { t.prefill_attention.compute_efficiency = v; }},
      {"startup_tokens", 0, 1000, {200, 20}, [](Trial& t, double v) { t.prefill_attention.startup_tokens = v; }},
      {"overlap_exponent", 1, 1, {1, 1}, [](Trial& t, double v) { t.prefill_attention.overlap_exponent = v; }},
      {"straggler_weight", 0, 3, {1, 1}, [](Trial& t, double v) { t.prefill_attention.straggler_weight = v; }},
      // Longest tiles start first: above 1, a part of the last one runs beside others.
      {"straggler_exponent", 1, 8, {2.2, 4}, [](Trial& t, double v) { t.prefill_attention.straggler_exponent = v; }},
      {"query_traffic_factor", 0, 6, {1, 1}, [](Trial& t, double v) { t.prefill_attention.query_traffic_factor = v; }},
      {"kv_traffic_factor", 0, 8, {1, 1}, [](Trial& t, double v) { t.prefill_attention.kv_traffic_factor = v; }},
      {"traffic_exponent", 1, 8, {1.2, 1.2}, [](Trial& t, double v) { t.prefill_attention.traffic_exponent = v; }},
  };
}

std::vector<Constant> expert_constants() {
  return {
      // The profiler's layers take 105 us more: a dozen kernels of PyTorch around the products.
      {"fixed_us", 0, 250, {25, 35}, [](Trial& t, double v) { t.experts.fixed = microseconds(v); }},
      {"bandwidth_efficiency", 0.2, 1.3, {0.9, 0.9}, [](Trial& t, double v) { t.experts.bandwidth_efficiency = v; }},
      {"pair_traffic_factor", 0, 20, {1, 4}, [](Trial& t, double v) { t.experts.pair_traffic_factor = v; }},
      {"compute_efficiency", 0.1, 1.2, {0.5, 0.8}, [](Trial& t, double v) { t.experts.compute_efficiency = v; }},
      {"tile_rows", 0, 256, {30, 10}, [](Trial& t, double v) { t.experts.tile_rows = v; }},
      {"overlap_exponent", 1, 16, {2, 4}, [](Trial& t, double v) { t.experts.overlap_exponent = v; }},
      {"expert_us", 0, 8, {0.1, 0.1}, [](Trial& t, double v) { t.experts.per_expert = microseconds(v); }},
  };
}

kernel::FewTokenTiles& few_tokens(Trial& trial) {
  if (!trial.experts.few_tokens) {
    trial.experts.few_tokens.emplace();
  }
  return *trial.experts.few_tokens;
}

std::vector<Constant> fine_expert_constants() {
  return joined(expert_constants(), {
      {"few_tokens.compute_efficiency", 0.02, 1, {0.15, 0.5}, [](Trial& t, double v) { few_tokens(t).compute_efficiency = v; }},
      {"few_tokens.tile_rows", 0, 16, {2, 12}, [](Trial& t, double v) { few_tokens(t).tile_rows = v; }},
  });
}

/// Constants of weights that every multiprocessor unpacks itself. What the memory would deliver does
/// not show where they bound it, and then stays near what other kernels stream.
std::vector<Constant> unpacking_constants() {
  std::vector<Constant> constants = expert_constants();
  std::erase_if(constants, [](const Constant& constant) {
    return constant.key == "tile_rows" || constant.key == "bandwidth_efficiency" ||
           constant.key == "fixed_us" || constant.key == "overlap_exponent";
  });
  return joined(constants, {
      {"fixed_us", 5, 60, {30, 45}, [](Trial& t, double v) { t.experts.fixed = microseconds(v); }},
      {"tile_rows", 0, 0, {0, 0}, [](Trial& t, double v) { t.experts.tile_rows = v; }},
      {"tile_share", 0, 2, {0.5, 1}, [](Trial& t, double v) { t.experts.tile_share = v; }},
      {"multiprocessor_gb_s", 5, 60, {25, 22},
       [](Trial& t, double v) { t.experts.multiprocessor = core::BytesPerSecond(v * kGigabyte); }},
  });
}

std::vector<Constant> marlin_constants() {
  // The A100's and Hopper's; Ada's tensor cores do half.
  constexpr double kWarpMacs = 1024;
  return joined(unpacking_constants(), {
      {"bandwidth_efficiency", 0.9, 1, {0.95, 0.9}, [](Trial& t, double v) { t.experts.bandwidth_efficiency = v; }},
      {"overlap_exponent", 2, 2, {2, 2}, [](Trial& t, double v) { t.experts.overlap_exponent = v; }},
      {"warp_macs", kWarpMacs, kWarpMacs, {kWarpMacs, kWarpMacs}, [](Trial& t, double v) { t.experts.warp_macs = v; }},
  });
}

std::vector<Constant> triton_mxfp4_constants() {
  return joined(unpacking_constants(), {
      {"bandwidth_efficiency", 0.95, 1, {0.95, 0.95}, [](Trial& t, double v) { t.experts.bandwidth_efficiency = v; }},
      {"overlap_exponent", 1, 8, {1.2, 2}, [](Trial& t, double v) { t.experts.overlap_exponent = v; }},
  });
}

std::vector<Constant> common_expert_constants() {
  return joined(fine_expert_constants(), {
      {"before_hopper", 0.7, 1.1, {kBeforeHopper, kBeforeHopper}, [](Trial& t, double v) { t.experts.before_hopper = v; }},
  });
}

kernel::LargeMessages& large_messages(Trial& trial) {
  if (!trial.all_reduce.nccl_large) {
    trial.all_reduce.nccl_large.emplace();
  }
  return *trial.all_reduce.nccl_large;
}

std::vector<Constant> all_reduce_constants() {
  return {
      {"one_shot_us", 0, 20, {4, 5}, [](Trial& t, double v) { t.all_reduce.one_shot = microseconds(v); }},
      {"one_shot_rank_us", 0, 5, {0.1, 0.05}, [](Trial& t, double v) { t.all_reduce.one_shot_rank = microseconds(v); }},
      {"one_shot_efficiency", 0.1, 1, {0.6, 0.5}, [](Trial& t, double v) { t.all_reduce.one_shot_efficiency = v; }},
      {"two_shot_us", 0, 40, {9, 12}, [](Trial& t, double v) { t.all_reduce.two_shot = microseconds(v); }},
      {"two_shot_rank_us", 0, 5, {0.5, 1}, [](Trial& t, double v) { t.all_reduce.two_shot_rank = microseconds(v); }},
      {"two_shot_efficiency", 0.1, 1.2, {0.7, 0.6}, [](Trial& t, double v) { t.all_reduce.two_shot_efficiency = v; }},
      {"nccl_us", 0, 100, {10, 30}, [](Trial& t, double v) { t.all_reduce.nccl = microseconds(v); }},
      {"nccl_efficiency", 0.1, 1, {0.6, 0.5}, [](Trial& t, double v) { t.all_reduce.nccl_efficiency = v; }},
      {"nccl_large.us", 0, 200, {50, 80}, [](Trial& t, double v) { large_messages(t).start = microseconds(v); }},
      {"nccl_large.efficiency", 0.1, 1, {0.8, 0.9}, [](Trial& t, double v) { large_messages(t).efficiency = v; }},
      {"nccl_large.memory_passes", 0, 10, {1, 2}, [](Trial& t, double v) { large_messages(t).memory_passes = v; }},
  };
}

std::vector<Constant> switched_all_reduce_constants() {
  return joined(all_reduce_constants(), {
      {"nccl_switch_gain", 0.5, 2, {1.2, 1}, [](Trial& t, double v) { t.all_reduce.nccl_switch_gain = v; }},
  });
}

std::vector<Constant> common_all_reduce_constants() {
  // The H100's: what the other times of a common set hold at.
  constexpr double kClock = 1.755;
  return joined(switched_all_reduce_constants(), {
      {"clock_ghz", kClock, kClock, {kClock, kClock}, [](Trial& t, double v) { t.all_reduce.clock_ghz = v; }},
  });
}
// clang-format on

/// Experts in one format; vLLM's own kernels.
Operator experts_of(std::string_view key,
                    std::string_view title,
                    std::vector<Form> forms,
                    bool (*selects)(const Sample&, const hardware::GpuSpec&)) {
  constexpr double kExpertScale = 0.06;
  return {key, title, TableKind::kExperts, std::move(forms), selects, kExpertScale, true};
}

std::vector<Operator> expert_operators() {
  using model::DType;
  const std::vector<Form> coarse = {{.name = {}, .constants = expert_constants()}};
  const std::vector<Form> fine = {
      {.name = {}, .constants = fine_expert_constants()},
      {.name = {}, .constants = common_expert_constants(), .is_common = true}};
  const std::vector<Form> marlin = {{.name = {}, .constants = marlin_constants()}};
  const std::vector<Form> triton_mxfp4 = {{.name = {}, .constants = triton_mxfp4_constants()}};
  constexpr auto kBlock = selects_narrow_experts<DType::kFp8Block>;
  constexpr auto kNvfp4 = selects_narrow_experts<DType::kNvfp4>;
  constexpr auto kMxfp4 = selects_narrow_experts<DType::kMxfp4>;
  return {
      experts_of(
          "experts_16bit_coarse", "experts BF16, coarse", coarse, selects_experts_of<false, true>),
      experts_of(
          "experts_16bit_fine", "experts BF16, fine", fine, selects_experts_of<false, false>),
      experts_of(
          "experts_8bit_coarse", "experts FP8, coarse", coarse, selects_experts_of<true, true>),
      experts_of("experts_8bit_fine", "experts FP8, fine", fine, selects_experts_of<true, false>),
      experts_of("experts_8bit_block", "experts FP8 in blocks", fine, kBlock),
      experts_of("experts_nvfp4", "experts NVFP4", fine, kNvfp4),
      experts_of("experts_mxfp4_mxfp8", "experts MXFP4 x MXFP8", fine, kMxfp4),
      experts_of("experts_weight_only", "experts Marlin", marlin, selects_marlin),
      experts_of("experts_mxfp4", "experts MXFP4", triton_mxfp4, selects_triton_mxfp4),
  };
}

/// The forms of FP8 GEMM, for weights scaled in blocks.
std::vector<Form> in_blocks(std::vector<Form> forms) {
  for (Form& form : forms) {
    form.constants = joined(form.constants, {padding()});
  }
  forms.push_back({.name = "best tile, begun late",
                   .constants = begun_late(forms.front().constants),
                   .architecture = "ada"});
  return forms;
}

/// Those of dense networks, and the collective.
std::vector<Operator> dense_operators() {
  const std::vector<Form> gemm_16bit = {
      {.name = "best tile", .constants = best_tile_gemm()},
      {.name = "best tile", .constants = common_gemm_of(best_tile_gemm()), .is_common = true}};
  const std::vector<Form> gemm_8bit = {
      {.name = "best tile", .constants = joined(best_tile_gemm(), {quantisation()})},
      {.name = "best tile",
       .constants = joined(common_gemm_of(best_tile_gemm()), {quantisation()}),
       .is_common = true},
      {.name = "tiles by rows",
       .constants = joined(tiles_by_rows_gemm(), {quantisation()}),
       .architecture = "hopper"}};
  constexpr double kDecodeScale = 0.03;
  return {
      {"gemm_16bit", "GEMM BF16", TableKind::kGemm, gemm_16bit, selects_gemm<model::DType::kBf16>},
      {"gemm_8bit", "GEMM FP8", TableKind::kGemm, gemm_8bit, selects_gemm<model::DType::kFp8>},
      {"gemm_8bit_block",
       "GEMM FP8 in blocks",
       TableKind::kGemm,
       in_blocks(gemm_8bit),
       selects_gemm<model::DType::kFp8Block>},
      {"gemm_8bit_deep_gemm",
       "GEMM FP8 in blocks, DeepGEMM",
       TableKind::kGemm,
       {{.name = "best tile", .constants = deep_gemm_constants()}},
       selects_deep_gemm},
      {"gemm_nvfp4", "GEMM NVFP4", TableKind::kGemm, gemm_8bit, selects_gemm<model::DType::kNvfp4>},
      {"decode_attention",
       "decode attention",
       TableKind::kDecodeAttention,
       {{.name = "split", .constants = decode_constants()},
        {.name = "blocks", .constants = unsplit_decode_constants(), .architecture = "ampere"},
        {.name = "blocks", .constants = unsplit_decode_constants(), .architecture = "ada"},
        {.name = "both", .constants = common_decode_constants(), .is_common = true}},
       selects_decode<model::DType::kBf16>,
       kDecodeScale},
      {"decode_attention_8bit",
       "decode attention FP8",
       TableKind::kDecodeAttention,
       {{.name = "split", .constants = decode_constants(), .architecture = "ada"},
        {.name = "bounded", .constants = bounded_decode_constants()}},
       selects_decode<model::DType::kFp8>,
       kDecodeScale},
      {"prefill_attention",
       "prefill attention",
       TableKind::kPrefillAttention,
       {{.name = {}, .constants = prefill_constants()}},
       selects_prefill},
      {"all_reduce",
       "all-reduce",
       TableKind::kAllReduce,
       {{.name = {}, .constants = all_reduce_constants(), .architecture = "ampere"},
        {.name = {}, .constants = switched_all_reduce_constants()},
        {.name = {}, .constants = common_all_reduce_constants(), .is_common = true}},
       selects_all_reduce},
  };
}

/// In the order in which tables list them: the collective is the last.
std::vector<Operator> all_operators() {
  std::vector<Operator> all = dense_operators();
  const std::vector<Operator> experts = expert_operators();
  all.insert(std::prev(all.end()), experts.begin(), experts.end());
  return all;
}

/// Reads 16 bit and writes 8 bit.
constexpr double kBytesPerQuantised = 3.0;

}  // namespace

std::span<const Operator> operators() {
  static const std::vector<Operator> kOperators = all_operators();
  return kOperators;
}

Trial trial_of(const Form& form, std::span<const double> values) {
  Trial trial;
  trial.exchange = kernel::builtin_constants().exchange;
  for (std::size_t i = 0; i < form.constants.size(); ++i) {
    form.constants[i].apply(trial, values[i]);
  }
  return trial;
}

core::Seconds predict(const Trial& trial, const Sample& sample, const hardware::GpuSpec& gpu) {
  struct Price {
    const Trial& trial;
    const hardware::GpuSpec& gpu;

    core::Seconds operator()(const GemmCall& call) const {
      const kernel::MatmulFormat format = kernel::matmul_format(call.weights, gpu);
      const core::Bytes quantised(trial.quantisation_passes * kBytesPerQuantised *
                                  kernel::real(call.shape.m) * kernel::real(call.shape.k));
      constexpr std::int64_t kAlignedRows = 4;
      const bool is_padded = call.shape.m % kAlignedRows != 0;
      return kernel::gemm(call.shape, format, trial.gemm, gpu).time +
             quantised / gpu.mem_bandwidth + (is_padded ? trial.padding : core::Seconds());
    }
    core::Seconds operator()(const DecodeAttentionCall& call) const {
      return kernel::decode_attention(call.call, call.shape, trial.decode_attention, gpu).time;
    }
    core::Seconds operator()(const PrefillAttentionCall& call) const {
      static const kernel::AttentionConstants kCommon = kernel::builtin_constants().attention;
      return kernel::prefill_attention(call.call, call.shape, trial.prefill_attention, kCommon, gpu)
          .time;
    }
    core::Seconds operator()(const ExpertCall& call) const {
      return kernel::expert_gemm(call.shape,
                                 call.tokens,
                                 kernel::matmul_format(call.shape.weights, gpu),
                                 trial.experts,
                                 table_choice(call),
                                 gpu)
          .time;
    }
    core::Seconds operator()(const AllReduceCall& call) const {
      return kernel::all_reduce(call.message, call.ranks, trial.all_reduce, trial.exchange, gpu)
          .time;
    }
  };
  return std::visit(Price{trial, gpu}, sample.call);
}

}  // namespace ridgeline::latency::fit
