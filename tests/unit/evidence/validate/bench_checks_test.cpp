#include "evidence/validate/bench_checks.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "evidence/validate/client_load.hpp"
#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {
namespace {

std::vector<std::string> doubts_of_totals(const std::string& text) {
  Evidence evidence;
  check_bench_totals(document::parse_json(text, "own.json").value(), evidence);
  return evidence.doubts;
}

TEST(BenchChecks, TotalsAgreeWithEachOther) {
  EXPECT_TRUE(
      doubts_of_totals(R"({"completed": 30, "duration": 10, "request_throughput": 3.0})").empty());
  const auto doubts =
      doubts_of_totals(R"({"completed": 30, "duration": 30, "request_throughput": 3.0})");
  ASSERT_EQ(doubts.size(), 1U);
  EXPECT_EQ(doubts.front(), "request_throughput is 3, expected 1, as completed and duration say");
  EXPECT_EQ(doubts_of_totals(R"({"errors": ["", "timed out"], "failed": 0})").size(), 1U);
  EXPECT_EQ(doubts_of_totals(R"({"median_tpot_ms": 5})").size(), 1U);
}

TEST(BenchChecks, TheRequestsOwnTtftIsCompared) {
  std::vector<ClientRequest> requests(2);
  requests[0].ttft_ms = 10.0;
  requests[1].ttft_ms = 30.0;
  Evidence evidence;
  evidence.measured.at(Figure::kTtft, Level::kMean) = 200.0;
  check_bench_rows(document::parse_json(R"({"mean_ttft_ms": 200})", "own.json").value(),
                   requests,
                   false,
                   evidence);
  EXPECT_EQ(evidence.measured.at(Figure::kTtft, Level::kMean), 20.0);
  EXPECT_EQ(evidence.doubts.size(), 2U);
}

}  // namespace
}  // namespace ridgeline::evidence::validate
