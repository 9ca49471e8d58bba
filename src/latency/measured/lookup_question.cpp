#include "latency/measured/lookup_question.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "core/result.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/lookup.hpp"

namespace ridgeline::latency::measured {
namespace {

core::Result<LookupAnswer> ask_gemm(const KernelTables& tables, const LookupQuestion& question) {
  const auto& numbers = question.numbers;
  const auto target = find_gemm_column(tables.gemm, numbers[1], numbers[2], question.options.mode);
  LookupAnswer answer;
  answer.lookup = look_up_gemm(tables.gemm, target, numbers[0], question.options);
  const auto& row = tables.gemm.rows()[answer.lookup.row];
  answer.target = fmt::format("m {}, k {}, n {}", numbers[0], numbers[1], numbers[2]);
  answer.row = fmt::format("m {}, k {}, n {}", row.m, row.k, row.n);
  answer.file = tables.gemm.path();
  answer.line = row.line;
  answer.row_latency_us = row.latency_us;
  answer.row_mfu = row.mfu;
  return answer;
}

/// The file that a folder of measured tables holds for heads and, of decode, a number of ranks.
std::string table_path(const std::string& folder, const HeadShape& heads, std::int64_t ranks = 0) {
  const std::string end = ranks > 0 ? fmt::format("-tp{}.csv", ranks) : std::string(".csv");
  return fmt::format("{}/{}{}", folder, to_string(heads), end);
}

core::Result<LookupAnswer> ask_attention(const KernelTables& tables,
                                         const LookupQuestion& question) {
  const auto heads = choose_heads(tables, question.heads);
  if (!heads) {
    return core::fail(heads.error());
  }
  const auto& numbers = question.numbers;
  LookupAnswer answer;
  answer.heads_distance = heads->distance;
  if (heads->distance > 0.0) {
    answer.missing = table_path(tables.prefill_folder, question.heads);
  }
  const std::string shape = to_string(question.heads);
  if (question.kind == "prefill") {
    answer.lookup = look_up_prefill(*heads->prefill, numbers[0], question.options);
    const auto& row = heads->prefill->rows()[answer.lookup.row];
    answer.target = fmt::format("{}, length {}", shape, numbers[0]);
    answer.row = fmt::format("{}, length {}", to_string(heads->prefill->shape()), row.seq_len);
    answer.file = heads->prefill->path();
    answer.line = row.line;
    answer.row_latency_us = row.latency_us;
    answer.row_mfu = row.mfu;
    return answer;
  }
  const auto choice =
      choose_decode(tables, heads->prefill->shape(), numbers[2], question.options.mode);
  if (!choice) {
    return core::fail(choice.error());
  }
  const auto& table = *choice->table;
  answer.tp_distance = choice->tp_distance;
  if (heads->distance > 0.0 || choice->tp_distance > 0) {
    answer.missing = table_path(tables.decode_folder, question.heads, numbers[2]);
  }
  answer.lookup = look_up_decode(table, numbers[0], numbers[1], question.options);
  answer.target =
      fmt::format("{} tp {}, batch {}, kv {}", shape, numbers[2], numbers[0], numbers[1]);
  answer.file = table.path();
  if (answer.lookup.row == Lookup::kNoRow) {
    answer.row = "none";
    return answer;
  }
  const auto& row = table.rows()[answer.lookup.row];
  answer.row = fmt::format("{} tp {}, batch {}, kv {}",
                           to_string(table.key().shape),
                           table.key().tensor_parallel_size,
                           row.batch_size,
                           row.kv_len);
  answer.line = row.line;
  answer.row_latency_us = row.latency_us;
  answer.row_mfu = row.mfu;
  return answer;
}

}  // namespace

core::Result<LookupAnswer> answer_lookup(const KernelTables& tables,
                                         const LookupQuestion& question) {
  auto answer =
      question.kind == "gemm" ? ask_gemm(tables, question) : ask_attention(tables, question);
  if (answer) {
    answer->made = std::ranges::find(tables.made, answer->file) != tables.made.end();
  }
  return answer;
}

}  // namespace ridgeline::latency::measured
