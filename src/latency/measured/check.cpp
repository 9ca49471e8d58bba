#include "latency/measured/check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "latency/measured/check_experts.hpp"
#include "latency/measured/check_folder.hpp"
#include "latency/measured/check_kernel.hpp"
#include "latency/measured/check_operators.hpp"
#include "latency/measured/check_rows.hpp"
#include "latency/measured/contradictions.hpp"
#include "latency/measured/data_sheets.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/make_tables.hpp"
#include "latency/measured/measured_kernels.hpp"
#include "latency/measured/operator_tables.hpp"
#include "latency/measured/surfaces.hpp"
#include "latency/measured/table_notes.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::measured {
namespace {

namespace fs = std::filesystem;

std::string in_folder(const std::string& folder, const std::string& name) {
  return (fs::path(folder) / name).string();
}

/// InferSim's layout, one GPU after the other.
class LayoutCheck {
 public:
  explicit LayoutCheck(std::string directory) : directory_(std::move(directory)) {}

  core::Result<TableCheck> run() && {
    for (const std::string& gpu : gpus()) {
      gpu_ = gpu;
      peaks_ = known_peaks(gpu);
      // Attention first: its peak tells what that of the GEMMs is.
      const double attention = check_decode();
      check_prefill(attention);
      check_gemm(attention);
      check_latent_attention(directory_, gpu, peaks_, attention, check_);
      check_grouped_gemms(directory_, gpu, check_);
      serve();
    }
    if (check_.kernels.empty() && check_.refused.empty()) {
      return core::fail(core::Error{.message =
                                        "has no kernel tables, expected gemm/, mha/, mla/ or "
                                        "grouped_gemm/ with a folder per GPU, or "
                                        "AIConfigurator's *_perf.csv files",
                                    .where = {.file = directory_}});
    }
    note_folders_not_read(directory_, check_);
    return std::move(check_);
  }

 private:
  [[nodiscard]] std::string folder(const char* kind) const {
    return in_folder(in_folder(directory_, kind), gpu_);
  }

  [[nodiscard]] std::set<std::string> gpus() const {
    std::set<std::string> names;
    for (const char* kind : {"gemm",
                             "mha/prefill",
                             "mha/decode",
                             "mla/prefill",
                             "mla/decode",
                             "grouped_gemm/prefill",
                             "grouped_gemm/decode"}) {
      std::error_code error;
      fs::directory_iterator at(in_folder(directory_, kind), error);
      for (const fs::directory_iterator end; !error && at != end; at.increment(error)) {
        if (at->is_directory(error)) {
          names.insert(at->path().filename().string());
        }
      }
    }
    return names;
  }

  void refuse(const core::Errors& errors) {
    check_.refused.insert(check_.refused.end(), errors.begin(), errors.end());
  }

  KernelCheck& add_kernel(const char* kernel, std::size_t files) {
    KernelCheck& made = check_.kernels.emplace_back();
    made.gpu = gpu_;
    made.kernel = kernel;
    made.files = files;
    return made;
  }

  /// Notes errors of interpolation and the largest change, of one table among several.
  void note_surface(const std::string& file,
                    const measured::LeaveOneOut& out,
                    const measured::SurfaceChange& change,
                    KernelCheck& kernel) {
    left_out_.errors.insert(left_out_.errors.end(), out.errors.begin(), out.errors.end());
    std::ranges::sort(left_out_.errors);
    if (!left_out_.errors.empty()) {
      kernel.median_error = left_out_.quantile(0.5);
      kernel.p90_error = left_out_.quantile(0.9);
    }
    if (std::abs(change.ratio - 1.0) > std::abs(kernel.largest_change - 1.0)) {
      kernel.largest_change = change.ratio;
      kernel.largest_change_at =
          fmt::format("{}, {}", fs::path(file).filename().string(), change.where);
    }
  }

  void note_if_made(std::string_view text, const std::string& path) {
    if (is_made_table(text)) {
      check_.findings.push_back(
          {.code = "made",
           .file = path,
           .line = 0,
           .message = "made by the kernel model (`kernels make`), not measured"});
    }
  }

  double check_decode() {
    const auto tables = read_named_folder<DecodeTable>(
        folder("mha/decode"),
        check_.refused,
        [this](const auto& text, const auto& path, const AttentionFileName& name) {
          note_if_made(text, path);
          return read_decode_table(text, path, name.shape, name.tensor_parallel_size);
        });
    if (tables.empty()) {
      return 0.0;
    }
    left_out_ = {};
    KernelCheck& kernel = add_kernel("decode attention", tables.size());
    for (const DecodeTable& table : tables) {
      note_holes(table);
      note_decode_surface(table, kernel);
      shapes_.insert(table.key().shape);
    }
    const auto rows = all_checked_rows(tables, peaks_);
    check_mfu(decode_countings(), rows, peaks_.bf16, kernel, check_.findings);
    judge_attention(rows, peaks_, kernel, check_.findings);
    return kernel.convention.peak.middle();
  }

  void note_holes(const DecodeTable& table) {
    std::vector<std::string> holes;
    for (std::size_t i = 0; i < table.batch_sizes().size(); ++i) {
      for (std::size_t j = 0; j < table.kv_lens().size(); ++j) {
        if (table.cell(i, j) == DecodeTable::kNoRow) {
          holes.push_back(fmt::format("({}, {})", table.batch_sizes()[i], table.kv_lens()[j]));
        }
      }
    }
    if (!holes.empty()) {
      check_.findings.push_back(
          {.code = "hole",
           .file = table.path(),
           .line = 0,
           .message = fmt::format("{} of {} cells (batch, kv) are missing: {}",
                                  holes.size(),
                                  table.batch_sizes().size() * table.kv_lens().size(),
                                  fmt::join(holes, " "))});
    }
  }

  void note_decode_surface(const DecodeTable& table, KernelCheck& kernel) {
    MeasuredDecode measured;
    const bool outlier = first_row_is_outlier(table) && table.rows().size() > 1;
    for (const DecodeRow& row : table.rows().subspan(outlier ? 1 : 0)) {
      measured.points.push_back(
          {.batch_size = row.batch_size, .kv_len = row.kv_len, .us = row.latency_us});
    }
    if (outlier) {
      const DecodeRow& first = table.rows().front();
      check_.findings.push_back(
          {.code = "warm-up",
           .file = table.path(),
           .line = first.line,
           .message = fmt::format("batch {}, kv {}: the first row measured, {} us, is slower than "
                                  "harder ones after it",
                                  first.batch_size,
                                  first.kv_len,
                                  first.latency_us)});
    }
    note_surface(table.path(),
                 measured::leave_one_out(measured),
                 measured::DecodeSurface(measured).change(),
                 kernel);
  }

  void check_prefill(double attention_peak) {
    const auto tables = read_named_folder<PrefillTable>(
        folder("mha/prefill"),
        check_.refused,
        [this](const auto& text, const auto& path, const AttentionFileName& name) {
          note_if_made(text, path);
          return read_prefill_table(text, path, name.shape);
        });
    if (tables.empty()) {
      return;
    }
    left_out_ = {};
    KernelCheck& kernel = add_kernel("prefill attention", tables.size());
    for (const PrefillTable& table : tables) {
      std::vector<PrefillPoint> points;
      for (const PrefillRow& row : table.rows()) {
        points.push_back({.seq_len = row.seq_len, .us = row.latency_us});
      }
      note_surface(table.path(),
                   measured::leave_one_out(points),
                   measured::PrefillCurve(points).change(),
                   kernel);
      shapes_.insert(table.shape());
    }
    const auto rows = all_checked_rows(tables, peaks_);
    check_mfu(prefill_countings(),
              rows,
              peaks_.bf16 > 0.0 ? peaks_.bf16 : attention_peak,
              kernel,
              check_.findings);
    judge_attention(rows, peaks_, kernel, check_.findings);
  }

  void check_gemm(double attention_peak) {
    const std::string path = in_folder(folder("gemm"), "data.csv");
    std::error_code error;
    if (!fs::exists(path, error)) {
      return;
    }
    const auto text = document::read_file(path);
    if (!text) {
      refuse(text.error());
      return;
    }
    note_if_made(*text, path);
    const auto reading = read_gemm_table(*text, path);
    refuse(reading.errors);
    if (reading.tables.empty()) {
      return;
    }
    left_out_ = {};
    KernelCheck& kernel = add_kernel("gemm", 1);
    MeasuredGemm measured;
    for (const GemmRow& row : reading.tables.front().rows()) {
      measured.points.push_back({.m = row.m, .k = row.k, .n = row.n, .us = row.latency_us});
    }
    const auto rows = checked_rows(reading.tables.front(), peaks_);
    check_mfu(gemm_countings(), rows, 0.0, kernel, check_.findings);
    note_surface(path,
                 measured::leave_one_out(measured),
                 measured::GemmSurface(measured, 1.0, [](const auto&) { return 1.0; }).change(),
                 kernel);
    judge_gemm(rows, peaks_, attention_peak, kernel, check_.findings);
  }

  void serve() {
    std::map<HeadShape, std::vector<std::string>> networks;
    for (const std::string& name : model::catalogue_names()) {
      const auto network = model::find_model(name);
      if (!network) {
        continue;
      }
      for (const model::Operator& op : model::forward_pass(*network, {})) {
        const auto* attention = std::get_if<model::Attention>(&op.shape);
        if (attention != nullptr) {
          auto& served = networks[{attention->heads, attention->kv_heads, attention->head_dim}];
          if (served.empty() || served.back() != name) {
            served.push_back(name);
          }
        }
      }
    }
    for (const HeadShape& shape : shapes_) {
      check_.served.push_back(
          {.gpu = gpu_, .shape = to_string(shape), .networks = networks[shape]});
    }
    shapes_.clear();
  }

  std::string directory_;
  std::string gpu_;
  KnownPeaks peaks_;
  TableCheck check_;
  std::set<HeadShape> shapes_;
  measured::LeaveOneOut left_out_;
};

}  // namespace

core::Result<TableCheck> check_tables(const std::string& directory) {
  std::error_code error;
  const auto status = fs::status(directory, error);
  if (!fs::is_directory(status)) {
    return core::fail(core::Error{
        .message = fs::exists(status) ? "is not a folder, expected a folder of kernel tables"
                                      : "no such folder",
        .where = {.file = directory},
        .hint = where_tables_come_from()});
  }
  return holds_operator_tables(directory) ? check_operator_tables(directory)
                                          : LayoutCheck(directory).run();
}

}  // namespace ridgeline::latency::measured
