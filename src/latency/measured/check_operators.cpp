#include "latency/measured/check_operators.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "latency/measured/check.hpp"
#include "latency/measured/measured_kernels.hpp"
#include "latency/measured/operator_tables.hpp"
#include "latency/measured/surfaces.hpp"

namespace ridgeline::latency::measured {
namespace {

/// Adds a kernel's errors, if it has rows.
void add_check(const OperatorFile& file,
               const std::string& kernel,
               std::size_t rows,
               measured::LeaveOneOut out,
               TableCheck& into) {
  if (rows == 0) {
    return;
  }
  std::ranges::sort(out.errors);
  KernelCheck& check = into.kernels.emplace_back();
  check.gpu = file.gpu;
  check.kernel = fmt::format("{}, vllm {}", kernel, file.version);
  check.files = 1;
  check.rows = rows;
  if (!out.errors.empty()) {
    check.median_error = out.quantile(0.5);
    check.p90_error = out.quantile(0.9);
  }
}

void append_errors(measured::LeaveOneOut& into, const measured::LeaveOneOut& from) {
  into.errors.insert(into.errors.end(), from.errors.begin(), from.errors.end());
}

void check_operator_file(const OperatorFile& file,
                         const MeasuredKernels& measured,
                         TableCheck& into) {
  for (const MeasuredGemm& gemm : measured.gemms) {
    add_check(file,
              gemm.is_8bit ? "gemm fp8" : "gemm bf16",
              gemm.points.size(),
              measured::leave_one_out(gemm),
              into);
  }
  for (const bool kv_8bit : {false, true}) {
    const char* format = kv_8bit ? ", fp8 KV" : "";
    measured::LeaveOneOut prefill;
    measured::LeaveOneOut decode;
    std::size_t prefill_rows = 0;
    std::size_t decode_rows = 0;
    for (const MeasuredPrefill& table : measured.prefills) {
      if (table.kv_8bit == kv_8bit) {
        prefill_rows += table.points.size();
        append_errors(prefill, measured::leave_one_out(table.points));
      }
    }
    for (const MeasuredDecode& table : measured.decodes) {
      if (table.kv_8bit == kv_8bit) {
        decode_rows += table.points.size();
        append_errors(decode, measured::leave_one_out(table));
      }
    }
    add_check(file, fmt::format("prefill attention{}", format), prefill_rows, prefill, into);
    add_check(file, fmt::format("decode attention{}", format), decode_rows, decode, into);
  }
}

/// One line for all tables of kinds that nothing here checks.
void note_other_tables(const std::string& directory,
                       const std::vector<OperatorFile>& read,
                       TableCheck& into) {
  std::vector<std::string> others;
  std::error_code error;
  std::filesystem::directory_iterator at(directory, error);
  for (const std::filesystem::directory_iterator end; !error && at != end; at.increment(error)) {
    const std::string path = at->path().string();
    const bool is_table = path.find("_perf.csv") != std::string::npos;
    if (is_table && std::ranges::find(read, path, &OperatorFile::path) == read.end()) {
      others.push_back(at->path().filename().string());
    }
  }
  if (!others.empty()) {
    std::ranges::sort(others);
    into.findings.push_back(
        {.code = "not-read",
         .file = directory,
         .line = 0,
         .message = fmt::format("{} tables of other operators (`kernels fit` reads experts and "
                                "collectives): {}",
                                others.size(),
                                fmt::join(others, " "))});
  }
}

}  // namespace

core::Result<TableCheck> check_operator_tables(const std::string& directory) {
  const auto files = operator_files(directory);
  if (!files) {
    return core::fail(files.error());
  }
  TableCheck check;
  for (const OperatorFile& file : *files) {
    const auto measured = read_operator_file(file);
    if (!measured) {
      check.refused.insert(check.refused.end(), measured.error().begin(), measured.error().end());
      continue;
    }
    check_operator_file(file, *measured, check);
  }
  note_other_tables(directory, *files, check);
  return check;
}

}  // namespace ridgeline::latency::measured
