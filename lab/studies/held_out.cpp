#include "lab/studies/held_out.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "lab/studies/lab.hpp"
#include "lab/studies/study.hpp"
#include "lab/studies/table_statistics.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/lookup.hpp"

namespace ridgeline::studies {
namespace {

using latency::measured::DecodeRow;
using latency::measured::DecodeTable;
using latency::measured::GemmRow;
using latency::measured::GemmTable;
using latency::measured::LookupMode;
using latency::measured::PrefillRow;
using latency::measured::PrefillTable;

struct NamedMode {
  const char* name;
  LookupMode mode;
};
constexpr auto kModes = std::to_array<NamedMode>({{"floor", LookupMode::kFloor},
                                                  {"interp", LookupMode::kInterpolate},
                                                  {"log", LookupMode::kLog}});

/// Predicted over measured, less 1, of each mode.
using Errors = std::array<std::vector<double>, kModes.size()>;

/// A time goes as one over its MFU. `scale` makes the row's own MFU of its latency, as the table's
/// has three digits.
template <class Row, class Flops>
double rate_scale(const std::vector<Row>& rows, const Flops& flops) {
  const auto most = std::ranges::max_element(rows, {}, &Row::mfu);
  return most->mfu * most->latency_us / flops(*most);
}

/// Every tick of an axis but its ends.
template <class Row>
std::vector<std::int64_t> inner_ticks(const std::vector<Row>& rows, std::int64_t Row::* axis) {
  std::vector<std::int64_t> ticks;
  for (const Row& row : rows) {
    ticks.push_back(row.*axis);
  }
  std::ranges::sort(ticks);
  const auto repeated = std::ranges::unique(ticks);
  ticks.erase(repeated.begin(), repeated.end());
  if (ticks.size() < 3) {
    return {};
  }
  return {ticks.begin() + 1, ticks.end() - 1};
}

/// Takes each inner tick of an axis out and looks its rows up; `look_up(rows left, row, mode)`
/// gives an MFU.
template <class Row, class Flops, class LookUp>
void hold_out(const std::vector<Row>& rows,
              std::int64_t Row::* axis,
              const Flops& flops,
              const LookUp& look_up,
              Errors& errors) {
  const double scale = rate_scale(rows, flops);
  for (const std::int64_t tick : inner_ticks(rows, axis)) {
    std::vector<Row> left;
    std::ranges::copy_if(
        rows, std::back_inserter(left), [&](const Row& row) { return row.*axis != tick; });
    for (const Row& row : rows) {
      if (row.*axis != tick) {
        continue;
      }
      const double own = scale * flops(row) / row.latency_us;
      for (std::size_t i = 0; i < kModes.size(); ++i) {
        const double found = look_up(left, row, kModes[i].mode);
        errors[i].push_back(own / found - 1.0);
      }
    }
  }
}

template <class Row>
std::vector<Row> copy_of(std::span<const Row> rows) {
  return {rows.begin(), rows.end()};
}

Errors gemm_errors(const GemmTable& table) {
  Errors errors;
  for (const GemmTable::Column& column : table.columns()) {
    std::vector<GemmRow> rows;
    for (const std::size_t place : column.by_m) {
      rows.push_back(table.rows()[place]);
    }
    hold_out(
        rows,
        &GemmRow::m,
        gemm_flops,
        [&](const std::vector<GemmRow>& left, const GemmRow& row, LookupMode mode) {
          const GemmTable without(table.path(), left);
          const auto target = find_gemm_column(without, row.k, row.n, mode);
          return look_up_gemm(without, target, row.m, {.mode = mode}).mfu;
        },
        errors);
  }
  return errors;
}

Errors prefill_errors(const std::vector<PrefillTable>& tables) {
  Errors errors;
  for (const PrefillTable& table : tables) {
    hold_out(
        copy_of(table.rows()),
        &PrefillRow::seq_len,
        [&](const PrefillRow& row) { return prefill_flops(table.shape(), row); },
        [&](const std::vector<PrefillRow>& left, const PrefillRow& row, LookupMode mode) {
          const PrefillTable without(table.path(), table.shape(), table.dtype(), left);
          return look_up_prefill(without, row.seq_len, {.mode = mode}).mfu;
        },
        errors);
  }
  return errors;
}

Errors decode_errors(const std::vector<DecodeTable>& tables, std::int64_t DecodeRow::* axis) {
  Errors errors;
  for (const DecodeTable& table : tables) {
    hold_out(
        copy_of(table.rows()),
        axis,
        [&](const DecodeRow& row) { return decode_flops(table, row); },
        [&](const std::vector<DecodeRow>& left, const DecodeRow& row, LookupMode mode) {
          const DecodeTable without(table.path(), table.key(), left);
          return look_up_decode(without, row.batch_size, row.kv_len, {.mode = mode}).mfu;
        },
        errors);
  }
  return errors;
}

void add_errors(const char* kernel, const char* axis, const Errors& errors, StudyTable& table) {
  for (std::size_t i = 0; i < kModes.size(); ++i) {
    std::vector<double> absolute;
    for (const double error : errors[i]) {
      absolute.push_back(std::abs(error));
    }
    table.rows.push_back(row("kernel",
                             kernel,
                             "axis",
                             axis,
                             "lookup",
                             kModes[i].name,
                             "rows",
                             std::ssize(absolute),
                             "median_abs_pct",
                             100.0 * quantile(absolute, 0.5),
                             "p90_abs_pct",
                             100.0 * quantile(absolute, 0.9)));
  }
}

}  // namespace

StudyTable held_out_table(const latency::measured::KernelTables& tables) {
  StudyTable table{.name = "held_out", .rows = {}};
  add_errors("gemm", "m", gemm_errors(tables.gemm), table);
  add_errors("prefill attention", "seq_len", prefill_errors(tables.prefill), table);
  add_errors("decode attention", "kv_len", decode_errors(tables.decode, &DecodeRow::kv_len), table);
  add_errors("decode attention",
             "batch_size",
             decode_errors(tables.decode, &DecodeRow::batch_size),
             table);
  return table;
}

}  // namespace ridgeline::studies
