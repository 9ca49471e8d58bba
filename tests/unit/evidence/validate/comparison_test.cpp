#include "evidence/validate/comparison.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "evidence/validate/evidence.hpp"
#include "evidence/validate/validate.hpp"

namespace ridgeline::evidence::validate {
namespace {

/// Records that took 100 ms, predicted with these times.
ModelScores model(std::string name, const std::vector<double>& predicted, bool one_server) {
  ModelScores scores{.model = std::move(name), .validation = {}};
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    ScoredRecord record;
    record.evidence.file = one_server ? "f" : std::to_string(i);
    record.evidence.measured.at(Figure::kE2e, Level::kMean) = 100.0;
    record.prediction.emplace().figures.at(Figure::kE2e, Level::kMean) = predicted[i];
    scores.validation.records.push_back(std::move(record));
  }
  return scores;
}

TEST(Comparison, PairsTheErrorsOfOneRecord) {
  const auto rows = compare_models(
      {model("a", {120, 130, 90}, false), model("b", {110, 105, 98}, false)}, {{"phase"}});
  ASSERT_EQ(rows.size(), 2U);  // all, and the one phase
  const ComparedRow& row = rows.front();
  EXPECT_EQ(row.records, 3);
  EXPECT_EQ(row.servers, 3);
  EXPECT_DOUBLE_EQ(row.models[0].mean_abs, 20.0);
  EXPECT_NEAR(row.models[1].gain, 20.0 - 17.0 / 3.0, 1e-9);
  EXPECT_EQ(row.models[1].nearest, 3);
  ASSERT_TRUE(row.models[1].interval);
  EXPECT_GE(row.models[1].interval->low, 8.0 - 1e-9);
  EXPECT_LE(row.models[1].interval->high, 25.0 + 1e-9);
  EXPECT_EQ(row.clear_winner, 1U);
}

TEST(Comparison, NoClearWinnerWhereEachIsNearerOnce) {
  const auto rows =
      compare_models({model("a", {110, 140}, true), model("b", {140, 110}, true)}, {});
  EXPECT_FALSE(rows.front().clear_winner);
  EXPECT_EQ(rows.front().servers, 1);
  EXPECT_TRUE(rows.front().models[1].interval);  // over its two runs
}

TEST(Comparison, OneRunHasNoInterval) {
  const auto rows = compare_models({model("a", {110}, true), model("b", {120}, true)}, {});
  EXPECT_FALSE(rows.front().models[1].interval);
  EXPECT_FALSE(rows.front().clear_winner);
}

}  // namespace
}  // namespace ridgeline::evidence::validate
