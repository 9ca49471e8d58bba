// Hostile bytes as the tables of whole operators: aiconfigurator's and the profiler's, and
// InferSim's grouped GEMMs. Problems are lines of text; what was read is finite and in range.
#include "latency/measured/operator_tables.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "latency/fit/samples.hpp"
#include "latency/fit/table_rows.hpp"
#include "latency/measured/expert_tables.hpp"

namespace {

namespace core = ridgeline::core;
namespace fit = ridgeline::latency::fit;
namespace measured = ridgeline::latency::measured;

constexpr std::array kOperatorTables = {
    "gemm_perf", "context_attention_perf", "generation_attention_perf"};
constexpr std::array kSampleKinds = {fit::TableKind::kGemm,
                                     fit::TableKind::kDecodeAttention,
                                     fit::TableKind::kPrefillAttention,
                                     fit::TableKind::kExperts,
                                     fit::TableKind::kAllReduce};

void check_errors(const core::Errors& errors) {
  for (const auto& error : errors) {
    const std::string line = core::to_string(error);
    RIDGELINE_CHECK(line.find('\n') == std::string::npos, "an error of several lines");
    RIDGELINE_CHECK(core::valid_utf8_prefix(line) == line.size(), "an error that is not text");
  }
}

void check_time(double time) {
  RIDGELINE_CHECK(std::isfinite(time) && time >= 0.0, "a time");
}

void read_as_operators(const std::string& text, const char* table) {
  const measured::OperatorFile file{
      .path = "t.csv", .gpu = "h100_sxm", .version = "0.24.0", .table = table};
  const auto read = measured::read_operator_text(text, file);
  if (!read) {
    RIDGELINE_CHECK(!read.error().empty(), "a refusal without a reason");
    check_errors(read.error());
    return;
  }
  for (const auto& gemm : read->gemms) {
    for (const auto& point : gemm.points) {
      RIDGELINE_CHECK(point.m > 0 && point.k > 0 && point.n > 0, "a shape");
      check_time(point.us);
    }
  }
}

void read_as_samples(const std::string& text, fit::TableKind kind, fit::TableSource source) {
  const auto read = fit::read_samples(text, "t.csv", kind, source);
  if (!read) {
    RIDGELINE_CHECK(!read.error().empty(), "a refusal without a reason");
    check_errors(read.error());
    return;
  }
  for (const auto& sample : *read) {
    check_time(sample.time.value());
  }
}

void read_as_grouped_gemms(const std::string& text, bool prefill) {
  const auto reading = measured::read_grouped_gemm_table(text, "t.csv", prefill);
  check_errors(reading.errors);
  for (const auto& table : reading.tables) {
    for (const auto& row : table.rows()) {
      check_time(row.up_us);
      check_time(row.down_us);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string text(data + 1, data + size);
  // The first byte says which reader, its low digit in base 16: "0" to "9", ":" to "?".
  const std::size_t which = data[0] % 16;
  if (which < kOperatorTables.size()) {
    read_as_operators(text, kOperatorTables[which]);
  } else if (which < 3 + kSampleKinds.size()) {
    read_as_samples(text, kSampleKinds[which - 3], fit::TableSource::kAiconfigurator);
  } else if (which < 8 + kSampleKinds.size()) {
    read_as_samples(text, kSampleKinds[which - 8], fit::TableSource::kProfiler);
  } else {
    read_as_grouped_gemms(text, which % 2 == 0);
  }
  return 0;
}
