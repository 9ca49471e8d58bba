#include "verbs/priced_step.hpp"

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "scenario/scenario.hpp"
#include "verbs/batch_text.hpp"

namespace ridgeline::verbs {
namespace {

TEST(PricedStep, EachModelPricesTheSameBatch) {
  const auto loaded = scenario::read_scenario(
      *document::parse_json(R"({"model": "llama-3.1-8b", "gpu": "h100"})", ""),
      {},
      scenario::Purpose::kLook);
  const auto batch = parse_batch("700x32", "", true);
  const auto steps = price_step(*loaded, *batch, {"kernel", "v1"});
  ASSERT_TRUE(steps);
  const document::Node both = steps_tree(*steps, true);
  EXPECT_EQ(both.find("models")->items().size(), 2U);
  EXPECT_GT(steps_tree(*steps, false).find("step_us")->as_real(), 0.0);
  EXPECT_FALSE(price_step(*loaded, *batch, {"no-such-model"}));
}

}  // namespace
}  // namespace ridgeline::verbs
