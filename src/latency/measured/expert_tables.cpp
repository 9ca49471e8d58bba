#include "latency/measured/expert_tables.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "latency/measured/csv_columns.hpp"
#include "latency/measured/kernel_tables.hpp"

namespace ridgeline::latency::measured {

GroupedGemmTable::GroupedGemmTable(std::string path, std::vector<GroupedGemmRow> rows)
    : path_(std::move(path)), rows_(std::move(rows)) {}

Reading<GroupedGemmTable> read_grouped_gemm_table(std::string_view text,
                                                  const std::string& path,
                                                  bool prefill) {
  const CsvColumn columns[] = {
      {"num_experts", CellKind::kCount},
      {"num_gpus", CellKind::kCount},
      {"num_local_experts", CellKind::kCount},
      {"topk", CellKind::kCount},
      {"hidden_size", CellKind::kCount},
      {"intermediate_size", CellKind::kCount},
      {prefill ? "seq_len_per_gpu" : "batch_size_per_gpu", CellKind::kCount},
      {"tokens_per_expert", CellKind::kCount},
      {"up_proj_us", CellKind::kMicroseconds},
      {"up_mfu", CellKind::kMfu},
      {"down_proj_us", CellKind::kMicroseconds},
      {"down_mfu", CellKind::kMfu}};
  CsvRows csv = read_csv(text, path, columns);
  std::vector<GroupedGemmRow> rows;
  for (std::size_t i = 0; i < csv.lines.size(); ++i) {
    rows.push_back({.experts = csv.count(0, i),
                    .gpus = csv.count(1, i),
                    .local_experts = csv.count(2, i),
                    .experts_per_token = csv.count(3, i),
                    .hidden = csv.count(4, i),
                    .intermediate = csv.count(5, i),
                    .tokens_per_gpu = csv.count(6, i),
                    .tokens_per_expert = csv.count(7, i),
                    .up_us = csv.numbers[8][i],
                    .up_mfu = csv.numbers[9][i],
                    .down_us = csv.numbers[10][i],
                    .down_mfu = csv.numbers[11][i],
                    .line = csv.lines[i]});
  }
  refuse_repeated_rows(
      rows,
      [](const GroupedGemmRow& row) {
        return std::tuple(row.experts,
                          row.gpus,
                          row.local_experts,
                          row.experts_per_token,
                          row.hidden,
                          row.intermediate,
                          row.tokens_per_gpu);
      },
      path,
      csv.errors);
  Reading<GroupedGemmTable> reading{.tables = {}, .errors = std::move(csv.errors)};
  if (!rows.empty()) {
    reading.tables.emplace_back(path, std::move(rows));
  }
  return reading;
}

}  // namespace ridgeline::latency::measured
