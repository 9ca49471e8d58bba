#include <cstddef>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "domain/label_set.hpp"
#include "metrics/summary.hpp"
#include "metrics/summary_tree.hpp"
#include "report/palette.hpp"
#include "report/table/sheet.hpp"
#include "report/table/table.hpp"
#include "unit/verbs/run/example_result.hpp"
#include "verbs/run/run_view.hpp"

namespace ridgeline::verbs {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

metrics::GroupSummary group(std::string name, std::int64_t requests, double base) {
  metrics::GroupSummary group;
  group.label = domain::Label::kTenant;
  group.name = std::move(name);
  group.requests = requests;
  group.completed = requests;
  group.ttft_ms = fixtures::ramp(base);
  group.good_share = 0.5;
  return group;
}

metrics::Summary summary_of(std::size_t groups) {
  metrics::Summary summary = fixtures::example_result().summary;
  for (std::size_t i = 0; i < groups; ++i) {
    summary.groups.push_back(group("tenant-" + std::to_string(i), 100, 10.0));
  }
  return summary;
}

std::string group_tables(const metrics::Summary& summary, const report::TextStyle& style) {
  report::Sheet sheet("Groups");
  add_groups(metrics::summary_tree(summary), sheet);
  return sheet.render(report::Face::kTerminal, style);
}

TEST(GroupTable, HasTheColumnsThatFit) {
  metrics::Summary summary = summary_of(1);
  summary.groups.push_back(group("a name that is longer than its column", 1200, 30.0));
  summary.groups.back().name.reset();
  // The columns of the ramp: mean, std, p50 (base + 2), p90, p95, p99 (base + 5), max.
  EXPECT_EQ(
      group_tables(summary, {.width = 100, .ascii = true, .palette = {}, .saved_to = {}}),
      "\n"
      "                           TTFT ms           TPOT ms             E2E s\n"
      "by tenant        requests      p50      p99      p50      p99      p50      p99     good\n"
      "tenant-0              100     12.0     15.0        -        -        -        -   50.0 %\n"
      "(none)              1 200     32.0     35.0        -        -        -        -   50.0 %\n"
      "\n");
  const std::string narrow =
      group_tables(summary, {.width = 48, .ascii = true, .palette = {}, .saved_to = {}});
  EXPECT_THAT(narrow, HasSubstr("requests      p99     good\n"));
  EXPECT_THAT(narrow, HasSubstr("(none)              1 200     35.0   50.0 %\n"));
}

TEST(GroupTable, LeavesTheRestToOtherFormats) {
  const std::string text =
      group_tables(summary_of(20), {.width = 100, .ascii = true, .palette = {}, .saved_to = {}});
  EXPECT_THAT(text, HasSubstr("tenant-7"));
  EXPECT_THAT(text, Not(HasSubstr("tenant-8")));
  EXPECT_THAT(text, HasSubstr("and 12 more: --format json\n"));
  EXPECT_EQ(
      group_tables(summary_of(0), {.width = 100, .ascii = true, .palette = {}, .saved_to = {}}),
      "");
}

}  // namespace
}  // namespace ridgeline::verbs
