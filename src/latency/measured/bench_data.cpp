#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/make_tables.hpp"
#include "latency/measured/table_notes.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::measured {
namespace {

std::string join_path(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / name).string();
}

/// Takes a positive count and the dash after it, if there is one, off the front.
std::optional<std::int64_t> take_count(std::string_view& text) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr std::int64_t kMostHeads = 1'000'000;
  if (code != std::errc() || value < 1 || value > kMostHeads) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (text.starts_with('-') && text.size() > 1) {
    text.remove_prefix(1);
  }
  return value;
}

std::vector<std::string> subfolders(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->is_directory(error)) {
      names.push_back(at->path().filename().string());
    }
  }
  std::ranges::sort(names);
  return names;
}

/// Why a folder of tables cannot be used, or nothing.
std::optional<core::Error> folder_problem(const std::string& folder, const std::string& gpu) {
  std::error_code error;
  const auto status = std::filesystem::status(folder, error);
  if (std::filesystem::is_directory(status)) {
    return std::nullopt;
  }
  core::Error problem{.message = std::filesystem::exists(status)
                                     ? "is not a folder, expected a folder of kernel tables"
                                     : "no such folder",
                      .where = {.file = folder}};
  if (!gpu.empty()) {
    const auto others = subfolders(std::filesystem::path(folder).parent_path().string());
    if (const auto near = document::nearest(gpu, others)) {
      problem.hint = fmt::format("did you mean '{}'?", *near);
    } else if (!others.empty()) {
      problem.hint = fmt::format("there are tables of {}", fmt::join(others, ", "));
    }
  }
  return problem;
}

/// The name of a GPU's folders: its own, or another of its names that has tables ("a100" or
/// "A100-SXM" of a100-80gb).
std::string table_name(const std::string& directory, const std::string& gpu) {
  std::error_code failed;
  const std::string gemm = join_path(directory, "gemm");
  for (const std::string& kind : {gemm, join_path(join_path(directory, "mha"), "decode")}) {
    if (std::filesystem::is_directory(join_path(kind, gpu), failed)) {
      return gpu;
    }
    for (const std::string& name : subfolders(kind)) {
      const auto known = hardware::find_gpu(name);
      if (known && known->name == gpu) {
        return name;
      }
    }
  }
  return gpu;
}

class BenchDataReader {
 public:
  BenchDataReader(const std::string& directory, const std::string& name) {
    const std::string gpu = table_name(directory, name);
    tables_.directory = directory;
    tables_.gpu = gpu;
    tables_.prefill_folder = join_path(join_path(join_path(directory, "mha"), "prefill"), gpu);
    tables_.decode_folder = join_path(join_path(join_path(directory, "mha"), "decode"), gpu);
  }

  core::Result<KernelTables> read() && {
    if (auto problem = folder_problem(tables_.directory, {})) {
      problem->hint = where_tables_come_from();
      return core::fail(std::move(*problem));
    }
    read_gemm();
    for (const auto& name : names_in(tables_.prefill_folder)) {
      read_prefill(join_path(tables_.prefill_folder, name));
    }
    for (const auto& name : names_in(tables_.decode_folder)) {
      read_decode(join_path(tables_.decode_folder, name));
    }
    if (!errors_.empty()) {
      return core::fail(std::move(errors_));
    }
    return std::move(tables_);
  }

 private:
  template <class T>
  std::optional<T> keep(core::Result<T> result) {
    if (!result) {
      errors_.insert(errors_.end(), result.error().begin(), result.error().end());
      return std::nullopt;
    }
    return std::move(*result);
  }

  template <class Table>
  std::vector<Table> keep(Reading<Table> reading) {
    errors_.insert(errors_.end(), reading.errors.begin(), reading.errors.end());
    return std::move(reading.tables);
  }

  std::vector<std::string> names_in(const std::string& folder) {
    if (auto problem = folder_problem(folder, tables_.gpu)) {
      errors_.push_back(std::move(*problem));
      return {};
    }
    auto names = keep(csv_files(folder)).value_or(std::vector<std::string>());
    if (names.empty()) {
      errors_.push_back(
          {.message = "has no .csv file, expected one per head shape", .where = {.file = folder}});
    }
    return names;
  }

  /// The text of a table, noted where it is a made one.
  std::optional<std::string> read_text(const std::string& path) {
    auto text = keep(document::read_file(path));
    if (text && is_made_table(*text)) {
      tables_.made.push_back(path);
    }
    return text;
  }

  void read_gemm() {
    const std::string folder = join_path(join_path(tables_.directory, "gemm"), tables_.gpu);
    if (auto problem = folder_problem(folder, tables_.gpu)) {
      errors_.push_back(std::move(*problem));
      return;
    }
    const std::string path = join_path(folder, "data.csv");
    if (const auto text = read_text(path)) {
      auto found = keep(read_gemm_table(*text, path));
      if (!found.empty()) {
        tables_.gemm = std::move(found.front());
      }
    }
  }

  void read_prefill(const std::string& path) {
    const auto name = keep(parse_attention_file_name(path));
    const auto text = read_text(path);
    if (name && text) {
      for (auto& table : keep(read_prefill_table(*text, path, name->shape))) {
        tables_.prefill.push_back(std::move(table));
      }
    }
  }

  void read_decode(const std::string& path) {
    const auto name = keep(parse_attention_file_name(path));
    const auto text = read_text(path);
    if (name && text) {
      for (auto& table :
           keep(read_decode_table(*text, path, name->shape, name->tensor_parallel_size))) {
        tables_.decode.push_back(std::move(table));
      }
    }
  }

  KernelTables tables_;
  core::Errors errors_;
};

}  // namespace

core::Result<std::vector<std::string>> csv_files(const std::string& folder) {
  if (auto problem = folder_problem(folder, {})) {
    return core::fail(std::move(*problem));
  }
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator at(folder, error);
  for (const std::filesystem::directory_iterator end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".csv") {
      names.push_back(at->path().filename().string());
    }
  }
  if (error) {
    return core::fail(
        core::Error{.message = "cannot be listed: " + error.message(), .where = {.file = folder}});
  }
  std::ranges::sort(names);
  return names;
}

core::Result<AttentionFileName> parse_attention_file_name(const std::string& path) {
  constexpr std::string_view kEnd = ".csv";
  constexpr std::string_view kTensorParallel = "tp";
  const std::string name = std::filesystem::path(path).filename().string();
  std::string_view rest = name;
  AttentionFileName parsed;
  const std::array<std::int64_t*, 3> parts = {
      &parsed.shape.heads, &parsed.shape.kv_heads, &parsed.shape.head_dim};
  bool sound = rest.ends_with(kEnd);
  rest.remove_suffix(sound ? kEnd.size() : 0);
  for (std::int64_t* part : parts) {
    const auto value = sound ? take_count(rest) : std::nullopt;
    sound = value.has_value();
    *part = value.value_or(0);
  }
  if (sound && rest.starts_with(kTensorParallel)) {
    rest.remove_prefix(kTensorParallel.size());
    const auto value = take_count(rest);
    sound = value.has_value();
    parsed.tensor_parallel_size = value.value_or(0);
  }
  if (!sound || !rest.empty()) {
    return core::fail(core::Error{
        .message = "the name is not HEADS-KVHEADS-HEADDIM.csv, nor HEADS-KVHEADS-HEADDIM-tpN.csv",
        .where = {.file = path}});
  }
  return parsed;
}

core::Result<KernelTables> load_bench_data(const std::string& directory, const std::string& gpu) {
  return BenchDataReader(directory, gpu).read();
}

}  // namespace ridgeline::latency::measured
