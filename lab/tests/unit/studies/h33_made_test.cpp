#include <cmath>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/studies/h33_answers.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

// Without rounded rows nothing of the 5 times of even batches is left: the ratio is at most 1, as
// one call of a batch costs no more than its sequences one after the other.
TEST(H33Made, EvenBatchesDoNotExceedOne) {
  const auto table = h33::made_tables_table();
  ASSERT_TRUE(table) << core::to_string(table.error().front());
  ASSERT_EQ(table->rows.size(), 15U);
  for (const document::Node& row : table->rows) {
    const double ratio = row.find("ratio")->as_real();
    EXPECT_GT(ratio, 0.0);
    EXPECT_EQ(row.find("within_5_pct")->as_bool(), std::abs(ratio - 1.0) <= 0.05);
    if (row.find("even")->as_bool()) {
      EXPECT_LE(ratio, 1.0 + 1e-9) << row.find("scenario")->as_string();
    }
  }
}

}  // namespace
}  // namespace ridgeline::studies
