#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/document.hpp"
#include "report/client_results.hpp"
#include "report/run_result.hpp"
#include "unit/report/client_fixtures.hpp"

namespace ridgeline::report {
namespace {

using testing::number_at;
using testing::rendered;
using testing::two_requests;

// Of requests of 1 s to their last token and 4 s to the stream's end, 4 and 1 tokens.
// Its client stops at the last token.
TEST(ClientVllmBench, Definitions) {
  const core::Node vllm = rendered("vllm-bench", {}, two_requests());
  EXPECT_DOUBLE_EQ(number_at(vllm, {"mean_e2el_ms"}), 1000.0);
  EXPECT_DOUBLE_EQ(number_at(vllm, {"mean_tpot_ms"}), 250.0);
  ASSERT_EQ(vllm.find("itls")->items().size(), 3U);
  EXPECT_EQ(vllm.find("itls")->items()[0].items().size(), 3U);
  // A request that failed has no answer.
  EXPECT_EQ(vllm.find("output_lens")->items()[2].as_integer(), 0);
}

}  // namespace
}  // namespace ridgeline::report
