#include "verbs/kernels_fit_view.hpp"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/node_json.hpp"
#include "latency/fit/fit_kernels.hpp"
#include "latency/fit/operators.hpp"

namespace ridgeline::verbs {
namespace {

TEST(KernelFitReport, ErrorsArePercentInTheTableAndSharesInJson) {
  latency::fit::OperatorFit fit;
  fit.of = &latency::fit::operators().front();
  fit.form = &fit.of->forms.front();
  fit.gpu = "h100";
  fit.rows = 12;
  fit.values.assign(fit.form->constants.size(), 0.5);
  fit.in_sample = {.median = 0.0125, .p90 = 0.25};
  const std::vector<latency::fit::OperatorFit> fits = {fit};
  EXPECT_THAT(kernel_fit_table(fits, {}), ::testing::ContainsRegex("h100 .*1\\.25 .*25\\.0"));
  EXPECT_THAT(document::json_text(kernel_fit_tree(fits)),
              ::testing::HasSubstr("\"median_error\": 0.0125"));
  EXPECT_THAT(document::json_text(kernel_fit_tree(fits)),
              ::testing::Not(::testing::HasSubstr("left_out")));
}

}  // namespace
}  // namespace ridgeline::verbs
