#include "latency/fit/read_tables.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/gzip.hpp"
#include "latency/fit/samples.hpp"
#include "latency/fit/table_rows.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::fit {
namespace {

/// Published tables have up to 10 MB of text.
constexpr std::size_t kMaxTableBytes = std::size_t{256} << 20U;

/// How the two publishers name a table: `_<family>_<engine>_` and `_<table>_perf.csv`, or the file.
struct TableName {
  TableKind kind;
  std::string_view family;
  std::string_view table;
  std::string_view profiled;
};
constexpr auto kTableNames = std::to_array<TableName>({
    {TableKind::kGemm, "gemm", "gemm", "gemm"},
    {TableKind::kDecodeAttention, "attention", "generation_attention", "decode_attention"},
    {TableKind::kPrefillAttention, "attention", "context_attention", "prefill_attention"},
    {TableKind::kExperts, "moe", "moe", "grouped_gemm"},
    {TableKind::kAllReduce, "comm", "custom_allreduce", "collective"},
});

struct TableFile {
  std::string path;
  std::string gpu;
  std::string version;
  TableKind kind = TableKind::kGemm;
  TableSource source = TableSource::kAiconfigurator;
};

/// What a file name of aiconfigurator's says, if it is one of those tables.
std::optional<TableFile> published_file(const std::filesystem::path& path,
                                        const std::string& engine) {
  const std::string name = path.filename().string();
  for (const TableName& known : kTableNames) {
    const std::string middle = fmt::format("_{}_{}_", known.family, engine);
    const std::string ending = fmt::format("_{}_perf.csv", known.table);
    std::string_view rest = name;
    if (rest.ends_with(".gz")) {
      rest.remove_suffix(3);
    }
    const auto at = rest.find(middle);
    if (at == std::string_view::npos || !rest.ends_with(ending) ||
        rest.size() <= at + middle.size() + ending.size()) {
      continue;
    }
    const auto from = at + middle.size();
    const std::string_view version = rest.substr(from, rest.size() - ending.size() - from);
    if (version.find('_') == std::string_view::npos) {
      return TableFile{.path = path.string(),
                       .gpu = std::string(rest.substr(0, at)),
                       .version = std::string(version),
                       .kind = known.kind};
    }
  }
  return std::nullopt;
}

core::Error folder_error(const std::string& folder, std::string message, std::string hint) {
  return {.field = {},
          .message = std::move(message),
          .where = {.file = folder},
          .hint = std::move(hint)};
}

std::vector<TableFile> find_files(const std::string& folder, const std::string& engine) {
  std::vector<TableFile> files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (auto file = published_file(at->path(), engine)) {
      files.push_back(*std::move(file));
    }
  }
  std::error_code ignored;
  const auto full = std::filesystem::path(folder) / "full";
  for (std::filesystem::directory_iterator at(full, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    for (const TableName& known : kTableNames) {
      const auto path = at->path() / fmt::format("{}.csv", known.profiled);
      if (std::filesystem::is_regular_file(path, error)) {
        files.push_back({.path = path.string(),
                         .gpu = at->path().filename().string(),
                         .version = "profiler",
                         .kind = known.kind,
                         .source = TableSource::kProfiler});
      }
    }
  }
  std::ranges::sort(files, {}, &TableFile::path);
  return files;
}

}  // namespace

core::Result<std::vector<SampleTable>> read_tables(const std::string& folder,
                                                   const TableChoice& choice) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return core::fail(folder_error(folder, "not a folder, expected one of operator tables", {}));
  }
  std::vector<TableFile> files = find_files(folder, choice.engine);
  if (files.empty()) {
    return core::fail(
        folder_error(folder,
                     "found no operator table",
                     fmt::format("expected <gpu>_gemm_{}_<version>_gemm_perf.csv.gz and "
                                 "the like, or full/<gpu>/gemm.csv of tools/profiler",
                                 choice.engine)));
  }
  core::Errors errors;
  std::vector<SampleTable> tables;
  for (const TableFile& file : files) {
    const auto gpu = hardware::find_gpu(file.gpu);
    if (!gpu) {
      errors.push_back(folder_error(
          file.path,
          fmt::format("found tables of '{}', expected a GPU of the catalogue", file.gpu),
          gpu.error().front().hint));
      continue;
    }
    const auto text = document::read_unpacked(file.path, kMaxTableBytes);
    if (!text) {
      errors.insert(errors.end(), text.error().begin(), text.error().end());
      continue;
    }
    auto samples = read_samples(*text, file.path, file.kind, file.source, choice.kernel_source);
    if (!samples) {
      errors.insert(errors.end(), samples.error().begin(), samples.error().end());
      continue;
    }
    tables.push_back({.file = std::filesystem::path(file.path).filename().string(),
                      .version = file.version,
                      .gpu = *gpu,
                      .kind = file.kind,
                      .samples = *std::move(samples)});
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return tables;
}

}  // namespace ridgeline::latency::fit
