#include "verbs/run/run_view.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "metrics/power_summary.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/table/table.hpp"
#include "unit/verbs/run/example_result.hpp"
#include "verbs/run/result_tree.hpp"

namespace ridgeline::verbs {
namespace {

using fixtures::example_result;
using fixtures::rejected_result;
using ::testing::HasSubstr;
using ::testing::Not;

std::string result_table(const RunResult& result, const report::TextStyle& style) {
  return run_text(result_tree(result), report::Face::kTerminal, style);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::size_t widest(const std::string& text) {
  std::size_t width = 0;
  for (const auto& line : lines_of(text)) {
    width = std::max(width, report::display_width(line));
  }
  return width;
}

report::TextStyle ascii(int width) {
  report::TextStyle style;
  style.width = width;
  style.ascii = true;
  return style;
}

// Numbers: ramp(b) has mean b, p50 b+2, p90 b+3, p99 b+5, max b+6. E2E's mean is 6840 ms, so its
// row is in seconds; the queue's is 0.5 ms, so its row is in microseconds.
TEST(ResultTable, ShowsTheRunOnOneScreen) {
  EXPECT_EQ(
      result_table(example_result(), ascii(100)),
      "llama-3.1-8b on h100   8 req/s (Poisson)   seed 1\n"
      "\n"
      "                 mean      p50      p90      p99      max   target         verdict\n"
      "TTFT      ms      182      184      185      187      188   p99 <= 1 000   ok\n"
      "TPOT      ms     24.2     26.2     27.2     29.2     30.2   p99 <= 20.0    missed\n"
      "ITL       ms     23.0     25.0     26.0     28.0     29.0\n"
      "E2E        s     6.84     6.84     6.84     6.84     6.85\n"
      "queue     us      500    2 500    3 500    5 500    6 500\n"
      "\n"
      "requests     1 000 completed   of which 2 cut by max_model_len   3 rejected"
      "   1 unfinished\n"
      "throughput   11.9 req/s   2 841 output tok/s   8 523 total tok/s"
      "   goodput 11.6 req/s (97.8 %)\n"
      "KV cache     peak 91.4 %   mean 50.0 %   prefix hits 38.2 %   17 preemptions\n"
      "by roofline  memory 81.0 %   compute 12.0 %   network 5.0 %   overhead 2.0 %"
      "   46 757 steps\n"
      "warning W-max-model-len: max_model_len is 8192 because no more fits - --max-model-len\n"
      "simulated 1 h 00 m in 0.41 s (8 780x)   digest 9f3c17aa\n");
}

TEST(ResultTable, HasNoTargetColumnsWithoutTargets) {
  RunResult result = example_result();
  result.summary.slo.clear();
  const std::string text = result_table(result, ascii(100));
  EXPECT_THAT(text, Not(HasSubstr("target")));
  EXPECT_THAT(text, Not(HasSubstr("verdict")));
}

std::string column_titles(const RunResult& result, int width) {
  for (const auto& line : lines_of(result_table(result, ascii(width)))) {
    if (line.find(" p99") != std::string::npos) {
      return line;
    }
  }
  return {};
}

TEST(ResultTable, DropsP90ThenMeanWhereTheTerminalIsNarrow) {
  RunResult result = example_result();
  // 12 columns of labels, five numbers of nine, and 3 + 12 + 3 + 7 for the targets: 82.
  EXPECT_THAT(column_titles(result, 82),
              HasSubstr("mean      p50      p90      p99      max   tar"));
  EXPECT_THAT(column_titles(result, 81), HasSubstr("mean      p50      p99      max   tar"));
  EXPECT_THAT(column_titles(result, 73), HasSubstr("mean      p50      p99      max   tar"));
  EXPECT_THAT(column_titles(result, 72), HasSubstr("   p50      p99      max   tar"));
  EXPECT_THAT(column_titles(result, 72), Not(HasSubstr("mean")));
  result.summary.slo.clear();
  EXPECT_THAT(column_titles(result, 57), HasSubstr("mean      p50      p90      p99      max"));
  EXPECT_THAT(column_titles(result, 56), Not(HasSubstr("p90")));
}

TEST(ResultTable, StaysWithinTheWidthAndNeverAboveAHundred) {
  const RunResult result = example_result();
  for (const int width : {48, 55, 60, 70, 80, 90, 100}) {
    EXPECT_LE(widest(result_table(result, ascii(width))), static_cast<std::size_t>(width)) << width;
  }
  EXPECT_LE(widest(result_table(result, ascii(1000))), 100U);
  EXPECT_EQ(result_table(result, ascii(-5)), result_table(result, ascii(48)));
}

TEST(ResultTable, ColumnsNeverTouch) {
  RunResult result = example_result();
  // Gaps of 24 ms in the mean, the longest of eight days: 725 279 124 ms are 11 characters.
  auto& gaps = *result.summary.client.by_metric[2];
  gaps.values[static_cast<std::size_t>(metrics::Statistic::kP99)] = 24319.0;
  gaps.values[static_cast<std::size_t>(metrics::Statistic::kMax)] = 725'279'124.0;
  const std::string text = result_table(result, ascii(100));
  EXPECT_THAT(text, HasSubstr("   24 319  725 279 124\n"));
  EXPECT_THAT(text, HasSubstr("      p99          max   target"));
}

TEST(ResultTable, AsciiHasNothingElse) {
  RunResult result = example_result();
  result.headline.emplace_back("mod\u00e8le \u2264");
  result.summary.client.by_metric[1].reset();
  const std::string text = result_table(result, ascii(100));
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) {
    return c == '\n' || (c >= ' ' && c <= '~');
  })) << text;
}

TEST(ResultTable, ColourOnlyRepeatsTheWords) {
  report::TextStyle coloured = ascii(100);
  coloured.palette = report::Palette::ansi();
  std::string text = result_table(example_result(), coloured);
  EXPECT_THAT(text, HasSubstr("\x1b[32mok\x1b[0m"));
  EXPECT_THAT(text, HasSubstr("\x1b[31mmissed\x1b[0m"));
  for (const std::string_view escape : {report::Palette::ansi().good,
                                        report::Palette::ansi().warn,
                                        report::Palette::ansi().bad,
                                        report::Palette::ansi().dim,
                                        report::Palette::ansi().reset}) {
    for (std::size_t at = text.find(escape); at != std::string::npos; at = text.find(escape)) {
      text.erase(at, escape.size());
    }
  }
  EXPECT_EQ(text, result_table(example_result(), ascii(100)));
}

TEST(ResultTable, SaysWhereNothingIs) {
  const std::string text = result_table(rejected_result(5), ascii(100));
  EXPECT_THAT(text, HasSubstr("TTFT      ms        -        -        -        -        -\n"));
  EXPECT_THAT(text, HasSubstr("requests     0 completed   5 rejected\n"));
  EXPECT_THAT(text, HasSubstr("throughput   -\n"));
  EXPECT_THAT(text, HasSubstr("KV cache     peak -   mean -   prefix hits -   0 preemptions\n"));
  EXPECT_THAT(text, HasSubstr("by roofline  0 steps\n"));
  EXPECT_THAT(text, HasSubstr("simulated - in 0 s"));
}

TEST(ResultTable, ATargetWithoutANumberHasNoVerdict) {
  RunResult result = rejected_result(1);
  result.summary.slo = {{.metric = metrics::Metric::kTpot,
                         .statistic = metrics::Statistic::kP99,
                         .limit_ms = 50.0,
                         .value_ms = {},
                         .met = {},
                         .share = {}}};
  EXPECT_THAT(result_table(result, ascii(100)), HasSubstr("p99 <= 50.0   no data"));
}

TEST(ResultTable, MarksAnInterruptedRun) {
  RunResult result = example_result();
  EXPECT_THAT(result_table(result, ascii(100)), Not(HasSubstr("partial")));
  result.partial = true;
  EXPECT_THAT(result_table(result, ascii(100)), HasSubstr("interrupted: the result is partial\n"));
}

TEST(ResultTable, NamesWhereItWasSaved) {
  report::TextStyle style = ascii(100);
  style.saved_to = "out.json";
  EXPECT_THAT(result_table(example_result(), style), HasSubstr("digest 9f3c17aa   -> out.json\n"));
}

TEST(ResultTable, TextFromOutsideCannotDriveTheTerminal) {
  RunResult result = example_result();
  result.headline = {"evil\x1b]0;title\x07\nname"};
  result.warnings = {{.code = "W\x1b", .message = "line\nbreak", .hint = "\x9b"}};
  const std::string text = result_table(result, ascii(100));
  EXPECT_THAT(text, HasSubstr("evil?]0;title??name\n"));
  EXPECT_THAT(text, HasSubstr("warning W?: line?break"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(ResultTable, IsMarkdownToo) {
  RunResult result = example_result();
  result.warnings.front().message = "a | b";
  const std::string text = run_text(result_tree(result), report::Face::kMarkdown, {});
  EXPECT_THAT(text, HasSubstr("llama-3.1-8b on h100, 8 req/s (Poisson), seed 1\n"));
  EXPECT_THAT(text, HasSubstr("| TPOT | ms | 24.2 | 26.2 | 27.2 | 29.2 | 30.2 |"));
  EXPECT_THAT(text, HasSubstr("KV cache: peak 91.4 %, mean 50.0 %"));
  EXPECT_THAT(text, HasSubstr("- **W-max-model-len** a \\| b"));
}

TEST(ResultTable, PowerIsARangeWhereTheGpuWasNotMeasured) {
  auto result = example_result();
  metrics::PowerSummary& power = result.summary.power.emplace();
  power.mean = 450.4;
  power.low = 400.0;
  power.high = 500.0;
  EXPECT_THAT(result_table(result, ascii(100)),
              HasSubstr("power        450 W per GPU (400-500)\n"));
  power.own_law = true;
  power.joules_per_output_token = 0.25;
  EXPECT_THAT(result_table(result, ascii(100)),
              HasSubstr("power        450 W per GPU   0.250 J per output token\n"));
}

}  // namespace
}  // namespace ridgeline::verbs
