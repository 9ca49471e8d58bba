#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/studies/study.hpp"
#include "lab/studies/study_file.hpp"
#include "support/paths.hpp"

namespace ridgeline::studies {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(StudyFileRun, WithoutServersTheirTablesAreSkipped) {
  const auto data = test::shared_dir() / "kernels" / "blis_h100";
  if (!std::filesystem::exists(data)) {
    GTEST_SKIP() << "the measured kernel tables are not beside the checkout";
  }
  const auto report = run_study(compiled_in_study("h5"), {.bench_data = data.string()});
  ASSERT_TRUE(report) << core::to_string(report.error().front());
  std::vector<std::string> names;
  for (const StudyTable& table : report->outcome.tables) {
    names.push_back(table.name);
  }
  EXPECT_THAT(names,
              ElementsAre("mixed_steps",
                          "prefill",
                          "branch_edge",
                          "statements",
                          "one_client",
                          "findings",
                          "metadata"));
  ASSERT_EQ(report->outcome.skipped.size(), 1U);
  EXPECT_EQ(report->outcome.skipped[0].needs, "--measured FILE");
  EXPECT_EQ(report->outcome.by_rule, Verdict::kUndecided);
  // One client's steps are never mixed.
  const auto& digests = report->outcome.tables[4].rows;
  EXPECT_EQ(digests[0].find("digest")->as_string(), digests[2].find("digest")->as_string());
}

// ../shared/design/seeds.md, rows H29.3 to H29.6 and H33.2 to H33.7.
TEST(StudyFileRun, ThePublishedStudiesAnswerOnTheMeasuredTables) {
  const auto data = test::shared_dir() / "kernels" / "blis_h100";
  if (!std::filesystem::exists(data)) {
    GTEST_SKIP() << "the measured kernel tables are not beside the checkout";
  }
  const auto h29 = run_study(compiled_in_study("h29"), {.bench_data = data.string()});
  ASSERT_TRUE(h29);
  EXPECT_EQ(h29->outcome.by_rule, Verdict::kRefuted);
  EXPECT_THAT(
      h29->outcome.because,
      HasSubstr("the first condition is met: 100 tokens take 7365 us bucketed and 7312 us"));
  const auto h33 = run_study(compiled_in_study("h33"), {.bench_data = data.string()});
  ASSERT_TRUE(h33);
  EXPECT_THAT(h33->outcome.because, HasSubstr("7 of the 7 batches"));
  // Without rounded rows nothing of the 5 times of even batches is left.
  const auto& tables = h33->outcome.tables;
  const auto table = std::ranges::find_if(tables, [](const auto& one) {
    return !one.rows.empty() && one.rows.front().find("even") != nullptr &&
           one.rows.front().find("ratio") != nullptr;
  });
  ASSERT_NE(table, tables.end());
  for (const document::Node& row : table->rows) {
    if (row.find("even")->as_bool()) {
      EXPECT_LE(row.find("ratio")->as_real(), 1.0 + 1e-9) << row.find("scenario")->as_string();
    }
  }
}

}  // namespace
}  // namespace ridgeline::studies
