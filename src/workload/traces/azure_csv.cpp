// Azure's public LLM inference traces, 2023 (github.com/Azure/AzurePublicDataset,
// AzureLLMInferenceDataset2023). Times have seven decimals (ticks of 100 ns) and no zone; they are
// read to the picosecond and counted from the first row. The published conversation trace has no
// row with zero tokens on either side, and a request always generates at least one, so a zero is a
// bad row.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "core/text.hpp"
#include "core/time.hpp"
#include "workload/limits.hpp"
#include "workload/traces/csv.hpp"
#include "workload/traces/fields.hpp"
#include "workload/traces/format.hpp"

namespace ridgeline::workload {
namespace {

constexpr std::string_view kHeader = "TIMESTAMP,ContextTokens,GeneratedTokens";
constexpr CsvCells kColumns = {"TIMESTAMP", "ContextTokens", "GeneratedTokens"};
constexpr std::string_view kTimestampForm = "YYYY-MM-DD HH:MM:SS.fffffff";
constexpr std::size_t kLengthToSeconds = std::string_view("YYYY-MM-DD HH:MM:SS").size();
constexpr std::size_t kMaxDecimals = 12;

/// An instant as the file states it: whole seconds since 1970 and picoseconds.
struct Instant {
  std::int64_t seconds = 0;
  std::int64_t ticks = 0;
};

/// The value of text[at, at + count), or -1 when one of them is not a digit.
int digits(std::string_view text, std::size_t at, std::size_t count) {
  int value = 0;
  for (const char c : text.substr(at, count)) {
    if (c < '0' || c > '9') {
      return -1;
    }
    value = value * 10 + (c - '0');
  }
  return value;
}

std::optional<std::int64_t> parse_fraction(std::string_view text) {
  if (text.empty()) {
    return 0;
  }
  if (text.size() < 2 || text.size() > kMaxDecimals + 1 || text[0] != '.') {
    return std::nullopt;
  }
  std::int64_t ticks = 0;
  for (std::size_t i = 1; i <= kMaxDecimals; ++i) {
    const char c = i < text.size() ? text[i] : '0';
    if (c < '0' || c > '9') {
      return std::nullopt;
    }
    ticks = ticks * 10 + (c - '0');
  }
  return ticks;
}

std::optional<Instant> parse_timestamp(std::string_view text) {
  if (text.size() < kLengthToSeconds || text[4] != '-' || text[7] != '-' || text[10] != ' ' ||
      text[13] != ':' || text[16] != ':') {
    return std::nullopt;
  }
  const int year = digits(text, 0, 4);
  const int month = digits(text, 5, 2);
  const int day = digits(text, 8, 2);
  const int hour = digits(text, 11, 2);
  const int minute = digits(text, 14, 2);
  const int second = digits(text, 17, 2);
  const auto fraction = parse_fraction(text.substr(kLengthToSeconds));
  if (year < 0 || month < 0 || day < 0 || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
      second < 0 || second > 59 || !fraction) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) {
    return std::nullopt;
  }
  const auto since_1970 = std::chrono::sys_days(date).time_since_epoch() +
                          std::chrono::hours(hour) + std::chrono::minutes(minute) +
                          std::chrono::seconds(second);
  return Instant{.seconds = std::chrono::seconds(since_1970).count(), .ticks = *fraction};
}

class AzureCsvParser final : public RowParser {
 public:
  bool header(const TraceLine& line) override {
    if (line.text() == kHeader) {
      return true;
    }
    line.problem("",
                 line.text(),
                 fmt::format("the header {}", core::quote(line.text())),
                 fmt::format("'{}'", kHeader));
    return false;
  }

  bool row(const TraceLine& line, TraceRow& row) override {
    CsvCells cells;
    if (!split_row(line, cells)) {
      return false;
    }
    const bool time_read = read_arrival(line, cells[0], row.arrival);
    const bool input_read = read_tokens(line, kColumns[1], cells[1], row.input_tokens);
    const bool output_read = read_tokens(line, kColumns[2], cells[2], row.output_tokens);
    return time_read && input_read && output_read;
  }

 private:
  bool read_arrival(const TraceLine& line, std::string_view cell, core::Duration& arrival) {
    const auto instant = parse_timestamp(cell);
    if (!instant) {
      line.problem(kColumns[0],
                   cell,
                   cell.empty() ? "an empty cell" : core::quote(cell),
                   fmt::format("a time as {}", kTimestampForm));
      return false;
    }
    if (!first_) {
      first_ = *instant;
    }
    const std::int64_t seconds = instant->seconds - first_->seconds;
    // One second less leaves room for the fraction.
    const std::int64_t limit = kLatestArrival.count() / core::Duration::kTicksPerSecond - 1;
    if (seconds > limit || seconds < -limit) {
      line.problem(kColumns[0],
                   cell,
                   core::quote(cell),
                   fmt::format("a time at most {} s from the first row's", limit));
      return false;
    }
    arrival =
        core::Duration::seconds(seconds) + core::Duration::ticks(instant->ticks - first_->ticks);
    return true;
  }

  std::optional<Instant> first_;
};

bool detect_azure(std::string_view head) {
  for (const auto cell : split_csv(first_line(head))) {
    for (const auto column : kColumns) {
      if (cell == column) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

const TraceFormat kAzureLlmCsv = {
    .name = "azure-llm-csv",
    .summary = "Azure LLM inference trace 2023: TIMESTAMP,ContextTokens,GeneratedTokens",
    .arrival_column = kColumns[0],
    .has_header = true,
    .detect = detect_azure,
    .make_parser = [] { return std::unique_ptr<RowParser>(std::make_unique<AzureCsvParser>()); },
};

}  // namespace ridgeline::workload
