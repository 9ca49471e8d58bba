#include "report/html_report.hpp"

#include <cstddef>
#include <regex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "document/node_json.hpp"
#include "document/node_path.hpp"
#include "report/chart/figure.hpp"
#include "report/saved_result.hpp"
#include "unit/verbs/run/a_run.hpp"
#include "verbs/run/registry.hpp"
#include "verbs/run/result_tree.hpp"

namespace ridgeline::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string html_report(const verbs::RunResult& result) {
  return (*verbs::find_exporter("html"))->render(result, {});
}

const std::string& a_page() {
  static const std::string kPage = html_report(verbs::fixtures::a_run());
  return kPage;
}

TEST(HtmlReport, EveryNumberIsTheTextOfItsKey) {
  const std::regex element("<span data-key=\"([^\"]+)\">([^<]*)</span>");
  const std::string& page = a_page();
  std::size_t numbers = 0;
  for (auto match = std::sregex_iterator(page.begin(), page.end(), element);
       match != std::sregex_iterator();
       ++match) {
    const std::string key = (*match)[1];
    EXPECT_EQ((*match)[2], number_text(at_path(verbs::fixtures::a_result(), key), key)) << key;
    numbers += at_path(verbs::fixtures::a_result(), key) != nullptr ? 1U : 0U;
  }
  EXPECT_GE(numbers, 60U);
}

TEST(HtmlReport, HoldsTheResult) {
  const auto back = result_in_page(a_page(), "run.html");
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(document::json_text(*back), document::json_text(verbs::fixtures::a_result()));
}

TEST(HtmlReport, AsksForNothing) {
  const std::string& page = a_page();
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* const word : {" src=", "url(", "@import", "<link", "<iframe", "<script>"}) {
    EXPECT_THAT(page, Not(HasSubstr(word))) << word;
  }
  const std::regex address("https?://[^\"'< ]*");
  for (auto match = std::sregex_iterator(page.begin(), page.end(), address);
       match != std::sregex_iterator();
       ++match) {
    EXPECT_EQ(match->str(), "http://www.w3.org/2000/svg");
  }
}

TEST(HtmlReport, TextsOfOthersAreText) {
  verbs::RunResult run = verbs::fixtures::a_run();
  run.headline = {"<img onerror=alert(1)>"};
  run.warnings.push_back({.code = "W", .message = "</script><b>", .hint = {}});
  const std::string page = html_report(run);
  EXPECT_THAT(page, Not(HasSubstr("<img")));
  EXPECT_THAT(page, Not(HasSubstr("</script><b>")));
  EXPECT_THAT(page, HasSubstr("&lt;img onerror=alert(1)&gt;"));
  EXPECT_EQ(document::json_text(*result_in_page(page, "p")),
            document::json_text(verbs::result_tree(run)));
}

TEST(HtmlReport, TheVerdictComesFirst) {
  const std::string& page = a_page();
  EXPECT_LT(page.find("class=\"verdict\""), page.find("class=\"cards\""));
  EXPECT_THAT(page, HasSubstr("TTFT p99"));
  verbs::RunResult run = verbs::fixtures::a_run({{"slo.ttft", "1ms"}});
  EXPECT_THAT(html_report(run), HasSubstr("<b>MISSED</b> TTFT p99"));
  EXPECT_THAT(html_report(verbs::fixtures::a_run({{"slo.ttft", "100s"}})),
              HasSubstr("<b>MET</b> TTFT"));
}

TEST(HtmlReport, SaysInstantsAsDurationsAndSharesAsPercent) {
  const auto tree = *document::parse_json(R"({"a": 3661.0, "b": 0.25})", "t");
  EXPECT_EQ(number_text(tree.find("a"), "findings.worst.from_s"), "1 h 01 m");
  EXPECT_EQ(number_text(tree.find("b"), "findings.worst.missed_share"), "25.0 %");
}

TEST(HtmlReport, SaysTheErrorToExpect) {
  EXPECT_THAT(a_page(), HasSubstr("data-key=\"expected_error.ttft.p90_pct.low\""));
  verbs::RunResult run = verbs::fixtures::a_run();
  run.expected_errors.clear();
  EXPECT_THAT(html_report(run), HasSubstr("No measured run is like this one."));
}

TEST(HtmlReport, OnlyTheRunInfoDiffersBetweenTwoRuns) {
  verbs::RunResult other = verbs::fixtures::a_run();
  other.run_info.wall_time_s = 99.0;
  const std::string one = a_page();
  const std::string two = html_report(other);
  EXPECT_NE(one, two);
  const auto before = [](const std::string& page) {
    return page.substr(0, page.find("id=\"run-info\""));
  };
  EXPECT_EQ(before(one), before(two));
}

TEST(HtmlReport, SaysTheCommandThatRepeatsIt) {
  EXPECT_THAT(a_page(),
              HasSubstr("ridgeline run --model llama-3.1-8b --gpu h100 --num-prompts 200"));
}

TEST(HtmlReport, ReadsResultsOfOtherFiles) {
  const PageWords words = words_of(verbs::fixtures::a_result(), "run.json");
  EXPECT_THAT(words.headline, ::testing::StartsWith("llama-3.1-8b on h100 \u00b7 "));
  EXPECT_THAT(words.command, ::testing::StartsWith("ridgeline run --model llama-3.1-8b"));
  EXPECT_EQ(words_of(document::Node(), "old.json").command, "ridgeline run old.json");
  const auto none = result_in_page("<!doctype html>\n<p>hello", "other.html");
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().front().where.file, "other.html");
}

}  // namespace
}  // namespace ridgeline::report
