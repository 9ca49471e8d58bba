#include "lab/studies/h33_answers.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"
#include "support/paths.hpp"

namespace ridgeline::studies {
namespace {

TEST(H33, SevenBatchesDifferTenTimesOrMore) {
  std::int64_t high = 0;
  for (const auto& scenario : h33::decode_scenarios()) {
    high += scenario.range() >= 10 ? 1 : 0;
  }
  EXPECT_EQ(h33::decode_scenarios().size(), 15U);
  EXPECT_EQ(high, 7);
  EXPECT_DOUBLE_EQ(h33::mean({1.0, 2.0, 6.0}), 3.0);
}

// ../shared/design/seeds.md, rows H33.2, H33.3, H33.6 and H33.7.
TEST(H33, AnswersOnTheMeasuredTables) {
  const auto data = test::shared_dir() / "kernels" / "blis_h100";
  if (!std::filesystem::exists(data)) {
    GTEST_SKIP() << "the measured kernel tables are not beside the checkout";
  }
  const StudyReport report = run_study(study_h33(), {.bench_data = data.string()}).value();
  const auto column = [&](std::size_t table, const char* key) {
    std::vector<double> values;
    for (const document::Node& row : report.outcome.tables[table].rows) {
      values.push_back(row.find(key)->as_real());
    }
    return values;
  };
  EXPECT_EQ(report.outcome.by_rule, Verdict::kConfirmed);
  EXPECT_THAT(report.outcome.because, testing::HasSubstr("7 of the 7 batches"));
  EXPECT_THAT(column(7, "mfu"), testing::ElementsAre(0.008, 0.005, 0.008267));
  EXPECT_EQ(report.outcome.tables[8].rows[0].find("falls")->as_integer(), 1);
  EXPECT_THAT(column(9, "us_per_layer"),
              testing::ElementsAre(testing::DoubleNear(34, 0.5),
                                   testing::DoubleNear(149, 0.5),
                                   testing::DoubleNear(39, 0.5),
                                   testing::DoubleNear(47, 0.5)));
  // The first row of a file as the stand-in takes most of the ratio of 5 in even batches away.
  EXPECT_NEAR(column(10, "largest_even")[0], 5.0, 1e-9);
}

}  // namespace
}  // namespace ridgeline::studies
