#include "latency/measured/check_experts.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "latency/measured/check.hpp"
#include "latency/measured/check_folder.hpp"
#include "latency/measured/check_kernel.hpp"
#include "latency/measured/contradictions.hpp"
#include "latency/measured/data_sheets.hpp"
#include "latency/measured/expert_tables.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/measured_kernels.hpp"

namespace ridgeline::latency::measured {
namespace {

namespace fs = std::filesystem;

constexpr double kFlopsPerTera = 1e12;
constexpr double kSecondsPerMicro = 1e-6;

double real_count(std::int64_t count) {
  return static_cast<double>(count);
}

std::string gpu_folder(const std::string& directory, const char* kind, const std::string& gpu) {
  return (fs::path(directory) / kind / gpu).string();
}

/// The name of a file of latent attention has three numbers as that of plain attention has.
LatentShape latent_shape(const HeadShape& name) {
  return {.heads = name.heads, .width = name.kv_heads, .rotated = name.head_dim};
}

void add_latent_check(const std::string& gpu,
                      const char* kernel,
                      std::size_t files,
                      const std::vector<std::string>& conventions,
                      const std::vector<CheckedRow>& rows,
                      const KnownPeaks& peaks,
                      double expected,
                      TableCheck& into) {
  if (rows.empty()) {
    return;
  }
  KernelCheck& made = into.kernels.emplace_back();
  made.gpu = gpu;
  made.kernel = kernel;
  made.files = files;
  check_mfu(conventions, rows, expected, made, into.findings);
  judge_attention(rows, peaks, made, into.findings);
}

/// Peaks that the rows of one projection imply, in TFLOP/s.
struct ImpliedPeaks {
  std::vector<double> values;

  /// 0 where the MFU was rounded to it.
  static double of(double flops, double us, double mfu) {
    return mfu > 0.0 ? flops / (us * kSecondsPerMicro) / kFlopsPerTera / mfu : 0.0;
  }
  void add(double flops, double us, double mfu) {
    if (mfu > 0.0) {
      values.push_back(of(flops, us, mfu));
    }
  }
  [[nodiscard]] double at(double share) const {
    return values[static_cast<std::size_t>(share * real_count(std::ssize(values) - 1))];
  }
};

}  // namespace

void check_latent_attention(const std::string& directory,
                            const std::string& gpu,
                            const KnownPeaks& peaks,
                            double attention_peak,
                            TableCheck& into) {
  const double expected = peaks.bf16 > 0.0 ? peaks.bf16 : attention_peak;
  const auto most = [&](const std::string& dtype) {
    return is_8bit_type(dtype) ? peaks.most() : peaks.bf16;
  };
  const auto decodes = read_named_folder<DecodeTable>(
      gpu_folder(directory, "mla/decode", gpu),
      into.refused,
      [](const auto& text, const auto& path, const AttentionFileName& name) {
        return read_decode_table(text, path, name.shape, name.tensor_parallel_size);
      });
  std::vector<CheckedRow> rows;
  for (const DecodeTable& table : decodes) {
    const LatentShape shape = latent_shape(table.key().shape);
    for (const DecodeRow& row : table.rows()) {
      const double pairs = real_count(row.batch_size) * real_count(row.kv_len);
      rows.push_back({.file = table.path(),
                      .line = row.line,
                      .what = fmt::format("batch {}, kv {}", row.batch_size, row.kv_len),
                      .latency_us = row.latency_us,
                      .mfu = row.mfu,
                      .flops = {pairs * shape.flops_per_pair()},
                      .most_tflops = most(table.key().dtype)});
    }
  }
  add_latent_check(
      gpu, "decode latent attention", decodes.size(), {"all heads"}, rows, peaks, expected, into);

  const auto prefills = read_named_folder<PrefillTable>(
      gpu_folder(directory, "mla/prefill", gpu),
      into.refused,
      [](const auto& text, const auto& path, const AttentionFileName& name) {
        return read_prefill_table(text, path, name.shape);
      });
  rows.clear();
  for (const PrefillTable& table : prefills) {
    const LatentShape shape = latent_shape(table.shape());
    for (const PrefillRow& row : table.rows()) {
      const double dense =
          real_count(row.seq_len) * real_count(row.seq_len) * shape.flops_per_pair();
      rows.push_back({.file = table.path(),
                      .line = row.line,
                      .what = fmt::format("length {}", row.seq_len),
                      .latency_us = row.latency_us,
                      .mfu = row.mfu,
                      .flops = {dense / 2.0, dense},
                      .most_tflops = most(table.dtype())});
    }
  }
  add_latent_check(gpu,
                   "prefill latent attention",
                   prefills.size(),
                   {"causal half, all heads", "dense, all heads"},
                   rows,
                   peaks,
                   expected,
                   into);
}

void check_grouped_gemms(const std::string& directory, const std::string& gpu, TableCheck& into) {
  for (const bool prefill : {true, false}) {
    const auto tables = read_folder<GroupedGemmTable>(
        gpu_folder(directory, prefill ? "grouped_gemm/prefill" : "grouped_gemm/decode", gpu),
        into.refused,
        [&](const std::string& text, const std::string& path) {
          return read_grouped_gemm_table(text, path, prefill);
        });
    if (tables.empty()) {
      continue;
    }
    ImpliedPeaks peaks;
    std::vector<double> up_peaks;
    std::size_t rows = 0;
    for (const GroupedGemmTable& table : tables) {
      for (const GroupedGemmRow& row : table.rows()) {
        // One of the two matrices that an expert is.
        const double matrix = 2.0 * real_count(row.local_experts) *
                              real_count(row.tokens_per_expert) * real_count(row.hidden) *
                              real_count(row.intermediate);
        peaks.add(2.0 * matrix, row.up_us, row.up_mfu);
        peaks.add(matrix, row.down_us, row.down_mfu);
        up_peaks.push_back(peaks.of(2.0 * matrix, row.up_us, row.up_mfu));
        ++rows;
      }
    }
    if (peaks.values.empty()) {
      continue;
    }
    std::ranges::sort(peaks.values);
    KernelCheck& made = into.kernels.emplace_back();
    made.gpu = gpu;
    made.kernel = prefill ? "prefill grouped gemm" : "decode grouped gemm";
    made.files = tables.size();
    made.rows = rows;
    made.convention.name =
        "tokens_per_expert on each local expert (peak: the middle half of the rows)";
    made.convention.peak = {.low = peaks.at(0.25), .high = peaks.at(0.75)};
    made.convention.agreeing =
        static_cast<std::size_t>(std::ranges::count_if(up_peaks, [&](double peak) {
          return peak >= made.convention.peak.low && peak <= made.convention.peak.high;
        }));
    into.findings.push_back(
        {.code = "drawn-tokens",
         .file = tables.front().path(),
         .line = 0,
         .message = fmt::format(
             "the MFUs mean {:.4g} TFLOP/s in the median row, but {:.4g} to {:.4g} over nine rows "
             "in ten: they count the tokens that were drawn for each expert, and "
             "tokens_per_expert is their average",
             peaks.at(0.5),
             peaks.at(0.05),
             peaks.at(0.95))});
  }
}

void note_folders_not_read(const std::string& directory, TableCheck& into) {
  constexpr std::array<std::string_view, 4> kRead = {"gemm", "mha", "mla", "grouped_gemm"};
  std::vector<std::string> others;
  std::error_code error;
  fs::directory_iterator at(directory, error);
  for (const fs::directory_iterator end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (at->is_directory(error) && std::ranges::find(kRead, name) == kRead.end()) {
      others.push_back(name);
    }
  }
  std::ranges::sort(others);
  for (const std::string& name : others) {
    into.findings.push_back(
        {.code = "not-read",
         .file = (fs::path(directory) / name).string(),
         .line = 0,
         .message = fmt::format("none of the kinds that are read: {}/", fmt::join(kRead, "/, "))});
  }
}

}  // namespace ridgeline::latency::measured
