// What goes wrong with traces, for every format of one request a line: out-of-order times, negative
// and impossible lengths, missing fields, lines of another format, half a line, bytes that are no
// text, gzip cut short. Each is reported with file, line, field, found and expected, and all
// but the last can be dropped.
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "unit/workload/traces/trace_text.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// A format with the text of a request: T, I and O stand for its time and lengths, each one digit
/// in sound rows.
struct TraceShape {
  const TraceFormat* format;
  std::string header = {};
  std::string row;
  std::string time = {};  ///< The name of its field, where rows must be in order.
  std::string input;      ///< The names of the lengths' fields.
  std::string output;
  std::string without_input;  ///< A row that lacks the field.
  std::string lacks = {};     ///< The field that the message names then, if not `input`.
};

void PrintTo(const TraceShape& shape, std::ostream* out) {
  *out << shape.format->name;
}

std::string filled(std::string text,
                   const std::string& time,
                   const std::string& input,
                   const std::string& output) {
  const auto put = [&text](const char* place, const std::string& value) {
    if (const std::size_t at = text.find(place); at != std::string::npos) {
      text.replace(at, 3, value);
    }
  };
  put("<T>", time);
  put("<I>", input);
  put("<O>", output);
  return text;
}

std::string sound_row(const TraceShape& shape, int number) {
  return filled(shape.row, std::to_string(number), "9", "2");
}

/// Six requests, of which the fourth is `bad`.
std::string with_fourth(const TraceShape& shape, const std::string& bad) {
  std::string text = shape.header;
  for (int i = 0; i < 6; ++i) {
    text += (i == 3 ? bad : sound_row(shape, i)) + "\n";
  }
  return text;
}

core::Errors errors_of(const std::string& text, const ReadOptions& options = {}) {
  auto stream = open_items(input_of(text), "t", options);
  if (!stream) {
    return stream.error();
  }
  const auto list = read_all(**stream);
  return list ? core::Errors() : list.error();
}

class BadTraces : public ::testing::TestWithParam<TraceShape> {
 protected:
  /// The fourth request is reported, with the name of its field, and can be dropped.
  static void expect_reported(const std::string& bad, const std::string& field) {
    const TraceShape& shape = GetParam();
    const std::string text = with_fourth(shape, bad);
    const core::Errors errors = errors_of(text);
    ASSERT_FALSE(errors.empty()) << text;
    const std::string problem = core::to_string(errors[0]);
    const int line = shape.header.empty() ? 4 : 5;
    EXPECT_THAT(problem, StartsWith("t:" + std::to_string(line) + ":"));
    EXPECT_THAT(problem, HasSubstr(field.empty() ? "found " : field + ": found "));
    EXPECT_THAT(problem, HasSubstr(", expected "));
    auto stream = open_items(input_of(text), "t", {.skip_bad_rows = true});
    ASSERT_TRUE(stream.has_value()) << core::to_string(stream.error()[0]);
    const auto list = read_all(**stream);
    ASSERT_TRUE(list.has_value()) << core::to_string(list.error()[0]);
    EXPECT_EQ(list->items.size(), 5U);
    ASSERT_EQ(list->warnings.size(), 2U);
    EXPECT_THAT(list->warnings[0].message, HasSubstr("1 bad row was dropped"));
    EXPECT_EQ(list->warnings[1].message, problem);
  }
};

TEST_P(BadTraces, SoundOnesAreRead) {
  EXPECT_EQ(errors_of(with_fourth(GetParam(), sound_row(GetParam(), 3))).size(), 0U);
}

TEST_P(BadTraces, OutOfOrder) {
  const TraceShape& shape = GetParam();
  if (!shape.time.empty()) {
    expect_reported(filled(shape.row, "1", "9", "2"), shape.time);
    return;
  }
  // What is read as a whole is sorted, and says so; the turns of sessions stand in any order.
  auto stream = open_items(input_of(with_fourth(shape, filled(shape.row, "0", "9", "2"))), "t");
  ASSERT_TRUE(stream.has_value()) << core::to_string(stream.error()[0]);
  const auto list = read_all(**stream);
  ASSERT_TRUE(list.has_value()) << core::to_string(list.error()[0]);
  EXPECT_EQ(list->items.size(), 6U);
  if (shape.row.find("session_id") == std::string::npos) {
    ASSERT_EQ(list->warnings.size(), 1U);
    EXPECT_EQ(list->warnings[0].code, "W-rows-sorted");
    EXPECT_THAT(list->warnings[0].message,
                HasSubstr("in line " + std::to_string(shape.header.empty() ? 4 : 5) +
                          ", has an arrival at 0 s after one at 0.00"));
  }
}

TEST_P(BadTraces, NegativeLengths) {
  expect_reported(filled(GetParam().row, "3", "-5", "2"), GetParam().input);
  expect_reported(filled(GetParam().row, "3", "9", "-5"), GetParam().output);
}

TEST_P(BadTraces, ATrillionTokens) {
  expect_reported(filled(GetParam().row, "3", "1000000000000", "2"), GetParam().input);
  expect_reported(filled(GetParam().row, "3", "9", "1000000000000"), GetParam().output);
}

TEST_P(BadTraces, MissingFields) {
  const TraceShape& shape = GetParam();
  expect_reported(filled(shape.without_input, "3", "9", "2"),
                  shape.lacks.empty() ? shape.input : shape.lacks);
}

TEST_P(BadTraces, LinesOfAnotherFormat) {
  expect_reported(GetParam().header.empty() ? "3,9,2" : R"({"timestamp": 3, "in": 9})", "");
}

TEST_P(BadTraces, HalfALine) {
  const TraceShape& shape = GetParam();
  // Cut before its last length: behind that there may be nothing that a reader looks at.
  const std::string last = filled(shape.row.substr(0, shape.row.find("<O>")), "6", "9", "2");
  for (std::size_t size = 1; size <= last.size(); ++size) {
    std::string text = with_fourth(shape, sound_row(shape, 3));
    text += last.substr(0, size);
    const core::Errors errors = errors_of(text);
    ASSERT_FALSE(errors.empty()) << text;
    const int line = shape.header.empty() ? 7 : 8;
    EXPECT_THAT(core::to_string(errors[0]), StartsWith("t:" + std::to_string(line) + ":"));
  }
}

TEST_P(BadTraces, WhatIsNoText) {
  expect_reported(filled(GetParam().row, "3", "\xFF", "2"), "");
}

// RFC 1952 and 1951: a member with one stored block, whose end is missing.
TEST_P(BadTraces, GzipCutShort) {
  const std::string text = with_fourth(GetParam(), sound_row(GetParam(), 3));
  std::string packed("\x1F\x8B\x08\0\0\0\0\0\0\x03\x01", 11);
  for (const std::uint32_t size : {std::uint32_t(text.size()), ~std::uint32_t(text.size())}) {
    packed += static_cast<char>(size & 0xFFU);
    packed += static_cast<char>(size >> 8U & 0xFFU);
  }
  packed += text;
  for (const std::size_t size : {std::size_t{12}, packed.size() / 2, packed.size()}) {
    for (const bool skip : {false, true}) {
      const core::Errors errors = errors_of(packed.substr(0, size), {.skip_bad_rows = skip});
      ASSERT_FALSE(errors.empty());
      EXPECT_THAT(core::to_string(errors[0]), StartsWith("t:"));
      EXPECT_THAT(core::to_string(errors[0]),
                  HasSubstr("the gzip data is cut short, expected it to go on"));
    }
  }
}

std::vector<TraceShape> trace_shapes() {
  return {
      {.format = &kRequestCsv,
       .header = "arrival_s,input_tokens,output_tokens\n",
       .row = "<T>.25,<I>,<O>",
       .time = "arrival_s",
       .input = "input_tokens",
       .output = "output_tokens",
       .without_input = "<T>.25",
       .lacks = "input_tokens"},
      {.format = &kAzureLlmCsv,
       .header = "TIMESTAMP,ContextTokens,GeneratedTokens\n",
       .row = "2023-11-16 18:15:4<T>.6805900,<I>,<O>",
       .time = "TIMESTAMP",
       .input = "ContextTokens",
       .output = "GeneratedTokens",
       .without_input = "2023-11-16 18:15:4<T>.6805900",
       .lacks = "ContextTokens"},
      {.format = &kAzureLmmCsv,
       .header = "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n",
       .row = "2024-10-07 18:15:4<T>,1,<I>,<O>",
       .time = "TIMESTAMP",
       .input = "ContextTokens",
       .output = "GeneratedTokens",
       .without_input = "2024-10-07 18:15:4<T>,1",
       .lacks = "ContextTokens"},
      {.format = &kBurstGpt,
       .header = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n",
       .row = "<T>,ChatGPT,<I>,<O>,11,API log",
       .time = "Timestamp",
       .input = "Request tokens",
       .output = "Response tokens",
       .without_input = "<T>,ChatGPT",
       .lacks = "Request tokens"},
      {.format = &kVidurCsv,
       .header = "arrived_at,num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n",
       .row = "<T>.5,<I>,<O>,11,4.5",
       .time = "arrived_at",
       .input = "num_prefill_tokens",
       .output = "num_decode_tokens",
       .without_input = "<T>.5",
       .lacks = "num_prefill_tokens"},
      {.format = &kSplitwiseCsv,
       .header = "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,"
                 "token_size\n",
       .row = "7,2,a,<T>.5,1,<I>,<O>",
       .time = "arrival_timestamp",
       .input = "prompt_size",
       .output = "token_size",
       .without_input = "7,2,a,<T>.5,1",
       .lacks = "prompt_size"},
      {.format = &kTraceV2,
       .header = "request_id,input_tokens,output_tokens,arrival_time_us\n",
       .row = "7,<I>,<O>,<T>",
       .input = "input_tokens",
       .output = "output_tokens",
       .without_input = "7",
       .lacks = "input_tokens"},
      {.format = &kRequestJsonl,
       .row = R"({"arrival_s": <T>.25, "input_tokens": <I>, "output_tokens": <O>})",
       .time = "arrival_s",
       .input = "input_tokens",
       .output = "output_tokens",
       .without_input = R"({"arrival_s": <T>.25, "output_tokens": <O>})"},
      {.format = &kMooncake,
       .row = R"({"timestamp": <T>, "input_length": <I>, "output_length": <O>, "hash_ids": [4]})",
       .time = "timestamp",
       .input = "input_length",
       .output = "output_length",
       .without_input = R"({"timestamp": <T>, "output_length": <O>, "hash_ids": [4]})"},
      {.format = &kMooncakeSessions,
       .row = R"({"session_id": "s<T>", "timestamp": 5, "input_length": <I>, )"
              R"("output_length": <O>})",
       .input = "input_length",
       .output = "output_length",
       .without_input = R"({"session_id": "s<T>", "timestamp": 5, "output_length": <O>})"},
      {.format = &kApexJsonl,
       .row = R"({"StartTimeOffset": <T>, "ContextTokens": <I>, "GeneratedTokens": <O>})",
       .time = "StartTimeOffset",
       .input = "ContextTokens",
       .output = "GeneratedTokens",
       .without_input = R"({"StartTimeOffset": <T>, "GeneratedTokens": <O>})"},
      {.format = &kLlmServingSim,
       .row = R"({"input_toks": <I>, "output_toks": <O>, "arrival_time_ns": <T>})",
       .input = "input_toks",
       .output = "output_toks",
       .without_input = R"({"output_toks": <O>, "arrival_time_ns": <T>})"},
  };
}

INSTANTIATE_TEST_SUITE_P(Formats,
                         BadTraces,
                         ::testing::ValuesIn(trace_shapes()),
                         [](const auto& of) {
                           std::string name(of.param.format->name);
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace ridgeline::workload
