#include "latency/fit/table_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/fit/samples.hpp"
#include "latency/kernel/all_reduce.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/measured/csv_columns.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::fit {
namespace {

using measured::CellKind;
using measured::CsvColumn;
using measured::CsvRows;

constexpr double kSecondsPerMillisecond = 1e-3;
constexpr double kSecondsPerMicrosecond = 1e-6;
/// All-reduce tables count elements of 16 bit.
constexpr double kBytesPerMessageElement = 2.0;
constexpr double kBytesPerKibibyte = 1024.0;
/// A product of any two counts of a row stays in range.
constexpr double kMostOfAnything = 1073741824.0;

/// The formats whose products the kernel model prices as they stand. Others (weight-only INT4 and
/// INT8) are other kernels.
std::optional<model::DType> measured_dtype(std::string_view word) {
  if (word == "bfloat16" || word == "bf16" || word == "float16") {
    return model::DType::kBf16;
  }
  if (word == "fp8") {
    return model::DType::kFp8;
  }
  if (word == "fp8_block") {
    return model::DType::kFp8Block;
  }
  if (word == "nvfp4") {
    return model::DType::kNvfp4;
  }
  return std::nullopt;
}

constexpr std::string_view kMxfp8Activations = "w4a8_mxfp4_mxfp8";

/// Experts' kernels for weights narrower than the products are fitted too: INT4, and MXFP4 as
/// gpt-oss has it (other networks' MXFP4 takes another kernel).
std::optional<model::DType> expert_dtype(std::string_view word, std::string_view kernel) {
  if (word == "int4_wo") {
    return model::DType::kInt4;
  }
  const bool mxfp4 = word == "w4a16_mxfp4" || word == kMxfp8Activations;
  if (mxfp4 && kernel.find("compressedtensors") == std::string_view::npos) {
    return model::DType::kMxfp4;
  }
  return measured_dtype(word);
}

bool is_weight_only(std::string_view word) {
  return word == "int4_wo" || word == "w4a16_mxfp4";
}

/// Whether the header names a column that only some tables have.
bool has_column(std::string_view text, std::string_view column) {
  std::string_view header = text.substr(0, text.find_first_of("\r\n"));
  while (!header.empty()) {
    const auto comma = header.find(',');
    if (header.substr(0, comma) == column) {
      return true;
    }
    header.remove_prefix(comma == std::string_view::npos ? header.size() : comma + 1);
  }
  return false;
}

struct TableText {
  std::string_view text;
  const std::string& file;
  std::string_view kernel_source = {};  ///< That alone is read; empty: all.
};

constexpr std::string_view kSourceColumn = "kernel_source";

/// Leaves the rows whose word in that column is `word`.
void keep_rows(CsvRows& rows, std::size_t of, std::string_view word) {
  const std::vector<std::string_view> words = rows.words[of];
  const auto keep = [&](auto& column) {
    std::size_t next = 0;
    for (std::size_t row = 0; row < column.size(); ++row) {
      if (words[row] == word) {
        column[next++] = column[row];
      }
    }
    column.resize(next);
  };
  std::ranges::for_each(rows.words, keep);
  std::ranges::for_each(rows.numbers, keep);
  keep(rows.lines);
}

constexpr std::string_view kBytesColumn = "bytes";

/// Counts that are multiplied with others, and so are bounded.
bool is_factor(const CsvColumn& column) {
  return column.kind != CellKind::kMicroseconds && column.kind != CellKind::kMilliseconds &&
         column.name != kBytesColumn;
}

core::Result<CsvRows> rows_of(const TableText& table, std::vector<CsvColumn> columns) {
  auto source = std::ranges::find(columns, kSourceColumn, &CsvColumn::name);
  if (source == columns.end() && !table.kernel_source.empty()) {
    columns.push_back({kSourceColumn, CellKind::kWord});
    source = std::prev(columns.end());
  }
  CsvRows rows = measured::read_csv(table.text, table.file, columns);
  if (!table.kernel_source.empty()) {
    keep_rows(rows, static_cast<std::size_t>(source - columns.begin()), table.kernel_source);
  }
  for (std::size_t column = 0; column < columns.size(); ++column) {
    for (std::size_t row = 0; row < rows.numbers[column].size(); ++row) {
      if (is_factor(columns[column]) && rows.numbers[column][row] > kMostOfAnything) {
        measured::note_problem(
            rows.errors,
            table.file,
            rows.lines[row],
            std::string(columns[column].name),
            fmt::format(
                "found {}, expected at most {}", rows.numbers[column][row], kMostOfAnything));
      }
    }
  }
  if (!rows.errors.empty()) {
    return core::fail(std::move(rows.errors));
  }
  return rows;
}

/// Source of a kernel with vLLM's name, "DeepGemmFp8BlockScaledMMKernel" and the like.
BlockGemmSource block_gemm_source(std::string_view kernel) {
  return kernel.starts_with("DeepGemm")             ? BlockGemmSource::kDeepGemm
         : kernel.starts_with("FlashInferFp8Block") ? BlockGemmSource::kFlashInfer
                                                    : BlockGemmSource::kDefault;
}

std::vector<Sample> gemm_samples(const CsvRows& rows, double unit, bool names_kernels) {
  std::vector<Sample> samples;
  for (std::size_t row = 0; row < rows.lines.size(); ++row) {
    if (const auto weights = measured_dtype(rows.words[0][row])) {
      samples.push_back(
          {.call = GemmCall{.shape = {.m = rows.count(1, row),
                                      .k = rows.count(2, row),
                                      .n = rows.count(3, row)},
                            .weights = *weights,
                            .source = names_kernels ? block_gemm_source(rows.words[5][row])
                                                    : BlockGemmSource::kDefault},
           .time = core::Seconds(rows.numbers[4][row] * unit)});
    }
  }
  return samples;
}

core::Result<std::vector<Sample>> read_gemm(const TableText& table, TableSource source) {
  const bool published = source == TableSource::kAiconfigurator;
  std::vector<CsvColumn> columns = {{published ? "gemm_dtype" : "dtype", CellKind::kWord},
                                    {"m"},
                                    {"k"},
                                    {"n"},
                                    published ? CsvColumn{"latency", CellKind::kMilliseconds}
                                              : CsvColumn{"latency_us", CellKind::kMicroseconds}};
  const bool names_kernels =
      published && table.kernel_source.empty() && has_column(table.text, kSourceColumn);
  if (names_kernels) {
    columns.push_back({kSourceColumn, CellKind::kWord});
  }
  auto rows = rows_of(table, columns);
  if (!rows) {
    return core::fail(std::move(rows).error());
  }
  return gemm_samples(
      *rows, published ? kSecondsPerMillisecond : kSecondsPerMicrosecond, names_kernels);
}

Sample decode_sample(std::int64_t batch,
                     std::int64_t context,
                     const model::Attention& shape,
                     double seconds) {
  const std::int64_t all = batch * context;
  return {.call = DecodeAttentionCall{.call = {.sequences = batch,
                                               .tokens = batch,
                                               .context = all,
                                               .pairs = kernel::real(all + batch)},
                                      .shape = shape},
          .time = core::Seconds(seconds)};
}

Sample prefill_sample(std::int64_t batch,
                      std::int64_t past,
                      std::int64_t count,
                      const model::Attention& shape,
                      double seconds) {
  kernel::PrefillCall call;
  call.add({.past = core::Tokens(past), .new_tokens = core::Tokens(count)});
  call.chunks *= batch;
  call.new_tokens *= batch;
  call.kv_tokens *= batch;
  call.pairs *= kernel::real(batch);
  return {.call = PrefillAttentionCall{.call = call, .shape = shape},
          .time = core::Seconds(seconds)};
}

core::Result<std::vector<Sample>> read_published_attention(const TableText& table, bool decode) {
  const bool windows = has_column(table.text, "window_size");
  std::vector<CsvColumn> columns = {{"batch_size"},
                                    {"isl"},
                                    {"num_heads"},
                                    {"num_key_value_heads", CellKind::kFraction},
                                    {"head_dim"},
                                    {"attn_dtype", CellKind::kWord},
                                    {"kv_cache_dtype", CellKind::kWord},
                                    {"step", CellKind::kFraction},
                                    {"latency", CellKind::kMilliseconds}};
  if (windows) {
    columns.push_back({"window_size", CellKind::kFraction});
  }
  auto rows = rows_of(table, columns);
  if (!rows) {
    return core::fail(std::move(rows).error());
  }
  std::vector<Sample> samples;
  for (std::size_t row = 0; row < rows->lines.size(); ++row) {
    const auto products = measured_dtype(rows->words[5][row]);
    const auto cache = measured_dtype(rows->words[6][row]);
    if (products != model::DType::kBf16 || !cache || (windows && rows->numbers[9][row] > 0.0)) {
      continue;
    }
    const std::int64_t heads = rows->count(2, row);
    // 0 key-value heads: as many as query heads.
    const std::int64_t kv_heads = rows->count(3, row) > 0 ? rows->count(3, row) : heads;
    const model::Attention shape{
        .heads = heads, .kv_heads = kv_heads, .head_dim = rows->count(4, row), .kv = *cache};
    const double seconds = rows->numbers[8][row] * kSecondsPerMillisecond;
    const std::int64_t batch = rows->count(0, row);
    const std::int64_t length = rows->count(1, row);
    // A decode sees the prompt and the tokens so far; its own is one of them.
    samples.push_back(decode
                          ? decode_sample(batch, length + rows->count(7, row) - 1, shape, seconds)
                          : prefill_sample(batch, 0, length, shape, seconds));
  }
  return samples;
}

/// The samples whose kernel an engine would run. PyTorch has only its FlashAttention 2 for a chunk
/// behind a prefix, where engines run one kernel for all prompts: such samples count only if the
/// sample of the highest rate ran it, too.
std::vector<Sample> of_engines_kernels(const std::vector<Sample>& samples,
                                       const std::vector<std::string>& kernels) {
  const auto rate = [](const Sample& sample) {
    const auto& [call, shape] = std::get<PrefillAttentionCall>(sample.call);
    return call.pairs * kernel::real(shape.heads * shape.head_dim) / sample.time.value();
  };
  const auto fastest = std::ranges::max_element(samples, {}, rate);
  std::vector<Sample> found;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const kernel::PrefillCall& call = std::get<PrefillAttentionCall>(samples[i].call).call;
    if (call.kv_tokens == call.new_tokens ||
        kernels[i] == kernels[static_cast<std::size_t>(fastest - samples.begin())]) {
      found.push_back(samples[i]);
    }
  }
  return found;
}

core::Result<std::vector<Sample>> read_profiled_attention(const TableText& table, bool decode) {
  std::vector<CsvColumn> columns = {{"dtype", CellKind::kWord},
                                    {"heads"},
                                    {"kv_heads"},
                                    {"head_dim"},
                                    {"batch"},
                                    {"latency_us", CellKind::kMicroseconds}};
  if (decode) {
    columns.push_back({"context", CellKind::kFraction});
  } else {
    columns.push_back({"past", CellKind::kFraction});
    columns.push_back({"new"});
    columns.push_back({"kernel", CellKind::kText, true});
  }
  auto rows = rows_of(table, columns);
  if (!rows) {
    return core::fail(std::move(rows).error());
  }
  std::vector<Sample> samples;
  std::vector<std::string> kernels;
  for (std::size_t row = 0; row < rows->lines.size(); ++row) {
    if (measured_dtype(rows->words[0][row]) != model::DType::kBf16) {
      continue;
    }
    const model::Attention shape{.heads = rows->count(1, row),
                                 .kv_heads = rows->count(2, row),
                                 .head_dim = rows->count(3, row),
                                 .kv = model::DType::kBf16};
    const double seconds = rows->numbers[5][row] * kSecondsPerMicrosecond;
    const std::int64_t batch = rows->count(4, row);
    if (decode) {
      samples.push_back(decode_sample(batch, rows->count(6, row), shape, seconds));
    } else {
      samples.push_back(
          prefill_sample(batch, rows->count(6, row), rows->count(7, row), shape, seconds));
      kernels.emplace_back(rows->words[8][row]);
    }
  }
  return decode ? samples : of_engines_kernels(samples, kernels);
}

/// Experts of the tables have gate, up and down, but for Nemotron-3's, which have no gate; no
/// column tells them apart.
std::int64_t matrices_of(std::int64_t experts, std::int64_t chosen, std::int64_t width) {
  constexpr std::int64_t kNanoWidth = 1856;
  const bool is_gateless =
      (experts == 512 && chosen == 22) || (experts == 128 && width == kNanoWidth);
  return is_gateless ? 2 : 3;
}

core::Result<std::vector<Sample>> read_published_experts(const TableText& table) {
  std::vector<CsvColumn> columns = {{"moe_dtype", CellKind::kWord},
                                    {"distribution", CellKind::kWord},
                                    {"num_tokens"},
                                    {"hidden_size"},
                                    {"inter_size"},
                                    {"topk"},
                                    {"num_experts"},
                                    {"moe_tp_size"},
                                    {"moe_ep_size"},
                                    {"latency", CellKind::kMilliseconds}};
  const bool kernels = has_column(table.text, kSourceColumn);
  if (kernels) {
    columns.push_back({kSourceColumn, CellKind::kWord});
  }
  auto rows = rows_of(table, columns);
  if (!rows) {
    return core::fail(std::move(rows).error());
  }
  const bool is_sglang = table.file.find("_moe_sglang_") != std::string::npos;
  std::vector<Sample> samples;
  for (std::size_t row = 0; row < rows->lines.size(); ++row) {
    const auto weights =
        expert_dtype(rows->words[0][row], kernels ? rows->words[10][row] : std::string());
    const std::int64_t experts = rows->count(6, row);
    const std::int64_t groups = rows->count(8, row);
    if (!weights || rows->words[1][row] != "power_law_1.01" || groups > experts) {
      continue;
    }
    const std::int64_t chosen = rows->count(5, row);
    const std::int64_t width = rows->count(4, row);
    samples.push_back(
        {.call =
             ExpertCall{.shape = {.experts = experts,
                                  .experts_on_rank = experts / groups,
                                  .experts_per_token = chosen,
                                  .hidden = rows->count(3, row),
                                  .width = width / rows->count(7, row),
                                  .weights = *weights,
                                  .matrices = is_sglang ? matrices_of(experts, chosen, width) : 3},
                        .tokens = rows->count(2, row),
                        .tensor_parallel = rows->count(7, row),
                        .is_weight_only = is_weight_only(rows->words[0][row])},
         .time = core::Seconds(rows->numbers[9][row] * kSecondsPerMillisecond)});
  }
  return samples;
}

/// Experts that get a token, of the bytes that the profiler counts for a layer of them: each such
/// expert's three matrices once, beside the activations of its kernels (tools/profiler,
/// operators/grouped_gemm.py, cost()).
double experts_of_bytes(double bytes, const ExpertCall& call) {
  constexpr double kActivation = 2.0;
  const double item = call.shape.weights == model::DType::kBf16 ? 2.0 : 1.0;
  const double hidden = kernel::real(call.shape.hidden);
  const double width = kernel::real(call.shape.width);
  const double tokens = kernel::real(call.tokens);
  const double pairs = tokens * kernel::real(call.shape.experts_per_token);
  const double up = pairs * (item * hidden + kActivation * 2.0 * width);
  const double activation = pairs * kActivation * 3.0 * width;
  const double down = pairs * (item * width + kActivation * hidden);
  const double sum = kActivation * (pairs + tokens) * hidden;
  const double matrices = 3.0 * hidden * width * item;
  return std::clamp(std::round((bytes - up - activation - down - sum) / matrices),
                    1.0,
                    kernel::real(call.shape.experts));
}

core::Result<std::vector<Sample>> read_profiled_experts(const TableText& table) {
  auto rows = rows_of(table,
                      {{"dtype", CellKind::kWord},
                       {"part", CellKind::kWord},
                       {"hidden"},
                       {"width"},
                       {"experts"},
                       {"local_experts"},
                       {"top_k"},
                       {"tokens"},
                       {kBytesColumn, CellKind::kFraction},
                       {"latency_us", CellKind::kMicroseconds}});
  if (!rows) {
    return core::fail(std::move(rows).error());
  }
  std::vector<Sample> samples;
  for (std::size_t row = 0; row < rows->lines.size(); ++row) {
    const auto weights = measured_dtype(rows->words[0][row]);
    const std::int64_t experts = rows->count(4, row);
    if (!weights || rows->words[1][row] != "layer" || rows->count(5, row) != experts) {
      continue;
    }
    ExpertCall call{.shape = {.experts = experts,
                              .experts_on_rank = experts,
                              .experts_per_token = rows->count(6, row),
                              .hidden = rows->count(2, row),
                              .width = rows->count(3, row),
                              .weights = *weights},
                    .tokens = rows->count(7, row)};
    call.experts_hit = experts_of_bytes(rows->numbers[8][row], call);
    samples.push_back(
        {.call = call, .time = core::Seconds(rows->numbers[9][row] * kSecondsPerMicrosecond)});
  }
  return samples;
}

core::Result<std::vector<Sample>> read_published_all_reduce(const TableText& table) {
  // TensorRT-LLM's tables have no eager rows, nor the column.
  const bool has_backends = has_column(table.text, "backend");
  auto rows = rows_of(table,
                      {{has_backends ? "backend" : kSourceColumn, CellKind::kWord},
                       {"num_gpus"},
                       {"message_size"},
                       {"latency", CellKind::kMilliseconds}});
  if (!rows) {
    return core::fail(std::move(rows).error());
  }
  std::vector<Sample> samples;
  for (std::size_t row = 0; row < rows->lines.size(); ++row) {
    const bool in_graph = !has_backends || rows->words[0][row].ends_with("_graph");
    if (in_graph && rows->count(1, row) > 1) {
      samples.push_back({.call = AllReduceCall{.message = core::Bytes(rows->numbers[2][row] *
                                                                      kBytesPerMessageElement),
                                               .ranks = rows->count(1, row)},
                         .time = core::Seconds(rows->numbers[3][row] * kSecondsPerMillisecond)});
    }
  }
  return samples;
}

std::string_view profiled_way(core::Bytes message, std::int64_t ranks) {
  switch (kernel::all_reduce_way(message, ranks, kernel::builtin_constants().exchange)) {
    case kernel::AllReduceWay::kOneShot:
      return "one_shot";
    case kernel::AllReduceWay::kTwoShot:
      return "two_shot";
    case kernel::AllReduceWay::kNccl:
      return "nccl";
  }
  RIDGELINE_CHECK(false, "every way has a word");
}

core::Result<std::vector<Sample>> read_profiled_all_reduce(const TableText& table) {
  auto rows = rows_of(table,
                      {{"kind", CellKind::kWord},
                       {"algorithm", CellKind::kWord},
                       {"ranks"},
                       {"kibibytes"},
                       {"latency_us", CellKind::kMicroseconds}});
  if (!rows) {
    return core::fail(std::move(rows).error());
  }
  std::vector<Sample> samples;
  for (std::size_t row = 0; row < rows->lines.size(); ++row) {
    const std::int64_t ranks = rows->count(2, row);
    const core::Bytes message(rows->numbers[3][row] * kBytesPerKibibyte);
    if (rows->words[0][row] == "all_reduce" && ranks > 1 &&
        rows->words[1][row] == profiled_way(message, ranks)) {
      samples.push_back({.call = AllReduceCall{.message = message, .ranks = ranks},
                         .time = core::Seconds(rows->numbers[4][row] * kSecondsPerMicrosecond)});
    }
  }
  return samples;
}

}  // namespace

core::Result<std::vector<Sample>> read_samples(std::string_view text,
                                               const std::string& file,
                                               TableKind kind,
                                               TableSource source,
                                               std::string_view kernel_source) {
  const TableText table{.text = text, .file = file, .kernel_source = kernel_source};
  const bool published = source == TableSource::kAiconfigurator;
  switch (kind) {
    case TableKind::kGemm:
      return read_gemm(table, source);
    case TableKind::kDecodeAttention:
    case TableKind::kPrefillAttention: {
      const bool decode = kind == TableKind::kDecodeAttention;
      return published ? read_published_attention(table, decode)
                       : read_profiled_attention(table, decode);
    }
    case TableKind::kExperts:
      return published ? read_published_experts(table) : read_profiled_experts(table);
    case TableKind::kAllReduce:
      return published ? read_published_all_reduce(table) : read_profiled_all_reduce(table);
  }
  RIDGELINE_CHECK(false, "every kind has a reader");
}

}  // namespace ridgeline::latency::fit
