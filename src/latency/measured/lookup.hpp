#pragma once

#include <cstddef>
#include <cstdint>

#include "core/result.hpp"
#include "latency/measured/kernel_tables.hpp"

namespace ridgeline::latency::measured {

/// The look-ups of the published V2 models (inference-sim's roofline in Go, before and after its
/// change to interpolation): MFU by shape, with their rules for what the tables lack. Equal to the
/// published programs' answers, bit for bit.

enum class LookupMode : std::uint8_t {
  kFloor,        ///< The nearest row below the target; before interpolation was introduced.
  kInterpolate,  ///< Linear in m or sequence, bilinear in batch and context, flat outside.
  kLog,  ///< As kInterpolate, in the logarithms of m, sequence, batch and context; unpublished.
};

/// What stands in for an MFU below kZeroMfu.
enum class ZeroRule : std::uint8_t {
  kPublished,  ///< GEMM under kFloor: kFirst. All else: kNearest.
  kNearest,    ///< The nearest row with a greater one.
  kFirst,      ///< The first such row of the file.
  kV1,         ///< LookupOptions::v1_mfu.
};

/// MFU below this counts as missing.
inline constexpr double kZeroMfu = 1e-4;

struct LookupOptions {
  LookupMode mode = LookupMode::kInterpolate;
  ZeroRule zero = ZeroRule::kPublished;
  double v1_mfu = 0.0;  ///< For ZeroRule::kV1: the constant MFU of that phase.
};

/// Where a value came from, worst last.
enum class LookupOutcome : std::uint8_t {
  kFound,     ///< From rows of the table.
  kReplaced,  ///< The table's own value was zero: from the row of the zero rule, or its constant.
  kNothing,   ///< No usable row exists: kZeroMfu.
};

/// One answer.
struct Lookup {
  static constexpr std::size_t kNoRow = static_cast<std::size_t>(-1);

  double mfu = 0.0;
  std::size_t row = kNoRow;  ///< The nearest of the rows used, as an index of rows().
  double distance = 0.0;     ///< From the target to that row: Euclidean, in the table's own units.
  LookupOutcome outcome = LookupOutcome::kFound;
  bool outside = false;  ///< The target is outside the table's range, (k, n) apart.
};

/// The rows of one (k, n), chosen once per weight matrix: the nearest at least as large on both
/// sides; without one, the last row's (floor) or the largest (interpolate). The table is not empty.
struct GemmTarget {
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::size_t column = 0;
  bool enclosed = true;  ///< The column is at least as large on both sides.
};
[[nodiscard]] GemmTarget find_gemm_column(const GemmTable& table,
                                          std::int64_t k,
                                          std::int64_t n,
                                          LookupMode mode);
/// The MFU at m rows. O(log rows), but for zero rows, which search the file.
[[nodiscard]] Lookup look_up_gemm(const GemmTable& table,
                                  const GemmTarget& target,
                                  std::int64_t m,
                                  const LookupOptions& options);

[[nodiscard]] Lookup look_up_prefill(const PrefillTable& table,
                                     std::int64_t seq_len,
                                     const LookupOptions& options);

/// O(log rows); kFloor reads the whole file (some 40 rows) where the grid has no row right below
/// the target. To the others a hole of the grid counts as an MFU of 0, as published.
[[nodiscard]] Lookup look_up_decode(const DecodeTable& table,
                                    std::int64_t batch_size,
                                    std::int64_t kv_len,
                                    const LookupOptions& options);

/// The attention tables that serve a network: those of its own heads, else of the nearest.
struct AttentionChoice {
  const PrefillTable* prefill = nullptr;
  double distance = 0.0;  ///< Euclidean over (heads, KV heads, head dim).
};
/// Chooses among equals the first by file name; `dtype` tables only.
[[nodiscard]] core::Result<AttentionChoice> choose_heads(const KernelTables& tables,
                                                         const HeadShape& shape,
                                                         const std::string& dtype = "bf16");

struct DecodeChoice {
  const DecodeTable* table = nullptr;
  std::int64_t tp_distance = 0;  ///< |tensor parallel size - the table's|.
};
/// The decode table of exactly these heads for a tensor parallel size: that size's, else size 1's
/// (floor) or the nearest, of equals the smaller (interpolate). An error names the missing file.
[[nodiscard]] core::Result<DecodeChoice> choose_decode(const KernelTables& tables,
                                                       const HeadShape& shape,
                                                       std::int64_t tensor_parallel_size,
                                                       LookupMode mode,
                                                       const std::string& kv_dtype = "bf16");

}  // namespace ridgeline::latency::measured
