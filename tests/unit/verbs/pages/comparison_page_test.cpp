#include "report/comparison_page.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/node_builder.hpp"
#include "report/html_report.hpp"
#include "scenario/scenario.hpp"
#include "unit/verbs/run/a_run.hpp"
#include "verbs/run/result_tree.hpp"

namespace ridgeline::report {
namespace {

using document::MapBuilder;
using document::number_node;

using ::testing::HasSubstr;
using ::testing::Not;

std::vector<PageRun> two(const std::vector<scenario::Override>& more) {
  return {{.name = "base.json", .result = verbs::fixtures::a_result()},
          {.name = "<b>other</b>", .result = verbs::result_tree(verbs::fixtures::a_run(more))}};
}

TEST(ComparisonPage, SaysWhatDiffersAndNothingElse) {
  const std::string page = comparison_page(two({{"engine.max_num_seqs", "8"}}));
  EXPECT_THAT(page, HasSubstr("<td>engine.max_num_seqs</td>"));
  EXPECT_THAT(page, Not(HasSubstr("<td>engine.block_size</td>")));
  EXPECT_THAT(page, HasSubstr("Paired: same seed"));
  EXPECT_THAT(page, HasSubstr("&lt;b&gt;other&lt;/b&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<b>other")));
}

TEST(ComparisonPage, SaysWhetherRunsArePaired) {
  EXPECT_THAT(comparison_page(two({{"seed", "7"}})), HasSubstr("Not paired"));
  EXPECT_THAT(comparison_page(two({})), HasSubstr("Paired, and equal"));
}

TEST(ComparisonPage, EveryNumberIsOfItsRun) {
  const auto runs = two({{"gpu", "a100-80gb"}});
  const std::string page = comparison_page(runs);
  const std::string key = "summary.ttft_ms.p99";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto* const value = runs[i].result.find("summary")->find("ttft_ms")->find("p99");
    EXPECT_THAT(page,
                HasSubstr("data-key=\"" + std::to_string(i) + ":" + key + "\">" +
                          number_text(value, key) + "<"));
  }
  EXPECT_THAT(page, HasSubstr("<small>\u00d7"));
}

TEST(ComparisonPage, AMeasuredRunNeedsNoMoreThanItHas) {
  std::vector<PageRun> runs = two({});
  MapBuilder ttft;
  MapBuilder levels;
  levels.add("p50", number_node(30.0));
  ttft.add("ttft_ms", levels.build());
  MapBuilder result;
  result.add("summary", ttft.build());
  runs[1] = {.name = "measured.json", .result = result.build(), .measured = true};
  const std::string page = comparison_page(runs);
  EXPECT_THAT(page, HasSubstr("measured.json (measured)"));
  EXPECT_THAT(page, HasSubstr("data-key=\"1:summary.ttft_ms.p50\">30.0<"));
}

}  // namespace
}  // namespace ridgeline::report
