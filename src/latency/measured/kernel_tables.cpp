#include "latency/measured/kernel_tables.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "latency/measured/csv_columns.hpp"

namespace ridgeline::latency::measured {
namespace {

std::vector<std::size_t> indices(std::size_t count) {
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

std::vector<std::int64_t> sorted_unique(std::vector<std::int64_t> values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

std::size_t place_of(const std::vector<std::int64_t>& ticks, std::int64_t value) {
  return static_cast<std::size_t>(std::ranges::lower_bound(ticks, value) - ticks.begin());
}

}  // namespace

std::string to_string(const HeadShape& shape) {
  return fmt::format("{}-{}-{}", shape.heads, shape.kv_heads, shape.head_dim);
}

GemmTable::GemmTable(std::string path, std::vector<GemmRow> rows)
    : path_(std::move(path)), rows_(std::move(rows)) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> seen;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const auto [at, is_new] = seen.try_emplace({rows_[i].k, rows_[i].n}, columns_.size());
    if (is_new) {
      columns_.push_back({.k = rows_[i].k, .n = rows_[i].n, .by_m = {}, .last_of_file = {}});
    }
    columns_[at->second].by_m.push_back(i);
  }
  for (Column& column : columns_) {
    std::ranges::stable_sort(column.by_m, {}, [&](std::size_t row) { return rows_[row].m; });
    std::size_t last = 0;
    for (const std::size_t row : column.by_m) {
      last = std::max(last, row);
      column.last_of_file.push_back(last);
    }
  }
}

PrefillTable::PrefillTable(std::string path,
                           HeadShape shape,
                           std::string dtype,
                           std::vector<PrefillRow> rows)
    : path_(std::move(path)),
      shape_(shape),
      dtype_(std::move(dtype)),
      rows_(std::move(rows)),
      by_seq_(indices(rows_.size())) {
  std::ranges::sort(by_seq_, {}, [&](std::size_t row) { return rows_[row].seq_len; });
}

DecodeTable::DecodeTable(std::string path, Key key, std::vector<DecodeRow> rows)
    : path_(std::move(path)), key_(std::move(key)), rows_(std::move(rows)) {
  for (const DecodeRow& row : rows_) {
    batch_sizes_.push_back(row.batch_size);
    kv_lens_.push_back(row.kv_len);
  }
  batch_sizes_ = sorted_unique(std::move(batch_sizes_));
  kv_lens_ = sorted_unique(std::move(kv_lens_));
  cells_.assign(batch_sizes_.size() * kv_lens_.size(), kNoRow);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    cells_[place_of(batch_sizes_, rows_[i].batch_size) * kv_lens_.size() +
           place_of(kv_lens_, rows_[i].kv_len)] = i;
  }
}

Reading<GemmTable> read_gemm_table(std::string_view text, const std::string& path) {
  static constexpr CsvColumn kColumns[] = {{"m", CellKind::kCount},
                                           {"k", CellKind::kCount},
                                           {"n", CellKind::kCount},
                                           {"latency_us", CellKind::kMicroseconds},
                                           {"mfu", CellKind::kMfu}};
  CsvRows csv = read_csv(text, path, kColumns);
  std::vector<GemmRow> rows;
  for (std::size_t i = 0; i < csv.lines.size(); ++i) {
    rows.push_back({.m = csv.count(0, i),
                    .k = csv.count(1, i),
                    .n = csv.count(2, i),
                    .latency_us = csv.numbers[3][i],
                    .mfu = csv.numbers[4][i],
                    .line = csv.lines[i]});
  }
  refuse_repeated_rows(
      rows, [](const GemmRow& row) { return std::tuple(row.m, row.k, row.n); }, path, csv.errors);
  Reading<GemmTable> reading{.tables = {}, .errors = std::move(csv.errors)};
  if (!rows.empty()) {
    reading.tables.emplace_back(path, std::move(rows));
  }
  return reading;
}

Reading<PrefillTable> read_prefill_table(std::string_view text,
                                         const std::string& path,
                                         const HeadShape& shape) {
  static constexpr CsvColumn kColumns[] = {{"dtype", CellKind::kWord},
                                           {"seq_len", CellKind::kCount},
                                           {"latency_us", CellKind::kMicroseconds},
                                           {"mfu", CellKind::kMfu}};
  CsvRows csv = read_csv(text, path, kColumns);
  std::map<std::string, std::vector<PrefillRow>> by_type;
  for (std::size_t i = 0; i < csv.lines.size(); ++i) {
    by_type[std::string(csv.words[0][i])].push_back({.seq_len = csv.count(1, i),
                                                     .latency_us = csv.numbers[2][i],
                                                     .mfu = csv.numbers[3][i],
                                                     .line = csv.lines[i]});
  }
  Reading<PrefillTable> reading{.tables = {}, .errors = std::move(csv.errors)};
  for (auto& [dtype, rows] : by_type) {
    refuse_repeated_rows(
        rows, [](const PrefillRow& row) { return row.seq_len; }, path, reading.errors);
    reading.tables.emplace_back(path, shape, dtype, std::move(rows));
  }
  return reading;
}

Reading<DecodeTable> read_decode_table(std::string_view text,
                                       const std::string& path,
                                       const HeadShape& shape,
                                       std::int64_t tensor_parallel_size) {
  static constexpr CsvColumn kColumns[] = {{"dtype", CellKind::kWord},
                                           {"kv_dtype", CellKind::kWord},
                                           {"batch_size", CellKind::kCount},
                                           {"kv_len", CellKind::kCount},
                                           {"latency_us", CellKind::kMicroseconds},
                                           {"mfu", CellKind::kMfu}};
  CsvRows csv = read_csv(text, path, kColumns);
  std::map<std::pair<std::string, std::string>, std::vector<DecodeRow>> by_type;
  for (std::size_t i = 0; i < csv.lines.size(); ++i) {
    by_type[{std::string(csv.words[0][i]), std::string(csv.words[1][i])}].push_back(
        {.batch_size = csv.count(2, i),
         .kv_len = csv.count(3, i),
         .latency_us = csv.numbers[4][i],
         .mfu = csv.numbers[5][i],
         .line = csv.lines[i]});
  }
  Reading<DecodeTable> reading{.tables = {}, .errors = std::move(csv.errors)};
  for (auto& [types, rows] : by_type) {
    refuse_repeated_rows(
        rows,
        [](const DecodeRow& row) { return std::pair(row.batch_size, row.kv_len); },
        path,
        reading.errors);
    reading.tables.emplace_back(path,
                                DecodeTable::Key{.shape = shape,
                                                 .tensor_parallel_size = tensor_parallel_size,
                                                 .dtype = types.first,
                                                 .kv_dtype = types.second},
                                std::move(rows));
  }
  return reading;
}

}  // namespace ridgeline::latency::measured
