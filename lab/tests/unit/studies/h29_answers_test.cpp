#include "lab/studies/h29_answers.hpp"

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"
#include "support/paths.hpp"

namespace ridgeline::studies {
namespace {

TEST(H29, BucketsDoubleFrom512To65536) {
  EXPECT_EQ(h29::bucket_for(1), 512);
  EXPECT_EQ(h29::bucket_for(512), 512);
  EXPECT_EQ(h29::bucket_for(513), 1024);
  EXPECT_EQ(h29::bucket_for(32769), 65536);
  EXPECT_EQ(h29::bucket_for(100000), 65536);
}

const StudyTable& table_of(const StudyReport& report, const std::string& name) {
  for (const StudyTable& table : report.outcome.tables) {
    if (table.name == name) {
      return table;
    }
  }
  throw std::runtime_error(name);
}

// ../shared/design/seeds.md, rows H29.3, H29.4, H29.5, H29.6 and R.6.
TEST(H29, AnswersOnTheMeasuredTables) {
  const auto data = test::shared_dir() / "kernels" / "blis_h100";
  if (!std::filesystem::exists(data)) {
    GTEST_SKIP() << "the measured kernel tables are not beside the checkout";
  }
  const StudyReport report = run_study(study_h29(), {.bench_data = data.string()}).value();
  EXPECT_EQ(report.outcome.by_rule, Verdict::kRefuted);
  EXPECT_NE(report.outcome.because.find("the first condition is met: 100 tokens take 7365 us "
                                        "bucketed and 7312 us"),
            std::string::npos)
      << report.outcome.because;
  EXPECT_NE(report.outcome.because.find("the second is not met"), std::string::npos);

  std::vector<std::int64_t> options;
  for (const document::Node& row : table_of(report, "options").rows) {
    options.push_back(row.find("step")->as_integer());
  }
  EXPECT_EQ(options, (std::vector<std::int64_t>{7365, 7315, 7315, 7312, 7312}));

  std::vector<bool> holds;
  for (const document::Node& row : table_of(report, "statements").rows) {
    holds.push_back(row.find("holds")->as_bool());
  }
  EXPECT_EQ(holds, (std::vector<bool>{true, true, false, false}));

  const auto& waste = table_of(report, "bucket_waste").rows;
  ASSERT_EQ(waste.size(), 5U);
  EXPECT_NEAR(waste[0].find("added_to_length_pct")->as_real(), 99.6, 0.05);
  EXPECT_NEAR(waste[0].find("added_to_step_pct")->as_real(), 2.5, 0.05);
  EXPECT_NEAR(waste[4].find("added_to_length_pct")->as_real(), 38.6, 0.1);
}

}  // namespace
}  // namespace ridgeline::studies
