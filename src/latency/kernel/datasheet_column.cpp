#include "latency/kernel/datasheet_column.hpp"

#include "core/units.hpp"
#include "latency/kernel/constants.hpp"

namespace ridgeline::latency::kernel {

const Column& datasheet_column() {
  /// So steep that the soft maximum is the maximum.
  static constexpr double kHard = 64.0;
  static const Column kColumn = [] {
    GemmConstants gemm;
    gemm.ramp_bytes = core::Bytes(1.0);
    gemm.overlap_exponent = kHard;
    const ExpertConstants experts{.fixed = {},
                                  .bandwidth_efficiency = 1.0,
                                  .pair_traffic_factor = 1.0,
                                  .compute_efficiency = 1.0,
                                  .tile_rows = 0.0,
                                  .overlap_exponent = kHard,
                                  .per_expert = {}};
    Column column;
    column.name = "datasheet";
    column.architecture = "none";
    column.gemm_16bit = gemm;
    column.gemm_8bit = gemm;
    // Members that are not named vanish by their defaults.
    column.decode_attention.emplace().bandwidth_efficiency = 1.0;
    PrefillAttentionConstants& prefill = column.prefill_attention.emplace();
    prefill.compute_efficiency = 1.0;
    prefill.overlap_exponent = kHard;
    column.experts_16bit_coarse = experts;
    column.experts_16bit_fine = experts;
    column.experts_8bit_coarse = experts;
    column.experts_8bit_fine = experts;
    column.all_reduce = AllReduceConstants{.one_shot = {},
                                           .one_shot_rank = {},
                                           .one_shot_efficiency = 1.0,
                                           .two_shot = {},
                                           .two_shot_efficiency = 1.0,
                                           .nccl = {},
                                           .nccl_efficiency = 1.0};
    return column;
  }();
  return kColumn;
}

}  // namespace ridgeline::latency::kernel
