#include "latency/kernel/gemm.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/math.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "model/hardware/gpu_spec.hpp"

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
/// Rows of the smallest tile of kernels that unpack narrow weights (Marlin's thread_m_blocks of 16,
/// one to four).
constexpr std::int64_t kMarlinRows = 16;
/// However large the penalty, a small tile still works at this share of the peak.
constexpr double kLeastTileEfficiency = 0.05;
/// Columns whose tiles share one pass over the activations.
constexpr double kRereadColumns = 128.0;
/// Kernels of this length lose half of what long ones lose to the power limit.
constexpr core::Seconds kSustained = core::Seconds(1e-3);
constexpr double kFlopsPerMac = 2.0;
/// y is written in 16 bit.
constexpr double kOutputBytes = 2.0;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

double waves(double fill, double smoothing) {
  return fill < 1.0 ? 1.0 : (1.0 - smoothing) * std::ceil(fill) + smoothing * fill;
}

/// Seconds of all tiles, and of these what splitting k costs on any GPU.
struct TileTime {
  double all = std::numeric_limits<double>::infinity();
  double splitting = 0.0;
};

/// The library's best tile and split of k.
TileTime best_tile_time(const GemmShape& shape,
                        double peak_per_sm,
                        const GemmConstants& constants,
                        std::int64_t num_sms) {
  TileTime best;
  for (const Tile& tile : kTiles) {
    const double area = real(tile.rows) * real(tile.columns);
    const double penalty = constants.small_tile_penalty * (kLargestTile / area - 1.0);
    const double efficiency =
        std::max(kLeastTileEfficiency, constants.compute_efficiency * (1.0 - penalty));
    const std::int64_t tiles = ceil_div(shape.m, tile.rows) * ceil_div(shape.n, tile.columns);
    for (const std::int64_t split : kSplits) {
      const double depth = real(shape.k) / real(split) + constants.startup_depth;
      const double splitting = split > 1 ? constants.split.value() : 0.0;
      const double one_wave = kFlopsPerMac * area * depth / (peak_per_sm * efficiency) + splitting;
      const double fill = real(tiles * split) / real(num_sms);
      const double num_waves = waves(fill, constants.wave_smoothing);
      if (num_waves * one_wave < best.all) {
        best = {.all = num_waves * one_wave, .splitting = num_waves * splitting};
      }
    }
  }
  return best;
}

/// The tile that a dispatch by rows takes, and its clusters.
double tile_by_rows_time(const GemmShape& shape,
                         double peak_per_sm,
                         const GemmConstants& constants,
                         const TilesByRows& by_rows,
                         std::int64_t num_sms) {
  constexpr std::int64_t kNarrow = 1280;
  constexpr std::int64_t kManyRows = 8192;
  constexpr std::int64_t kDeep = 6144;
  constexpr std::int64_t kFewestSlowRows = 16;  // exclusive
  constexpr std::int64_t kMostSlowRows = 32;
  const bool few = shape.m <= 64;
  const bool medium = !few && shape.m <= 128;
  const std::int64_t rows = shape.m <= 128 ? 64 : 128;
  const std::int64_t columns = few ? (shape.n <= kNarrow ? 16 : 64) : 128;
  const std::int64_t cluster_rows = few ? rows : 2 * rows;
  const std::int64_t clusters = ceil_div(shape.m, cluster_rows);
  const double last = real(shape.m - (clusters - 1) * cluster_rows) / real(cluster_rows);
  double efficiency = constants.compute_efficiency;
  if (few) {
    const bool slow = shape.m > kFewestSlowRows && shape.m <= kMostSlowRows;
    efficiency = slow ? by_rows.efficiency_17_to_32.value_or(by_rows.efficiency_up_to_64)
                      : by_rows.efficiency_up_to_64;
  } else if (medium) {
    efficiency = by_rows.efficiency_up_to_128;
  } else if (shape.m >= kManyRows && shape.k >= kDeep) {
    efficiency = by_rows.efficiency_large;
  }
  const double tiles =
      real(clusters) * real(cluster_rows / rows) * real(ceil_div(shape.n, columns));
  const double one_wave = kFlopsPerMac * real(rows) * real(columns) *
                          (real(shape.k) + constants.startup_depth) / (peak_per_sm * efficiency);
  const double partial = few ? 0.0 : by_rows.partial_cluster_penalty * (1.0 - last);
  return waves(tiles / real(num_sms), constants.wave_smoothing) * one_wave * (1.0 + partial);
}

TileTime compute_time(const GemmShape& shape,
                      core::FlopsPerSecond peak,
                      const GemmConstants& constants,
                      std::int64_t num_sms) {
  const double peak_per_sm = peak.value() / real(num_sms);
  TileTime tiles;
  if (constants.tiles_by_rows) {
    tiles.all = tile_by_rows_time(shape, peak_per_sm, constants, *constants.tiles_by_rows, num_sms);
  } else {
    tiles = best_tile_time(shape, peak_per_sm, constants, num_sms);
  }
  const double sustained = tiles.all / (tiles.all + kSustained.value());
  tiles.all *= 1.0 + constants.sustained_slowdown * sustained;
  return tiles;
}

/// By how much a side's terms count in a soft maximum `both`: its derivative by that side.
double weight_in(core::Seconds side, core::Seconds both, const GemmConstants& constants) {
  return both.value() > 0.0 ? core::pow(side / both, constants.overlap_exponent - 1.0) : 0.0;
}

/// What is neither memory nor compute of `all` is launches, ramps and splits.
domain::Bottleneck deciding_term(core::Seconds all, core::Seconds memory, core::Seconds compute) {
  return Terms()
      .add(domain::Bottleneck::kMemory, memory)
      .add(domain::Bottleneck::kCompute, compute)
      .add(domain::Bottleneck::kOverhead, all - memory - compute)
      .largest();
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
  const core::Bytes reread(constants.reread_factor * format.activation_bytes * m * k * n /
                           kRereadColumns);
  const core::Seconds streamed = (bytes + reread) / streaming_rate(constants, gpu);
  const core::Seconds ramp = constants.ramp * (bytes / (bytes + constants.ramp_bytes));
  TileTime tiles = compute_time(shape, format.peak, constants, gpu.num_sms);
  if (format.weight_bytes < format.activation_bytes && shape.m < kTiles.front().rows) {
    tiles.all *= real(ceil_div(shape.m, kMarlinRows) * kMarlinRows) / real(kTiles.front().rows);
  }
  const core::Seconds compute(tiles.all);
  const core::Seconds splitting(tiles.splitting);
  const core::Seconds both = soft_max(streamed + ramp, compute, constants.overlap_exponent);
  return {.time = constants.fixed + both,
          .flops = flops,
          .bytes = bytes,
          .kind = deciding_term(constants.fixed + both,
                                streamed * weight_in(streamed + ramp, both, constants),
                                (compute - splitting) * weight_in(compute, both, constants)),
          .losing = {},
          .side = roofline_side(flops, bytes, format.peak, gpu.mem_bandwidth),
          .compute = compute,
          .memory = streamed + ramp,
          .weights = core::Bytes(format.weight_bytes * k * n)};
}

Cost fp32_gemm(const GemmShape& shape,
               const GemmConstants& constants,
               const hardware::GpuSpec& gpu) {
  // Multiply-adds of a multiprocessor in a clock (NVIDIA's architecture whitepapers), and the share
  // of them that cuBLAS reaches: 45 to 60 % on H100 and B200.
  const double lanes = gpu.architecture == "ampere" ? 64.0 : 128.0;
  constexpr double kEfficiency = 0.5;
  constexpr double kHertz = 1e9;
  // The copy reads 16 bit and writes 32.
  constexpr double kCopyBytes = 6.0;
  constexpr double kBytesPer32Bit = 4.0;
  // cuBLAS's smallest tile of FP32 (32x32_sliced1x4), and the most rows that its products of a
  // matrix and vectors take (gemmSN).
  constexpr std::int64_t kTile = 32;
  constexpr std::int64_t kMostVectors = 8;
  const double m = real(shape.m);
  const double k = real(shape.k);
  const double n = real(shape.n);
  const double peak_per_sm = kFlopsPerMac * lanes * gpu.clock_ghz * kHertz;
  const core::FlopsPerSecond peak(peak_per_sm * real(gpu.num_sms));
  const core::Bytes copied(kCopyBytes * m * k);
  const core::Bytes bytes(kBytesPer32Bit * (k * n + m * k + m * n));
  const core::Flops flops(kFlopsPerMac * m * k * n);
  const core::BytesPerSecond rate = streaming_rate(constants, gpu);
  const core::Seconds streamed = bytes / rate;
  // On Blackwell more than a few rows run in tiles, each the work of one multiprocessor over all of
  // k: servers of MiniMax-M2.5 with and without TF32 are 1.7 ms a token apart at 32 rows, 0.3 at 8.
  // Servers on Hopper show less than half of it.
  const double tiles = real(ceil_div(shape.m, kTile) * ceil_div(shape.n, kTile));
  const double tile_seconds = kFlopsPerMac * real(kTile * kTile) * k / (peak_per_sm * kEfficiency);
  const core::Seconds compute =
      shape.m <= kMostVectors || gpu.architecture != "blackwell"
          ? flops / (peak * kEfficiency)
          : core::Seconds(tile_seconds * std::max(1.0, tiles / real(gpu.num_sms)));
  return {.time = constants.fixed + copied / rate +
                  soft_max(streamed, compute, constants.overlap_exponent),
          .flops = flops,
          .bytes = bytes + copied,
          .kind = streamed < compute ? domain::Bottleneck::kCompute : domain::Bottleneck::kMemory,
          .losing = {},
          .side = roofline_side(flops, bytes, peak, gpu.mem_bandwidth),
          .compute = compute,
          .memory = streamed,
          .weights = core::Bytes(kBytesPer32Bit * k * n)};
}

}  // namespace ridgeline::latency::kernel
