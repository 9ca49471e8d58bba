#include "latency/measured/lookup.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/math.hpp"
#include "core/result.hpp"
#include "latency/measured/kernel_tables.hpp"

namespace ridgeline::latency::measured {
namespace {

using core::real;

double square(double x) {
  return x * x;
}

double lerp(double a, double b, double t) {
  return a + (b - a) * t;
}

/// Two neighbouring places of an ascending axis around a value, and how far it is from the first.
/// Equal where the value is a tick or outside.
struct Bracket {
  std::size_t low = 0;
  std::size_t high = 0;
  double share = 0.0;
  bool outside = false;
};

/// How far between two ticks, both above 0, a value lies.
double share_between(std::int64_t low, std::int64_t high, std::int64_t value, LookupMode mode) {
  if (mode == LookupMode::kLog) {
    return core::log(real(value) / real(low)) / core::log(real(high) / real(low));
  }
  return real(value - low) / real(high - low);
}

/// `tick(i)` ascends for i below `size`, at least 1.
template <class Tick>
Bracket bracket(std::size_t size, const Tick& tick, std::int64_t value, LookupMode mode) {
  const std::size_t last = size - 1;
  if (value <= tick(0)) {
    return {.outside = value < tick(0)};
  }
  if (value >= tick(last)) {
    return {.low = last, .high = last, .share = 0.0, .outside = value > tick(last)};
  }
  std::size_t low = 0;
  std::size_t high = last;
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (tick(middle) <= value ? low : high) = middle;
  }
  if (tick(low) == value) {
    return {.low = low, .high = low};
  }
  return {.low = low, .high = high, .share = share_between(tick(low), tick(high), value, mode)};
}

/// Rows that a value came from: the nearest counts. `distance` and the distance noted may be
/// squares: they are compared only.
template <class Distance>
void note_nearest(Lookup& lookup, std::size_t row, const Distance& distance) {
  const double away = distance(row);
  if (lookup.row == Lookup::kNoRow || away < lookup.distance) {
    lookup.row = row;
    lookup.distance = away;
  }
}

/// Replaces an MFU that counts as missing.
template <class Row, class Distance>
void apply_zero_rule(Lookup& lookup,
                     std::span<const Row> rows,
                     ZeroRule rule,
                     double v1_mfu,
                     const Distance& distance) {
  if (!(lookup.mfu < kZeroMfu)) {
    return;
  }
  if (rule == ZeroRule::kV1) {
    lookup.mfu = v1_mfu;
    lookup.outcome = LookupOutcome::kReplaced;
    return;
  }
  std::optional<std::size_t> best;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row].mfu < kZeroMfu || (best && rule == ZeroRule::kFirst)) {
      continue;
    }
    if (!best || distance(row) < distance(*best)) {
      best = row;
    }
  }
  if (!best) {
    lookup.mfu = kZeroMfu;
    lookup.outcome = LookupOutcome::kNothing;
    return;
  }
  lookup.mfu = rows[*best].mfu;
  lookup.row = *best;
  lookup.distance = distance(*best);
  lookup.outcome = LookupOutcome::kReplaced;
}

/// The row that the floor rule holds at the end of the file: rows below the target first, the
/// nearest of them; `is_below(row)`.
template <class Distance, class IsBelow>
std::size_t floor_row(std::size_t size, const Distance& distance, const IsBelow& is_below) {
  std::size_t best = 0;
  bool best_below = is_below(0);
  for (std::size_t row = 1; row < size; ++row) {
    const bool below = is_below(row);
    if (below != best_below ? below : distance(row) < distance(best)) {
      best = row;
      best_below = below;
    }
  }
  return best;
}

ZeroRule resolved(ZeroRule rule, ZeroRule published) {
  return rule == ZeroRule::kPublished ? published : rule;
}

}  // namespace

GemmTarget find_gemm_column(const GemmTable& table,
                            std::int64_t k,
                            std::int64_t n,
                            LookupMode mode) {
  const auto columns = table.columns();
  RIDGELINE_CHECK(!columns.empty(), "a GEMM table has rows");
  const auto away = [&](std::size_t i) {
    return square(real(columns[i].k - k)) + square(real(columns[i].n - n));
  };
  const auto size = [&](std::size_t i) {
    return square(real(columns[i].k)) + square(real(columns[i].n));
  };
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool encloses = columns[i].k >= k && columns[i].n >= n;
    if (encloses && (!best || away(i) < away(*best))) {
      best = i;
    }
  }
  GemmTarget target{.k = k, .n = n, .column = best.value_or(0), .enclosed = best.has_value()};
  if (best) {
    return target;
  }
  const GemmRow& last = table.rows().back();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const bool better = mode == LookupMode::kFloor
                            ? columns[i].k == last.k && columns[i].n == last.n
                            : size(i) > size(target.column);
    target.column = better ? i : target.column;
  }
  return target;
}

Lookup look_up_gemm(const GemmTable& table,
                    const GemmTarget& target,
                    std::int64_t m,
                    const LookupOptions& options) {
  const auto rows = table.rows();
  const GemmTable::Column& column = table.columns()[target.column];
  const auto squared_distance = [&](std::size_t row) {
    return square(real(rows[row].m - m)) + square(real(rows[row].k - target.k)) +
           square(real(rows[row].n - target.n));
  };
  const Bracket at = bracket(
      column.by_m.size(), [&](std::size_t i) { return rows[column.by_m[i]].m; }, m, options.mode);
  Lookup lookup{.outside = at.outside};
  ZeroRule zero = ZeroRule::kNearest;
  if (options.mode == LookupMode::kFloor) {
    // Below the smallest m there is no row to take but that one; the bracket is there then.
    lookup.row = column.last_of_file[at.low];
    lookup.distance = squared_distance(lookup.row);
    lookup.mfu = rows[lookup.row].mfu;
    zero = ZeroRule::kFirst;
  } else {
    const std::size_t low = column.by_m[at.low];
    const std::size_t high = column.by_m[at.high];
    note_nearest(lookup, low, squared_distance);
    note_nearest(lookup, high, squared_distance);
    lookup.mfu = low == high ? rows[low].mfu : lerp(rows[low].mfu, rows[high].mfu, at.share);
  }
  apply_zero_rule(lookup, rows, resolved(options.zero, zero), options.v1_mfu, squared_distance);
  lookup.distance = std::sqrt(lookup.distance);
  return lookup;
}

Lookup look_up_prefill(const PrefillTable& table,
                       std::int64_t seq_len,
                       const LookupOptions& options) {
  const auto rows = table.rows();
  const auto by_seq = table.by_seq();
  RIDGELINE_CHECK(!by_seq.empty(), "a prefill table has rows");
  const auto distance = [&](std::size_t row) {
    return std::abs(real(rows[row].seq_len - seq_len));
  };
  const Bracket at = bracket(
      by_seq.size(), [&](std::size_t i) { return rows[by_seq[i]].seq_len; }, seq_len, options.mode);
  Lookup lookup{.outside = at.outside};
  const std::size_t low = by_seq[at.low];
  if (options.mode == LookupMode::kFloor) {
    lookup.row = low;
    lookup.distance = distance(low);
    lookup.mfu = rows[low].mfu;
  } else {
    const std::size_t high = by_seq[at.high];
    note_nearest(lookup, low, distance);
    note_nearest(lookup, high, distance);
    lookup.mfu = low == high ? rows[low].mfu : lerp(rows[low].mfu, rows[high].mfu, at.share);
  }
  apply_zero_rule(
      lookup, rows, resolved(options.zero, ZeroRule::kNearest), options.v1_mfu, distance);
  return lookup;
}

namespace {

/// Bilinear over the four cells around the target, along the batch first.
void interpolate_decode(const DecodeTable& table,
                        const Bracket& batch,
                        const Bracket& kv,
                        Lookup& lookup) {
  const auto rows = table.rows();
  const auto mfu = [&](std::size_t i, std::size_t j) {
    const std::size_t row = table.cell(i, j);
    return row == DecodeTable::kNoRow ? 0.0 : rows[row].mfu;
  };
  const auto along_batch = [&](std::size_t j) {
    return batch.low == batch.high ? mfu(batch.low, j)
                                   : lerp(mfu(batch.low, j), mfu(batch.high, j), batch.share);
  };
  const double low = along_batch(kv.low);
  lookup.mfu = kv.low == kv.high ? low : lerp(low, along_batch(kv.high), kv.share);
}

}  // namespace

Lookup look_up_decode(const DecodeTable& table,
                      std::int64_t batch_size,
                      std::int64_t kv_len,
                      const LookupOptions& options) {
  const auto rows = table.rows();
  RIDGELINE_CHECK(!rows.empty(), "a decode table has rows");
  const auto squared_distance = [&](std::size_t row) {
    return square(real(rows[row].batch_size - batch_size)) +
           square(real(rows[row].kv_len - kv_len));
  };
  const auto batches = table.batch_sizes();
  const auto lens = table.kv_lens();
  const Bracket batch =
      bracket(batches.size(), [&](std::size_t i) { return batches[i]; }, batch_size, options.mode);
  const Bracket kv =
      bracket(lens.size(), [&](std::size_t i) { return lens[i]; }, kv_len, options.mode);
  Lookup lookup{.outside = batch.outside || kv.outside};
  if (options.mode == LookupMode::kFloor) {
    const auto is_below = [&](std::size_t row) {
      return rows[row].batch_size <= batch_size && rows[row].kv_len <= kv_len;
    };
    // Where the grid has the corner below the target, every other row below is farther.
    const std::size_t corner = table.cell(batch.low, kv.low);
    lookup.row = corner != DecodeTable::kNoRow && is_below(corner)
                     ? corner
                     : floor_row(rows.size(), squared_distance, is_below);
    lookup.distance = squared_distance(lookup.row);
    lookup.mfu = rows[lookup.row].mfu;
  } else {
    interpolate_decode(table, batch, kv, lookup);
    for (const std::size_t i : {batch.low, batch.high}) {
      for (const std::size_t j : {kv.low, kv.high}) {
        if (table.cell(i, j) != DecodeTable::kNoRow) {
          note_nearest(lookup, table.cell(i, j), squared_distance);
        }
      }
    }
  }
  apply_zero_rule(
      lookup, rows, resolved(options.zero, ZeroRule::kNearest), options.v1_mfu, squared_distance);
  lookup.distance = std::sqrt(lookup.distance);
  return lookup;
}

core::Result<AttentionChoice> choose_heads(const KernelTables& tables,
                                           const HeadShape& shape,
                                           const std::string& dtype) {
  const auto away = [&](const PrefillTable& table) {
    const HeadShape& other = table.shape();
    return std::sqrt(square(real(other.heads - shape.heads)) +
                     square(real(other.kv_heads - shape.kv_heads)) +
                     square(real(other.head_dim - shape.head_dim)));
  };
  AttentionChoice choice;
  for (const PrefillTable& table : tables.prefill) {
    if (table.dtype() == dtype && (choice.prefill == nullptr || away(table) < choice.distance)) {
      choice = {.prefill = &table, .distance = away(table)};
    }
  }
  if (choice.prefill == nullptr) {
    return core::fail(core::Error{.message = fmt::format("has no {} table", dtype),
                                  .where = {.file = tables.prefill_folder}});
  }
  return choice;
}

core::Result<DecodeChoice> choose_decode(const KernelTables& tables,
                                         const HeadShape& shape,
                                         std::int64_t tensor_parallel_size,
                                         LookupMode mode,
                                         const std::string& kv_dtype) {
  DecodeChoice choice;
  for (const DecodeTable& table : tables.decode) {
    const std::int64_t size = table.key().tensor_parallel_size;
    const bool is_other = table.key().shape != shape || table.key().kv_dtype != kv_dtype;
    if (is_other || (mode == LookupMode::kFloor && size != tensor_parallel_size && size != 1)) {
      continue;
    }
    const std::int64_t away = std::abs(size - tensor_parallel_size);
    const bool nearer =
        choice.table == nullptr || away < choice.tp_distance ||
        (away == choice.tp_distance && size < choice.table->key().tensor_parallel_size);
    if (nearer) {
      choice = {.table = &table, .tp_distance = away};
    }
  }
  if (choice.table == nullptr) {
    const std::string name = fmt::format(
        "{}-tp{}.csv", to_string(shape), mode == LookupMode::kFloor ? 1 : tensor_parallel_size);
    return core::fail(core::Error{
        .message = fmt::format("no such file, nor one of these heads for another "
                               "tensor_parallel_size with {} KV cache",
                               kv_dtype),
        .where = {.file = (std::filesystem::path(tables.decode_folder) / name).string()}});
  }
  return choice;
}

}  // namespace ridgeline::latency::measured
