#include "report/chart/sweep_pictures.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::report::figures {
namespace {

using ::testing::HasSubstr;

document::Node row(const std::string& gpu, double rate, double ttft, bool met) {
  return document::parse_json(
             fmt::format(R"({{"point":{{"gpu":"{}","workload.request_rate":{}}},"result":)"
                         R"({{"ttft_ms":{{"p50":{},"p99":{}}},"tpot_ms":{{"p99":9}},)"
                         R"("goodput":{},"meets_slo":{}}}}})",
                         gpu,
                         rate,
                         ttft / 2.0,
                         ttft,
                         met ? rate : rate / 2.0,
                         met),
             "test")
      .value();
}

std::vector<document::Node> two_gpus() {
  return {row("h100", 8, 80, false),
          row("h100", 2, 20, true),
          row("h100", 4, 30, true),
          row("h200", 2, 15, true),
          row("h200", 4, 20, true),
          row("h200", 8, 25, true)};
}

TEST(RateCurves, SayWhereTargetsBeginToBeMissed) {
  const Figure figure = rate_curves(two_gpus());
  EXPECT_THAT(figure.description,
              HasSubstr("gpu h100: targets are met up to 4.00 req/s and missed at 8.00."));
  EXPECT_THAT(figure.description, HasSubstr("gpu h200: 3 rates."));
  EXPECT_EQ(figure.rows.size(), 6U);
  EXPECT_EQ(
      figure.rows[2],
      (std::vector<std::string>{"gpu h100", "8.00", "40.0", "80.0", "9.00", "4.00"}));  // By rate.
  EXPECT_THAT(figure.marks, HasSubstr("class=\"la\""));
  EXPECT_THAT(figure.marks, HasSubstr("class=\"lb\""));
  EXPECT_THAT(figure.marks, HasSubstr("class=\"ba\""));
}

TEST(RateCurves, OneRateIsNoCurve) {
  EXPECT_EQ(rate_curves({row("h100", 8, 80, false), row("h200", 8, 80, false)}).marks, "");
}

TEST(SweepMap, HatchesWhatMissesATarget) {
  const Figure figure = sweep_map(two_gpus());
  EXPECT_EQ(figure.rows.size(), 6U);
  EXPECT_THAT(figure.description, HasSubstr("1 of 6 points miss a target; the most that one"));
  EXPECT_THAT(figure.marks, HasSubstr("class=\"heat\""));
  EXPECT_THAT(figure.marks, HasSubstr("class=\"whisker\""));
  const auto met = sweep_map({row("h100", 2, 20, true),
                              row("h100", 4, 30, true),
                              row("h200", 2, 20, true),
                              row("h200", 4, 30, true)});
  EXPECT_EQ(met.marks.find("whisker"), std::string::npos);
}

TEST(SweepMap, IsOfTwoAxes) {
  EXPECT_EQ(sweep_map({row("h100", 2, 20, true), row("h100", 4, 30, true)}).marks, "");
}

}  // namespace
}  // namespace ridgeline::report::figures
