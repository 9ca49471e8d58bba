#include "workload/traces/trace.hpp"

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"
#include "support/paths.hpp"
#include "unit/workload/traces/trace_text.hpp"
#include "workload/source.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kText =
    "arrival_s,input_tokens,output_tokens\n"
    "1,10,1\n"
    "2,20,2\n"
    "4,30,3\n"
    "8,40,4\n";

std::vector<double> arrivals(Source& source) {
  std::vector<double> seconds;
  while (source.next_arrival()) {
    seconds.push_back(source.pop().arrival.to_seconds());
  }
  return seconds;
}

core::Result<std::unique_ptr<Source>> from_second(const TemporaryFile& file, std::int64_t start) {
  TraceOptions options;
  options.part.start = core::Duration::seconds(start);
  return open_trace(file.path(), options);
}

core::Result<std::unique_ptr<Source>> first_rows(const TemporaryFile& file, std::int64_t count) {
  TraceOptions options;
  options.num_prompts = count;
  return open_trace(file.path(), options);
}

core::Result<std::unique_ptr<Source>> sped_up(const TemporaryFile& file, double speed_up) {
  TraceOptions options;
  options.speed_up = speed_up;
  return open_trace(file.path(), options);
}

std::string only_problem(const core::Result<std::unique_ptr<Source>>& result) {
  if (result) {
    return "no problem";
  }
  return result.error().size() == 1 ? core::to_string(result.error()[0])
                                    : std::to_string(result.error().size()) + " problems";
}

TEST(ScanTrace, AddsUp) {
  const TemporaryFile file(kText);
  const auto scan = scan_trace(file.path());
  ASSERT_TRUE(scan.has_value());
  EXPECT_EQ(scan->format, "request-csv");
  EXPECT_EQ(scan->requests, 4);
  EXPECT_EQ(scan->first_arrival, core::Duration::seconds(1));
  EXPECT_EQ(scan->last_arrival, core::Duration::seconds(8));
  EXPECT_EQ(scan->input_tokens.value(), 100);
  EXPECT_EQ(scan->output_tokens.value(), 10);
  EXPECT_EQ(scan->longest_input.value(), 40);
  EXPECT_EQ(scan->longest_output.value(), 4);
}

TEST(OpenTrace, GivesTheRowsAsRequests) {
  const TemporaryFile file(kText);
  auto source = open_trace(file.path());
  ASSERT_TRUE(source.has_value());
  EXPECT_EQ((*source)->size(), 4);
  EXPECT_FALSE((*source)->is_closed_loop());
  const auto arrival = (*source)->next_arrival();
  const domain::Request first = (*source)->pop();
  EXPECT_EQ(arrival, first.arrival);
  EXPECT_EQ(first.id.value(), 0U);
  EXPECT_EQ(first.arrival.since_start(), core::Duration::seconds(1));
  EXPECT_EQ(first.prompt_tokens.value(), 10);
  EXPECT_EQ(first.output_tokens.value(), 1);
  EXPECT_EQ(first.max_tokens.value(), 1);
  EXPECT_THAT(first.prompt, IsEmpty());
  EXPECT_EQ((*source)->pop().id.value(), 1U);
  EXPECT_THAT(arrivals(**source), ElementsAre(4.0, 8.0));
  EXPECT_THAT((*source)->errors(), IsEmpty());
}

TEST(OpenTrace, BeginsAtTheTimeGiven) {
  const TemporaryFile file(kText);
  auto source = from_second(file, 2);
  ASSERT_TRUE(source.has_value());
  EXPECT_EQ((*source)->size(), 3);
  EXPECT_THAT(arrivals(**source), ElementsAre(0.0, 2.0, 6.0));
}

TEST(OpenTrace, EndsAfterNumPrompts) {
  const TemporaryFile file(kText);
  auto source = first_rows(file, 3);
  ASSERT_TRUE(source.has_value());
  EXPECT_EQ((*source)->size(), 3);
  EXPECT_THAT(arrivals(**source), ElementsAre(1.0, 2.0, 4.0));
  auto beyond = first_rows(file, 100);
  EXPECT_EQ((*beyond)->size(), 4);
  EXPECT_THAT(arrivals(**beyond), SizeIs(4));
}

TEST(OpenTrace, SpeedsUp) {
  const TemporaryFile file(kText);
  TraceOptions options;
  options.part.start = core::Duration::seconds(1);
  options.speed_up = 2.0;
  auto fast = open_trace(file.path(), options);
  EXPECT_THAT(arrivals(**fast), ElementsAre(0.0, 0.5, 1.5, 3.5));
  auto slow = sped_up(file, 0.5);
  EXPECT_THAT(arrivals(**slow), ElementsAre(2.0, 4.0, 8.0, 16.0));
}

TEST(OpenTrace, RefusesOptionsThatCannotBe) {
  const TemporaryFile file(kText);
  for (const double speed : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(sped_up(file, speed).has_value());
  }
  EXPECT_EQ(only_problem(sped_up(file, -1.0)),
            "workload.trace_speed_up: -1 is not a speed-up, expected a number above 0");
  // 8 s / 1e-9 = 8e9 s.
  EXPECT_EQ(
      only_problem(sped_up(file, 1e-9)),
      "workload.trace_speed_up: 1e-09 moves the last arrival past the range of simulated time, "
      "9200000 s");
  EXPECT_EQ(only_problem(first_rows(file, 0)),
            "workload.num_prompts: 0 is out of range, expected at least 1");
  EXPECT_EQ(only_problem(from_second(file, 9)),
            "workload.trace_start: 9 s is out of range, expected 0 s to the last arrival at 8 s");
}

TEST(OpenTrace, RefusesABadRowBeforeTheRun) {
  const TemporaryFile file(kText + "16,50,0\n");
  EXPECT_EQ(only_problem(open_trace(file.path())),
            file.path() +
                ":6:7: output_tokens: found \"0\", expected a whole number of tokens from 1 to "
                "100000000");
}

TEST(OpenTrace, ABadRowThatAppearsLaterEndsTheStream) {
  // Longer than a block, so that the change is seen after the source has opened the file.
  std::string text = "arrival_s,input_tokens,output_tokens\n";
  for (int i = 0; i < 100'000; ++i) {
    text += std::to_string(i) + ",1,1\n";
  }
  const TemporaryFile file(text);
  auto source = open_trace(file.path());
  ASSERT_TRUE(source.has_value());
  std::string damaged = text;
  damaged[damaged.size() - 2] = 'x';
  file.write(damaged);
  EXPECT_THAT(arrivals(**source), SizeIs(99'999));
  ASSERT_THAT((*source)->errors(), SizeIs(1));
  EXPECT_EQ((*source)->errors()[0].where.line, 100'001);
}

TEST(OpenTrace, AFileThatShrinksWhileReadIsAProblem) {
  std::string text = "arrival_s,input_tokens,output_tokens\n";
  for (int i = 0; i < 100'000; ++i) {
    text += std::to_string(i) + ",1,1\n";
  }
  const TemporaryFile file(text);
  auto source = open_trace(file.path());
  ASSERT_TRUE(source.has_value());
  file.write(text.substr(0, text.rfind('\n', text.size() - 2) + 1));
  EXPECT_THAT(arrivals(**source), SizeIs(99'999));
  ASSERT_THAT((*source)->errors(), SizeIs(1));
  EXPECT_EQ((*source)->errors()[0].message,
            "the file changed while it was read, expected it to stay as it is");
}

// Facts of the published file (AzureLLMInferenceTrace_conv.csv,
// github.com/Azure/AzurePublicDataset), counted with awk; the times are those of its first and last
// row.
TEST(AzureTrace2023, IsReadWhole) {
  const std::string path =
      test::shared_dir().string() + "/traces/azure2023/AzureLLMInferenceTrace_conv.csv";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "no " << path;
  }
  const auto scan = scan_trace(path);
  ASSERT_TRUE(scan.has_value()) << core::to_string(scan.error()[0]);
  EXPECT_EQ(scan->format, "azure-llm-csv");
  EXPECT_EQ(scan->requests, 19'366);
  EXPECT_EQ(scan->input_tokens.value(), 22'361'870);
  EXPECT_EQ(scan->output_tokens.value(), 4'088'665);
  EXPECT_EQ(scan->longest_input.value(), 14'050);
  EXPECT_EQ(scan->longest_output.value(), 1'000);
  EXPECT_EQ(scan->first_arrival.count(), 0);
  // 19:14:08.4025270 - 18:15:46.6805900 = 3501.721937 s.
  EXPECT_EQ(scan->last_arrival.count(), 3'501'721'937'000'000);
  auto source = open_trace(path);
  ASSERT_TRUE(source.has_value());
  EXPECT_THAT(arrivals(**source), SizeIs(19'366));
  EXPECT_THAT((*source)->errors(), IsEmpty());
}

}  // namespace
}  // namespace ridgeline::workload
