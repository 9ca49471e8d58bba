#include "latency/kernel/gemm.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "core/units.hpp"
#include "hardware/gpu_spec.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"

namespace ridgeline::latency::kernel {
namespace {

struct Tile {
  std::int64_t rows;
  std::int64_t columns;
};
/// Output tiles that the GEMM libraries choose among, largest last, and ways to split k (CUTLASS,
/// cuBLASLt).
constexpr std::array<Tile, 5> kTiles = {{{64, 64}, {64, 128}, {64, 256}, {128, 128}, {128, 256}}};
constexpr std::array<std::int64_t, 4> kSplits = {1, 2, 4, 8};
constexpr double kLargestTile = 128.0 * 256.0;
/// However large the penalty, a small tile still works at this share of the peak.
constexpr double kLeastTileEfficiency = 0.05;
constexpr double kFlopsPerMac = 2.0;
/// y is written in 16 bit.
constexpr double kOutputBytes = 2.0;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

core::Seconds compute_time(const GemmShape& shape,
                           core::FlopsPerSecond peak,
                           const GemmConstants& constants,
                           std::int64_t num_sms) {
  const double peak_per_sm = peak.value() / real(num_sms);
  double best = std::numeric_limits<double>::infinity();
  for (const Tile& tile : kTiles) {
    const double area = real(tile.rows) * real(tile.columns);
    const double penalty = constants.small_tile_penalty * (kLargestTile / area - 1.0);
    const double efficiency =
        std::max(kLeastTileEfficiency, constants.compute_efficiency * (1.0 - penalty));
    const std::int64_t tiles = ceil_div(shape.m, tile.rows) * ceil_div(shape.n, tile.columns);
    for (const std::int64_t split : kSplits) {
      const double one_wave =
          kFlopsPerMac * area * (real(shape.k) / real(split)) / (peak_per_sm * efficiency) +
          (split > 1 ? constants.split.value() : 0.0);
      best = std::min(best, real(ceil_div(tiles * split, num_sms)) * one_wave);
    }
  }
  return core::Seconds(best);
}

}  // namespace

Cost gemm(const GemmShape& shape,
          const MatmulFormat& format,
          const GemmConstants& constants,
          const hardware::GpuSpec& gpu) {
  const double m = real(shape.m);
  const double k = real(shape.k);
  const double n = real(shape.n);
  const core::Bytes bytes(format.weight_bytes * k * n + format.activation_bytes * m * k +
                          kOutputBytes * m * n);
  const core::Flops flops(kFlopsPerMac * m * k * n);
  const core::Seconds memory = bytes / (gpu.mem_bandwidth * constants.bandwidth_efficiency) +
                               constants.ramp * (bytes / (bytes + constants.ramp_bytes));
  const core::Seconds compute = compute_time(shape, format.peak, constants, gpu.num_sms);
  return {.time = constants.fixed + soft_max(memory, compute, constants.overlap_exponent),
          .flops = flops,
          .bytes = bytes,
          .kind = roofline_side(flops, bytes, format.peak, gpu.mem_bandwidth),
          .losing = {}};
}

}  // namespace ridgeline::latency::kernel
