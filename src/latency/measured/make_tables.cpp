#include "latency/measured/make_tables.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/calibration.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/kernel/decode_attention.hpp"
#include "latency/kernel/gemm.hpp"
#include "latency/kernel/prefill_attention.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/measured_kernels.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::measured {
namespace {

/// How the header of every made table ends.
constexpr std::string_view kMadeColumns = ",source,expected_error_pct\n";

constexpr std::int64_t kLargestRows = 131072;
constexpr std::int64_t kLargestBatch = 512;
constexpr std::int64_t kSmallestLength = 64;
constexpr std::int64_t kLargestLength = 131072;
/// Hidden sizes, projections and feed-forward widths of the catalogue's networks, and their parts.
constexpr std::array<std::int64_t, 10> kInner = {
    512, 1024, 2048, 3584, 4096, 5120, 8192, 11008, 14336, 28672};
constexpr std::array<std::int64_t, 12> kOuter = {
    512, 1024, 2048, 3584, 4096, 5120, 6144, 8192, 11008, 14336, 28672, 57344};
constexpr double kMicroseconds = 1e6;

/// Median and 90th percentile of the formulas' error, percent: where a cell lies inside what was
/// fitted, and outside. Against the tables that the constants were fitted on (docs/models/kernel.md
/// for H100; the same fit for the others); `generic`: of GPUs left out of the fit.
struct FitError {
  double inside;
  double outside;
};
struct FitErrors {
  std::string_view column;
  FitError gemm;
  FitError decode;
  FitError prefill;
};
constexpr std::array<FitErrors, 5> kFitErrors = {
    {{"h100", {5.2, 15.5}, {3.0, 24.6}, {11.7, 35.7}},
     {"h200", {6.4, 14.0}, {7.3, 41.0}, {9.0, 26.0}},
     {"a100-80gb", {5.4, 15.0}, {4.6, 13.0}, {5.2, 16.0}},
     {"l40s", {6.0, 15.0}, {1.9, 8.0}, {10.1, 23.0}},
     {"generic", {11.4, 21.0}, {17.7, 35.0}, {24.0, 43.0}}}};
/// What the fit saw: weights of 8 MB or more and 16k rows or less; KV caches beyond 1.3 times the
/// L2 cache; prompts of 512 tokens or more.
constexpr double kFittedWeightBytes = 8e6;
constexpr std::int64_t kFittedRows = 16384;
constexpr double kFittedCacheShare = 1.3;
constexpr std::int64_t kFittedLength = 512;

double as_real(std::int64_t count) {
  return static_cast<double>(count);
}

std::vector<std::int64_t> doublings(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> ticks;
  for (std::int64_t tick = first; tick <= last; tick *= 2) {
    ticks.push_back(tick);
  }
  return ticks;
}

/// "kernel (h100)" is of the column h100; another GPU of the architecture is as good as left out.
const FitErrors& fit_errors(const std::string& source) {
  for (const FitErrors& errors : kFitErrors) {
    if (source == fmt::format("kernel ({})", errors.column)) {
      return errors;
    }
  }
  return kFitErrors.back();
}

class TableMaker {
 public:
  explicit TableMaker(const hardware::GpuSpec& gpu)
      : gpu_(gpu), calibration_(kernel::calibrate(kernel::builtin_constants(), gpu)) {}

  [[nodiscard]] MadeFile gemm() const {
    std::string text = "m,k,n,latency_us,mfu" + std::string(kMadeColumns);
    const auto format = kernel::matmul_format(model::DType::kBf16, gpu_);
    const auto& constants = calibration_.gemm_16bit;
    const FitError error = fit_errors(constants.source).gemm;
    for (const std::int64_t k : kInner) {
      for (const std::int64_t n : kOuter) {
        for (const std::int64_t m : doublings(1, kLargestRows)) {
          const auto cost = kernel::gemm({.m = m, .k = k, .n = n}, format, constants.values, gpu_);
          const bool inside = format.weight_bytes * as_real(k) * as_real(n) >= kFittedWeightBytes &&
                              m <= kFittedRows;
          text +=
              fmt::format("{},{},{},", m, k, n) +
              cell(cost.time, cost.flops, constants.source, inside ? error.inside : error.outside);
        }
      }
    }
    return {.name = fmt::format("gemm/{}/data.csv", gpu_.name), .text = std::move(text)};
  }

  [[nodiscard]] MadeFile prefill(const HeadShape& shape) const {
    std::string text = "dtype,seq_len,latency_us,mfu" + std::string(kMadeColumns);
    const auto& constants = calibration_.prefill_attention;
    const FitError error = fit_errors(constants.source).prefill;
    for (const std::int64_t length : doublings(kSmallestLength, kLargestLength)) {
      kernel::PrefillCall call;
      call.add({.past = {}, .new_tokens = core::Tokens(length), .samples = true});
      const auto cost = kernel::prefill_attention(
          call, attention(shape), constants.values, calibration_.attention, gpu_);
      text += fmt::format("bf16,{},", length) +
              cell(cost.time,
                   cost.flops,
                   constants.source,
                   length >= kFittedLength ? error.inside : error.outside);
    }
    return {.name = fmt::format("mha/prefill/{}/{}.csv", gpu_.name, to_string(shape)),
            .text = std::move(text)};
  }

  [[nodiscard]] MadeFile decode(const HeadShape& shape, std::int64_t ranks) const {
    std::string text =
        "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu" + std::string(kMadeColumns);
    const auto& constants = calibration_.decode_attention;
    const FitError error = fit_errors(constants.source).decode;
    const auto rank = attention(rank_shape(shape, ranks));
    for (const std::int64_t batch : doublings(1, kLargestBatch)) {
      for (const std::int64_t kv_len : doublings(kSmallestLength, kLargestLength)) {
        // The table's kv_len is what the kernel reads; its formula adds the new token itself.
        const kernel::DecodeCall call{.sequences = batch,
                                      .tokens = batch,
                                      .context = batch * (kv_len - 1),
                                      .pairs = as_real(batch) * as_real(kv_len)};
        const auto cost = kernel::decode_attention(call, rank, constants.values, gpu_);
        const core::Bytes kv = kernel::kv_bytes(rank) * (as_real(batch) * as_real(kv_len));
        const bool inside = kv > gpu_.l2_cache * kFittedCacheShare;
        text +=
            fmt::format("bf16,bf16,{},{},", batch, kv_len) +
            cell(cost.time, cost.flops, constants.source, inside ? error.inside : error.outside);
      }
    }
    return {.name = fmt::format("mha/decode/{}/{}-tp{}.csv", gpu_.name, to_string(shape), ranks),
            .text = std::move(text)};
  }

 private:
  [[nodiscard]] static model::Attention attention(const HeadShape& shape) {
    return {.heads = shape.heads,
            .kv_heads = shape.kv_heads,
            .head_dim = shape.head_dim,
            .kv = model::DType::kBf16};
  }

  [[nodiscard]] std::string cell(core::Seconds time,
                                 core::Flops flops,
                                 const std::string& source,
                                 double error) const {
    const double mfu = flops / gpu_.peak_bf16 / time;
    return fmt::format("{},{},{},{}\n",
                       core::shortest(time.value() * kMicroseconds),
                       core::shortest(mfu),
                       source,
                       error);
  }

  const hardware::GpuSpec& gpu_;
  kernel::Calibration calibration_;
};

}  // namespace

core::Result<std::vector<MadeFile>> make_tables(const hardware::GpuSpec& gpu,
                                                const MakeRequest& request) {
  if (auto facts = kernel::check_gpu(gpu, {}); !facts) {
    return core::fail(std::move(facts).error());
  }
  core::Errors errors;
  for (const HeadShape& shape : request.heads) {
    for (const std::int64_t ranks : request.tensor_parallel_sizes) {
      if (shape.heads % ranks != 0) {
        errors.push_back({.field = "--tp",
                          .message = fmt::format("{} does not divide the {} query heads of {}",
                                                 ranks,
                                                 shape.heads,
                                                 to_string(shape)),
                          .where = {.file = "command line"}});
      }
    }
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  const TableMaker maker(gpu);
  std::vector<MadeFile> files = {maker.gemm()};
  for (const HeadShape& shape : request.heads) {
    files.push_back(maker.prefill(shape));
    for (const std::int64_t ranks : request.tensor_parallel_sizes) {
      files.push_back(maker.decode(shape, ranks));
    }
  }
  return files;
}

bool is_made_table(std::string_view text) {
  return text.substr(0, text.find('\n') + 1).ends_with(kMadeColumns);
}

core::Result<KernelTables> made_kernel_tables(const hardware::GpuSpec& gpu,
                                              const MakeRequest& request) {
  const auto files = make_tables(gpu, request);
  if (!files) {
    return core::fail(files.error());
  }
  KernelTables tables;
  tables.directory = "kernel model";
  tables.gpu = gpu.name;
  tables.prefill_folder = fmt::format("mha/prefill/{}", gpu.name);
  tables.decode_folder = fmt::format("mha/decode/{}", gpu.name);
  for (const MadeFile& file : *files) {
    tables.made.push_back(file.name);
    if (file.name.starts_with("gemm/")) {
      tables.gemm = read_gemm_table(file.text, file.name).tables.at(0);
      continue;
    }
    const auto name = parse_attention_file_name(file.name);
    RIDGELINE_CHECK(name.has_value(), "made tables have readable names");
    if (file.name.starts_with("mha/prefill/")) {
      tables.prefill.push_back(read_prefill_table(file.text, file.name, name->shape).tables.at(0));
    } else {
      tables.decode.push_back(
          read_decode_table(file.text, file.name, name->shape, name->tensor_parallel_size)
              .tables.at(0));
    }
  }
  std::ranges::sort(tables.prefill, {}, &PrefillTable::path);
  std::ranges::sort(tables.decode, {}, &DecodeTable::path);
  return tables;
}

}  // namespace ridgeline::latency::measured
