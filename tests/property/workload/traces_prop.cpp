#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/limits.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/byte_input.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/line_reader.hpp"
#include "workload/traces/reading/trace_reader.hpp"

namespace ridgeline::workload {
namespace {

constexpr std::array<const char*, 3> kNames = {"arrival_s", "input_tokens", "output_tokens"};

std::vector<TraceRow> any_rows() {
  std::vector<TraceRow> rows;
  core::Duration arrival;
  const auto count = *rc::gen::inRange<std::size_t>(1, 60);
  for (std::size_t i = 0; i < count; ++i) {
    const auto most =
        *rc::gen::element<std::int64_t>(1, 1'000'000'000'000, 100'000'000'000'000'000);
    arrival += core::Duration::ticks(*rc::gen::inRange<std::int64_t>(0, most));
    TraceRow& row = rows.emplace_back();
    row.arrival = arrival;
    row.input_tokens = core::Tokens(*rc::gen::inRange<std::int64_t>(1, kMaxTokensPerRequest + 1));
    row.output_tokens = core::Tokens(*rc::gen::inRange<std::int64_t>(1, kMaxTokensPerRequest + 1));
  }
  return rows;
}

std::array<std::string, 3> cells(const TraceRow& row) {
  return {seconds_text(row.arrival),
          std::to_string(row.input_tokens.value()),
          std::to_string(row.output_tokens.value())};
}

std::vector<std::size_t> any_order() {
  std::vector<std::size_t> order = {0, 1, 2};
  for (std::size_t i = order.size() - 1; i > 0; --i) {
    std::swap(order[i], order[*rc::gen::inRange<std::size_t>(0, i + 1)]);
  }
  return order;
}

std::string as_csv(const std::vector<TraceRow>& rows, const std::string& newline) {
  const auto order = any_order();
  std::string text;
  const auto add = [&](const auto& cell) {
    for (const std::size_t i : order) {
      text += cell(i) + (i == order.back() ? newline : ",");
    }
  };
  add([](std::size_t i) { return std::string(kNames[i]); });
  for (const TraceRow& row : rows) {
    add([&](std::size_t i) { return cells(row)[i]; });
  }
  return text;
}

std::string as_jsonl(const std::vector<TraceRow>& rows, const std::string& newline) {
  std::string text;
  for (const TraceRow& row : rows) {
    const auto order = any_order();
    text += "{";
    for (const std::size_t i : order) {
      text +=
          std::string("\"") + kNames[i] + "\": " + cells(row)[i] + (i == order.back() ? "}" : ", ");
    }
    text += newline;
  }
  return text;
}

/// What is read back; the size of the block must not matter.
std::vector<TraceRow> read_back(const std::string& text) {
  const auto block = *rc::gen::inRange<std::size_t>(128, 4096);
  auto reader = TraceReader::open(make_plain_input(std::make_unique<std::istringstream>(text)),
                                  "t",
                                  nullptr,
                                  {.block_bytes = block, .line_bytes = 4096});
  RC_ASSERT(reader.has_value());
  std::vector<TraceRow> rows;
  TraceRow row;
  while (reader->next(row) == TraceReader::Status::kRow) {
    rows.push_back(row);
  }
  RC_ASSERT(reader->errors().empty());
  return rows;
}

void check_same(const std::vector<TraceRow>& read, const std::vector<TraceRow>& written) {
  RC_ASSERT(read.size() == written.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    RC_ASSERT(read[i].arrival == written[i].arrival);
    RC_ASSERT(read[i].input_tokens == written[i].input_tokens);
    RC_ASSERT(read[i].output_tokens == written[i].output_tokens);
  }
}

std::string any_newline() {
  return *rc::gen::arbitrary<bool>() ? "\n" : "\r\n";
}

/// The last line may lack its end.
std::string maybe_unended(std::string text) {
  if (*rc::gen::arbitrary<bool>()) {
    text.erase(text.find_last_not_of("\r\n") + 1);
  }
  return text;
}

RC_GTEST_PROP(Traces, CsvIsReadBackExactly, ()) {
  const auto rows = any_rows();
  check_same(read_back(maybe_unended(as_csv(rows, any_newline()))), rows);
}

RC_GTEST_PROP(Traces, JsonLinesAreReadBackExactly, ()) {
  const auto rows = any_rows();
  check_same(read_back(maybe_unended(as_jsonl(rows, any_newline()))), rows);
}

RC_GTEST_PROP(Traces, DamageIsReportedOrHarmless, ()) {
  const auto rows = any_rows();
  std::string text = *rc::gen::arbitrary<bool>() ? as_csv(rows, "\n") : as_jsonl(rows, "\n");
  const auto hits = *rc::gen::inRange(1, 4);
  for (int i = 0; i < hits; ++i) {
    text[*rc::gen::inRange<std::size_t>(0, text.size())] = *rc::gen::arbitrary<char>();
  }
  auto reader =
      TraceReader::open(make_plain_input(std::make_unique<std::istringstream>(text)), "t");
  if (!reader) {
    RC_ASSERT(!reader.error().empty());
    return;
  }
  core::Duration last;
  std::int64_t sound = 0;
  std::int64_t bad = 0;
  TraceRow row;
  for (auto status = reader->next(row); status != TraceReader::Status::kEnd;
       status = reader->next(row)) {
    if (status == TraceReader::Status::kBadRow) {
      ++bad;
      continue;
    }
    ++sound;
    RC_ASSERT(row.arrival >= last);
    last = row.arrival;
  }
  RC_ASSERT((bad > 0) == !reader->errors().empty());
  // No row goes missing unless a line end did, or reading stopped.
  const auto line_ends = std::count(text.begin(), text.end(), '\n');
  const auto headers = reader->format().has_header ? 1 : 0;
  if (reader->errors().size() < kMaxTraceProblems) {
    const auto unended = text.back() == '\n' ? 0 : 1;
    RC_ASSERT(sound + bad == line_ends + unended - headers);
  }
}

}  // namespace
}  // namespace ridgeline::workload
