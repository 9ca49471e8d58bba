#include "report/expected_error.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "accuracy/bands.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {
namespace {

accuracy::Band some_band() {
  accuracy::Band band;
  band.slice = "h100, dense";
  band.metric = accuracy::Metric::kTpot;
  band.n = 67;
  band.median = 2.2;
  band.mean = 3.0;
  band.p90 = 5.0;
  return band;
}

TEST(ExpectedError, NamesTheRecordsThatItIsFrom) {
  const accuracy::Band band = some_band();
  const auto inside = expected_error_pieces({{.band = &band, .outside = {}}}, {.ascii = true});
  ASSERT_EQ(inside.size(), 1U);
  EXPECT_EQ(inside[0].text, "TPOT 2.20 % (median of 67 records: h100, dense)");
  const auto outside =
      expected_error_pieces({{.band = &band, .outside = {accuracy::Axis::kGpu}}}, {.ascii = true});
  EXPECT_EQ(outside[0].text, "TPOT 4.40 % (median of 67 records: h100, dense; x2 as other gpu)");
  EXPECT_TRUE(expected_error_pieces({}, {.ascii = true}).empty());
}

TEST(ExpectedError, TheTreeHasEveryMetric) {
  const accuracy::Band band = some_band();
  const auto tree = expected_errors_tree({{.band = &band, .outside = {accuracy::Axis::kGpu}}});
  const auto* const tpot = tree.find("tpot");
  ASSERT_NE(tpot, nullptr);
  EXPECT_EQ(tpot->find("records")->as_integer(), 67);
  EXPECT_DOUBLE_EQ(tpot->find("p90_pct")->as_real(), 10.0);
  EXPECT_EQ(tpot->find("outside")->items().size(), 1U);
  EXPECT_TRUE(tpot->find("in_sample")->as_bool());
}

}  // namespace
}  // namespace ridgeline::report
