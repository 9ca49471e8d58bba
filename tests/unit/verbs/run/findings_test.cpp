#include "verbs/run/findings.hpp"

#include <cstddef>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "document/node_path.hpp"
#include "report/chart/figure.hpp"
#include "unit/verbs/run/a_run.hpp"
#include "verbs/run/result_tree.hpp"

namespace ridgeline::verbs {
namespace {

using report::figures::number_at;

TEST(Findings, TheWorstStretchIsOfTheRun) {
  const auto result = result_tree(fixtures::a_run({{"slo.ttft", "1ms"}}));
  const double length =
      number_at(result, "findings.worst.to_s") - number_at(result, "findings.worst.from_s");
  EXPECT_NEAR(length, 1.0, number_at(result, "series.window_s"));
  EXPECT_LE(number_at(result, "findings.worst.to_s"), number_at(result, "series.end_s"));
  EXPECT_LE(number_at(result, "findings.worst.missed"), number_at(result, "findings.whole.missed"));
  EXPECT_GT(number_at(result, "findings.worst.missed"), 0.0);
  EXPECT_EQ(number_at(result, "findings.whole.requests"), 200.0);
}

TEST(Findings, NoSecondHasMoreMisses) {
  const auto result = result_tree(fixtures::a_run({{"slo.ttft", "1ms"}}));
  const auto requests = report::figures::numbers_at(result, "series.slo.requests");
  const auto good = report::figures::numbers_at(result, "series.slo.good");
  const auto length = static_cast<std::size_t>(1.0 / number_at(result, "series.window_s") + 0.5);
  for (std::size_t first = 0; first + length <= requests.size(); ++first) {
    double missed = 0.0;
    for (std::size_t i = first; i < first + length; ++i) {
      missed += requests[i] - good[i];
    }
    EXPECT_LE(missed, number_at(result, "findings.worst.missed"));
  }
}

TEST(Findings, WhereNoneMissedItIsTheBusiest) {
  const auto result = result_tree(fixtures::a_run({{"slo.ttft", "100s"}, {"slo.tpot", "100s"}}));
  EXPECT_EQ(number_at(result, "findings.whole.missed"), 0.0);
  EXPECT_GE(number_at(result, "findings.worst.running"),
            number_at(result, "findings.whole.running"));
}

TEST(Findings, AShortRunHasNoWorstStretch) {
  const auto result = result_tree(fixtures::a_run({{"workload.num_prompts", "5"}}));
  EXPECT_TRUE(at_path(result, "findings.worst")->is_null());
}

}  // namespace
}  // namespace ridgeline::verbs
