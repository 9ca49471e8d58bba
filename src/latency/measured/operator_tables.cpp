#include "latency/measured/operator_tables.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/gzip.hpp"
#include "latency/measured/csv_columns.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/measured_kernels.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::measured {
namespace {

constexpr std::size_t kLargestTable = std::size_t{64} * 1024 * 1024;
constexpr double kMicrosecondsPerMillisecond = 1000.0;
constexpr std::string_view kGemm = "gemm_perf";
constexpr std::string_view kContext = "context_attention_perf";
constexpr std::string_view kGeneration = "generation_attention_perf";

/// Catalogue GPUs under their names.
struct OperatorGpu {
  std::string_view catalogue;
  std::string_view file;
};
constexpr std::array<OperatorGpu, 4> kOperatorGpus = {
    {{"h100", "h100_sxm"}, {"h200", "h200_sxm"}, {"a100-80gb", "a100_sxm"}, {"l40s", "l40s"}}};

/// Parts of "0.24.0", for comparison.
std::vector<int> version_parts(std::string_view text) {
  std::vector<int> parts;
  while (!text.empty()) {
    int part = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), part);
    parts.push_back(code == std::errc() ? part : 0);
    const auto dot = text.find('.');
    text.remove_prefix(dot == std::string_view::npos ? text.size() : dot + 1);
  }
  return parts;
}

std::optional<OperatorFile> parse_operator_name(const std::filesystem::path& path) {
  constexpr std::string_view kEngine = "_vllm_";
  std::string name = path.filename().string();
  for (const std::string_view end : {".gz", ".csv"}) {
    if (name.ends_with(end)) {
      name.resize(name.size() - end.size());
    }
  }
  const auto engine = name.find(kEngine);
  if (engine == std::string::npos) {
    return std::nullopt;
  }
  const std::string rest = name.substr(engine + kEngine.size());
  const auto underscore = rest.find('_');
  const auto family = name.rfind('_', engine - 1);
  if (underscore == std::string::npos || family == std::string::npos) {
    return std::nullopt;
  }
  OperatorFile file{.path = path.string(),
                    .gpu = name.substr(0, family),
                    .version = rest.substr(0, underscore),
                    .table = rest.substr(underscore + 1)};
  const bool known = file.table == kGemm || file.table == kContext || file.table == kGeneration;
  return known ? std::optional(std::move(file)) : std::nullopt;
}

bool is_fp8(std::string_view type) {
  return type.starts_with("fp8");
}

/// Heads, KV heads, head dimension, prompts, 8-bit KV.
using CallKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool>;

MeasuredKernels gemm_points(const CsvRows& csv, const OperatorFile& file) {
  std::map<std::string_view, std::vector<GemmPoint>> by_type;
  std::set<std::tuple<std::string_view, std::int64_t, std::int64_t, std::int64_t>> seen;
  for (std::size_t i = 0; i < csv.lines.size(); ++i) {
    const std::string_view type = csv.words[0][i];
    const GemmPoint point{.m = csv.count(1, i),
                          .k = csv.count(3, i),
                          .n = csv.count(2, i),
                          .us = csv.numbers[4][i] * kMicrosecondsPerMillisecond};
    if ((type == "bfloat16" || type == "fp8") &&
        seen.insert({type, point.m, point.k, point.n}).second) {
      by_type[type].push_back(point);
    }
  }
  MeasuredKernels measured;
  for (auto& [type, points] : by_type) {
    measured.gemms.push_back(
        {.source = file.path, .is_8bit = is_fp8(type), .points = std::move(points)});
  }
  return measured;
}

MeasuredKernels prefill_points(const CsvRows& csv, const OperatorFile& file) {
  std::map<CallKey, std::map<std::int64_t, double>> by_call;
  for (std::size_t i = 0; i < csv.lines.size(); ++i) {
    if (csv.numbers[7][i] == 0.0) {
      by_call[{csv.count(2, i),
               csv.count(3, i),
               csv.count(4, i),
               csv.count(0, i),
               is_fp8(csv.words[5][i])}]
          .try_emplace(csv.count(1, i), csv.numbers[6][i] * kMicrosecondsPerMillisecond);
    }
  }
  MeasuredKernels measured;
  for (const auto& [call, lengths] : by_call) {
    const auto& [heads, kv_heads, head_dim, prompts, kv_8bit] = call;
    MeasuredPrefill& table = measured.prefills.emplace_back();
    table.source = file.path;
    table.shape = {.heads = heads, .kv_heads = kv_heads, .head_dim = head_dim};
    table.kv_8bit = kv_8bit;
    table.prompts = prompts;
    for (const auto& [seq_len, us] : lengths) {
      table.points.push_back({.seq_len = seq_len, .us = us});
    }
  }
  return measured;
}

MeasuredKernels decode_points(const CsvRows& csv, const OperatorFile& file) {
  std::map<CallKey, std::map<std::pair<std::int64_t, std::int64_t>, double>> by_call;
  for (std::size_t i = 0; i < csv.lines.size(); ++i) {
    if (csv.numbers[7][i] == 0.0) {
      // The step is the number of tokens decoded before: with the prompt, the context.
      const auto kv_len = csv.count(1, i) + static_cast<std::int64_t>(csv.numbers[8][i]);
      by_call[{csv.count(2, i), csv.count(3, i), csv.count(4, i), 1, is_fp8(csv.words[5][i])}]
          .try_emplace({csv.count(0, i), kv_len}, csv.numbers[6][i] * kMicrosecondsPerMillisecond);
    }
  }
  MeasuredKernels measured;
  for (const auto& [call, cells] : by_call) {
    const auto& [heads, kv_heads, head_dim, prompts, kv_8bit] = call;
    MeasuredDecode& table = measured.decodes.emplace_back();
    table.source = file.path;
    table.shape = {.heads = heads, .kv_heads = kv_heads, .head_dim = head_dim};
    table.kv_8bit = kv_8bit;
    for (const auto& [cell, us] : cells) {
      table.points.push_back({.batch_size = cell.first, .kv_len = cell.second, .us = us});
    }
  }
  return measured;
}

template <class T>
void append(std::vector<T>& into, std::vector<T> from) {
  std::ranges::move(from, std::back_inserter(into));
}

}  // namespace

bool holds_operator_tables(const std::string& directory) {
  const auto files = operator_files(directory);
  return files && !files->empty();
}

core::Result<std::vector<OperatorFile>> operator_files(const std::string& directory) {
  std::vector<OperatorFile> files;
  std::error_code error;
  std::filesystem::directory_iterator at(directory, error);
  for (const std::filesystem::directory_iterator end; !error && at != end; at.increment(error)) {
    if (auto file = parse_operator_name(at->path())) {
      files.push_back(std::move(*file));
    }
  }
  if (error) {
    return core::fail(core::Error{.message = "cannot be listed: " + error.message(),
                                  .where = {.file = directory}});
  }
  std::ranges::sort(files, {}, &OperatorFile::path);
  return files;
}

core::Result<MeasuredKernels> read_operator_file(const OperatorFile& file) {
  const auto text = document::read_unpacked(file.path, kLargestTable);
  return text ? read_operator_text(*text, file) : core::fail(text.error());
}

core::Result<MeasuredKernels> read_operator_text(const std::string& text,
                                                 const OperatorFile& file) {
  static constexpr CsvColumn kGemmColumns[] = {{"gemm_dtype", CellKind::kWord},
                                               {"m", CellKind::kCount},
                                               {"n", CellKind::kCount},
                                               {"k", CellKind::kCount},
                                               {"latency", CellKind::kMilliseconds}};
  static constexpr CsvColumn kAttentionColumns[] = {{"batch_size", CellKind::kCount},
                                                    {"isl", CellKind::kCount},
                                                    {"num_heads", CellKind::kCount},
                                                    {"num_key_value_heads", CellKind::kCount},
                                                    {"head_dim", CellKind::kCount},
                                                    {"kv_cache_dtype", CellKind::kWord},
                                                    {"latency", CellKind::kMilliseconds},
                                                    {"window_size", CellKind::kFraction, true},
                                                    {"step", CellKind::kFraction, true}};
  const bool is_gemm = file.table == kGemm;
  const CsvRows csv = is_gemm ? read_csv(text, file.path, kGemmColumns)
                              : read_csv(text, file.path, kAttentionColumns);
  if (!csv.errors.empty()) {
    return core::fail(csv.errors);
  }
  return is_gemm                  ? gemm_points(csv, file)
         : file.table == kContext ? prefill_points(csv, file)
                                  : decode_points(csv, file);
}

core::Result<MeasuredKernels> load_operator_tables(const std::string& directory,
                                                   const hardware::GpuSpec& gpu) {
  const auto known = std::ranges::find(kOperatorGpus, gpu.name, &OperatorGpu::catalogue);
  const std::string prefix(known == kOperatorGpus.end() ? std::string_view(gpu.name) : known->file);
  const auto files = operator_files(directory);
  if (!files) {
    return core::fail(files.error());
  }
  MeasuredKernels measured;
  core::Errors errors;
  for (const std::string_view table : {kGemm, kContext, kGeneration}) {
    const OperatorFile* newest = nullptr;
    for (const OperatorFile& file : *files) {
      if (file.gpu == prefix && file.table == table &&
          (newest == nullptr || version_parts(file.version) > version_parts(newest->version))) {
        newest = &file;
      }
    }
    if (newest == nullptr) {
      errors.push_back({.message = "no such file",
                        .where = {.file = (std::filesystem::path(directory) /
                                           fmt::format("{}_*_vllm_*_{}.csv", prefix, table))
                                              .string()}});
      continue;
    }
    auto read = read_operator_file(*newest);
    if (!read) {
      errors.insert(errors.end(), read.error().begin(), read.error().end());
      continue;
    }
    append(measured.gemms, std::move(read->gemms));
    append(measured.prefills, std::move(read->prefills));
    append(measured.decodes, std::move(read->decodes));
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return measured;
}

}  // namespace ridgeline::latency::measured
