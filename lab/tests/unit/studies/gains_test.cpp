#include "lab/studies/gains.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"
#include "lab/studies/measured_arms.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

using evidence::validate::Figure;
using evidence::validate::Figures;
using evidence::validate::Level;

Figures tpot(double ms) {
  Figures figures;
  figures.at(Figure::kTpot, Level::kMean) = ms;
  return figures;
}

/// Measured at 100 ms, so that predictions are errors in percent.
ScoredRun run_of(const std::string& server, std::int64_t clients, double before, double after) {
  ScoredRun run;
  run.group = "family, closed";
  run.server = server;
  run.clients = clients;
  run.measured = tpot(100.0);
  run.predicted = {tpot(100.0 + before), tpot(100.0 + after)};
  return run;
}

TEST(Gains, AreDifferencesOfAbsoluteErrorsWhateverTheirSigns) {
  const std::vector<ScoredRun> runs = {
      run_of("a", 8, -20.0, 5.0), run_of("b", 8, 10.0, 20.0), run_of("c", 16, 4.0, -4.0)};
  const Runs all = {&runs[0], &runs[1], &runs[2]};
  const auto gain = gain_of(all, {.baseline = 0, .treatment = 1}, Figure::kTpot);
  ASSERT_TRUE(gain);
  EXPECT_EQ(gain->runs, 3);
  EXPECT_NEAR(gain->baseline, 34.0 / 3, 1e-12);
  EXPECT_NEAR(gain->points, (15.0 - 10.0 + 0.0) / 3, 1e-12);
  EXPECT_NEAR(mean_signed(all, 0, Figure::kTpot), -2.0, 1e-12);
  EXPECT_FALSE(gain_of(all, {}, Figure::kE2e));
}

TEST(Gains, TheIntervalDrawsServersAndIsTheSameEachTime) {
  std::vector<ScoredRun> runs;
  for (int i = 0; i < 40; ++i) {
    runs.push_back(run_of("server " + std::to_string(i), 8, 10.0 + i % 5, 10.0));
  }
  Runs all;
  for (const ScoredRun& run : runs) {
    all.push_back(&run);
  }
  const auto gain = gain_of(all, {}, Figure::kTpot);
  const auto again = gain_of(all, {}, Figure::kTpot);
  ASSERT_TRUE(gain && gain->interval && again && again->interval);
  EXPECT_EQ(gain->interval->low, again->interval->low);
  EXPECT_EQ(gain->interval->high, again->interval->high);
  // Mean 2, standard error sqrt(2 / 40): 1.96 of them are 0.44.
  EXPECT_NEAR(gain->interval->low, 2.0 - 0.44, 0.1);
  EXPECT_NEAR(gain->interval->high, 2.0 + 0.44, 0.1);
  for (ScoredRun& run : runs) {
    run.server = "one";
  }
  EXPECT_FALSE(gain_of(all, {}, Figure::kTpot)->interval);
}

TEST(Gains, TheTableSplitsByClientsInOrderOfSize) {
  const std::vector<ScoredRun> runs = {
      run_of("a", 128, 9.0, 0.0), run_of("b", 8, 1.0, 0.0), run_of("c", 16, 2.0, 0.0)};
  const auto groups = groups_of(runs);
  ASSERT_EQ(groups.size(), 1U);
  const StudyTable table = gains_table("gains", groups, {}, Figure::kTpot);
  std::vector<std::string> clients;
  std::vector<double> points;
  for (const document::Node& row : table.rows) {
    if (row.find("axis")->as_string() == "clients") {
      clients.push_back(row.find("value")->as_string());
      points.push_back(row.find("gain_points")->as_real());
    }
  }
  EXPECT_EQ(clients, (std::vector<std::string>{"8", "16", "128"}));
  EXPECT_EQ(points, (std::vector<double>{1.0, 2.0, 9.0}));
}

}  // namespace
}  // namespace ridgeline::studies
