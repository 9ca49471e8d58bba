#include "report/transfers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "metrics/summary.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

metrics::TransferSummary some_transfers() {
  return {.prefill_instances = 2,
          .requests = 1500,
          .count = 1400,
          .failed = 3,
          .bytes = 2'500'000'000,
          .ms = 21.5,
          .wait_ms = 1.25,
          .link_utilisation = 0.125,
          .ttft_parts_ms = {1.0, 40.0, 0.5, 0.0, 2.0, 21.5, 9.0}};
}

TEST(Transfers, ATreeHasEveryNumber) {
  const document::Node tree = transfers_tree(some_transfers());
  EXPECT_EQ(tree.find("count")->as_integer(), 1400);
  EXPECT_EQ(tree.find("wait_ms")->as_real(), 1.25);
  EXPECT_EQ(tree.find("ttft_parts_ms")->find("hand_over")->as_real(), 0.5);
  EXPECT_TRUE(transfers_tree({}).find("ms")->is_null());
}

TEST(Transfers, LinesSayWhatMovedAndWhereTheFirstTokenWaited) {
  const std::string text = transfers_lines(some_transfers(), {.prefill = 2, .decode = 4}, {});
  for (const char* part : {"2 + 4 instances",
                           "1 500 prompts apart",
                           "2.50 GB",
                           "1.25 of it",
                           "busiest wire 12.5 %",
                           "3 lost",
                           "hand-over 0.500",
                           "first step 9.00 ms"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(transfers_lines({}, {.prefill = 1, .decode = 1}, {}), Not(HasSubstr("first token")));
}

}  // namespace
}  // namespace ridgeline::report
