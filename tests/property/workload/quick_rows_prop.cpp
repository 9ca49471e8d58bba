// The quick way of reading a row against the long way, over rows in the usual form, near it, and
// far from it: whatever quick_row() takes, row() takes too, with the same result.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/quick_batch.hpp"
#include "workload/traces/reading/quick_number.hpp"

namespace ridgeline::workload {
namespace {

/// A format, its header, and two rows that a parser has read before.
struct QuickCase {
  const TraceFormat* format;
  std::string header;
  std::vector<std::string> rows;
  bool is_plain = false;  ///< They come by batches.
};

std::vector<QuickCase> quick_cases() {
  return {
      {&kRequestCsv,
       "arrival_s,input_tokens,output_tokens",
       {"0.25,12,7", "10.1234567,100000,1"},
       true},
      {&kRequestCsv, "output_tokens,arrival_s,input_tokens", {"7,0,12", "1,3.5,9999999"}},
      {&kVidurCsv,
       "arrived_at,num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio",
       {"0.5,100,20,120,5.0", "3,1,1,2,1.0"}},
      {&kSplitwiseCsv,
       "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size",
       {"0,2,a,0.0,1,100,20", "1,2,b,0.5,1,7,9"}},
      {&kAzureLlmCsv,
       "TIMESTAMP,ContextTokens,GeneratedTokens",
       {"2023-11-16 18:15:46.6805900,374,44", "2023-11-16 18:15:50.9951690,396,109"},
       true},
      {&kAzureLlmCsv,
       "TIMESTAMP,ContextTokens,GeneratedTokens",
       {"2024-05-10 00:00:00.009930+00:00,2162,5", "2024-05-10 00:00:59.999999+00:00,2399,6"},
       true},
      {&kAzureLmmCsv,
       "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens",
       {"2024-10-07 23:59:58.1,1,374,44", "2024-10-07 23:59:59,0,5,6"}},
      {&kMooncake,
       "",
       {R"({"timestamp": 27482, "input_length": 600, "output_length": 52, "hash_ids": [46, 47]})",
        R"({"timestamp": 30535, "input_length": 90, "output_length": 26, "hash_ids": [46]})"}},
      {&kMooncake,
       "",
       {R"({"timestamp":27482,"input_length":600,"output_length":52})",
        R"({"timestamp":30535,"input_length":90,"output_length":26})"},
       true},
      {&kApexJsonl,
       "",
       {R"({"ContextTokens": 5, "GeneratedTokens": 7, "StartTimeOffset": 12})",
        R"({"ContextTokens": 5, "GeneratedTokens": 7, "StartTimeOffset": 9000000})"},
       true},
      {&kApexJsonl,
       "",
       {R"({"ContextTokens": 5, "GeneratedTokens": 7, "StartTimeOffset": 12, "RequestID": "a"})",
        R"({"ContextTokens": 5, "GeneratedTokens": 7, "StartTimeOffset": 90, "RequestID": "b"})"}},
      {&kRequestJsonl,
       "",
       {R"({"arrival_s":0.25,"input_tokens":12,"output_tokens":7})",
        R"({"arrival_s":0.5,"input_tokens":13,"output_tokens":8})"},
       true},
      {&kRequestJsonl,
       "",
       {R"({"arrival_s":0.25,"input_tokens":12,"output_tokens":7,"session":4,"tenant":"a",)"
        R"("prompt":[[5,4],[9,2]]})",
        R"({"arrival_s":0.5,"input_tokens":13,"output_tokens":8,"session":5,"tenant":"b",)"
        R"("prompt":[[5,4]]})"}},
  };
}

/// Some bytes of a row taken out, put in or replaced, by such as make trouble.
std::string altered(std::string row) {
  static const std::string kBytes =
      "0123456789999..,,::{}[]\"\" eE+-\r\t\x80"
      "az\\";
  const auto changes = *rc::gen::inRange<int>(0, 4);
  for (int i = 0; i < changes && !row.empty(); ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, row.size());
    const char byte = *rc::gen::elementOf(kBytes);
    switch (*rc::gen::inRange<int>(0, 3)) {
      case 0:
        row.erase(at, *rc::gen::inRange<std::size_t>(1, 4));
        break;
      case 1:
        row.insert(at, *rc::gen::inRange<std::size_t>(1, 10), byte);
        break;
      default:
        row[at] = byte;
        break;
    }
  }
  return row;
}

/// A parser that has read the header and the rows of a case the long way.
std::unique_ptr<RowParser> warm_parser(const QuickCase& known, core::Errors& errors) {
  static const std::string kFile = "t";
  auto parser = known.format->make_parser();
  if (!known.header.empty()) {
    RC_ASSERT(parser->header(TraceLine(known.header, kFile, 1, errors)));
  }
  TraceRow row;
  for (const std::string& text : known.rows) {
    RC_ASSERT(parser->row(TraceLine(text, kFile, 1, errors), row) == RowStatus::kRow);
  }
  return parser;
}

/// What quick_row() makes of a line that is followed by another; null when it declines.
const char* read_quickly(RowParser& parser, const std::string& text, TraceRow& row) {
  // Where nothing more can be read, the slack is.
  static std::string memory;
  memory = text + "\n";
  const std::size_t size = memory.size();
  memory.append(kQuickSlack, '7');
  const char* const next = parser.quick_row(memory.data(), memory.data() + size, row);
  if (next != nullptr) {
    RC_ASSERT(next == memory.data() + size);
  }
  return next;
}

RC_GTEST_PROP(QuickRows, AgreeWithTheLongWay, ()) {
  const auto known = *rc::gen::elementOf(quick_cases());
  core::Errors errors;
  const auto quick = warm_parser(known, errors);
  const auto slow = warm_parser(known, errors);
  const std::string text = altered(*rc::gen::elementOf(known.rows));
  RC_PRE(text.find('\n') == std::string::npos);
  TraceRow quickly;
  if (read_quickly(*quick, text, quickly) == nullptr) {
    return;
  }
  const std::string_view line_text =
      std::string_view(text).substr(0, text.ends_with('\r') ? text.size() - 1 : text.size());
  const std::string file = "t";
  const TraceLine line(line_text, file, 1, errors);
  TraceRow slowly;
  RC_ASSERT(line.is_text());
  RC_ASSERT(slow->row(line, slowly) == RowStatus::kRow);
  RC_ASSERT(quickly == slowly);
  RC_ASSERT(errors.empty());
}

/// Lines of a case, most of them as they usually are.
std::vector<std::string> some_lines(const QuickCase& known) {
  std::vector<std::string> lines;
  const auto count = *rc::gen::inRange<std::size_t>(1, 30);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string line = *rc::gen::elementOf(known.rows);
    lines.push_back(*rc::gen::inRange(0, 8) == 0 ? altered(line) : line);
    RC_PRE(lines.back().find('\n') == std::string::npos);
  }
  return lines;
}

/// Whole batches: as many rows as were taken are sound, in order, and what row() makes of them.
RC_GTEST_PROP(QuickBatches, AgreeWithTheLongWay, ()) {
  const auto known = *rc::gen::elementOf(quick_cases());
  core::Errors errors;
  const auto quick = warm_parser(known, errors);
  const auto slow = warm_parser(known, errors);
  const auto lines = some_lines(known);
  std::string memory;
  for (const std::string& line : lines) {
    memory += line + "\n";
  }
  // The last lines may be cut, with more of the same behind the end.
  const auto size = *rc::gen::inRange<std::size_t>(0, memory.size() + 1);
  memory.append(kQuickSlack, '7');
  // Not a byte more than may be read.
  const std::vector<char> bytes(memory.data(), memory.data() + size + kQuickSlack);
  QuickBatch batch;
  batch.start();
  const char* const next =
      quick->quick_rows(bytes.data(), bytes.data() + size, core::Duration(), batch);
  RC_ASSERT(batch.size() <= lines.size());
  std::size_t taken = 0;
  core::Duration latest;
  for (std::size_t i = 0; !batch.is_empty(); ++i) {
    const QuickRow& quickly = batch.take();
    taken += lines[i].size() + 1;
    const std::string_view text =
        std::string_view(lines[i]).substr(0, lines[i].size() - (lines[i].ends_with('\r') ? 1 : 0));
    const std::string file = "t";
    const TraceLine line(text, file, 1, errors);
    TraceRow slowly;
    RC_ASSERT(line.is_text());
    RC_ASSERT(slow->row(line, slowly) == RowStatus::kRow);
    RC_ASSERT(slowly.arrival >= latest);
    latest = slowly.arrival;
    TraceRow row;
    row.arrival = quickly.arrival;
    row.input_tokens = quickly.input_tokens;
    row.output_tokens = quickly.output_tokens;
    RC_ASSERT(row == slowly);
  }
  RC_ASSERT(taken <= size);
  RC_ASSERT(next == bytes.data() + taken);
  RC_ASSERT(errors.empty());
}

/// The point of them: files as they usually are go by batches, whatever stands behind them.
TEST(QuickBatches, TakePlainFiles) {
  for (const QuickCase& known : quick_cases()) {
    core::Errors errors;
    const auto parser = warm_parser(known, errors);
    for (const char* end : {"\n", "\r\n"}) {
      const std::string text = known.rows[1] + end + known.rows[1] + end;
      const std::string memory = text + std::string(kQuickSlack, ' ');
      QuickBatch batch;
      batch.start();
      const char* const next =
          parser->quick_rows(memory.data(), memory.data() + text.size(), core::Duration(), batch);
      EXPECT_EQ(batch.size(), known.is_plain ? 2U : 0U) << text;
      EXPECT_EQ(next - memory.data(),
                static_cast<std::ptrdiff_t>(known.is_plain ? text.size() : 0));
    }
  }
}

/// The point of it: rows as they usually are go the quick way.
TEST(QuickRows, TakeRowsInTheUsualForm) {
  for (const QuickCase& known : quick_cases()) {
    core::Errors errors;
    const auto parser = warm_parser(known, errors);
    for (const std::string& text : known.rows) {
      TraceRow row;
      EXPECT_NE(read_quickly(*parser, text, row), nullptr) << text;
      EXPECT_NE(read_quickly(*parser, text + "\r", row), nullptr) << text;
    }
  }
}

/// A line that the buffer does not hold to its end is not taken, whatever lies behind it.
TEST(QuickRows, DeclineLinesThatAreCut) {
  for (const QuickCase& known : quick_cases()) {
    core::Errors errors;
    const auto parser = warm_parser(known, errors);
    const std::string text = known.rows[0] + "\n" + known.rows[0] + "\n" + std::string(64, '\n');
    for (std::size_t size = 0; size <= known.rows[0].size(); ++size) {
      TraceRow row;
      EXPECT_EQ(parser->quick_row(text.data(), text.data() + size, row), nullptr) << size;
    }
  }
}

}  // namespace
}  // namespace ridgeline::workload
