#include "report/chart/roofline_svg.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/report/xml_check.hpp"

namespace ridgeline::report {
namespace {

using testing::attribute;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::xml_problem;

RooflinePart part(const std::string& name,
                  const std::string& phase,
                  double flops,
                  double bytes,
                  double microseconds) {
  return {
      .name = name, .phase = phase, .flops = flops, .bytes = bytes, .seconds = microseconds * 1e-6};
}

/// A device whose ridge point is 1e15 / 1e13 = 100 FLOP per byte.
Roofline device() {
  return {.title = "a network on a GPU",
          .subtitle = "64 decodes",
          .peaks = {{.format = "bf16", .peak = 1e15}},
          .bandwidth = 1e13};
}

std::string drawn(const std::vector<RooflinePart>& parts) {
  return roofline_svg(device(), parts);
}

struct Place {
  double x;
  double y;
};

/// The centre of the mark of a decode operator, the only circle but the legend's, which comes last.
Place circle(const std::string& svg) {
  const std::size_t at = svg.find("<circle");
  EXPECT_NE(at, std::string::npos);
  return {std::stod(attribute(svg, at, "cx")), std::stod(attribute(svg, at, "cy"))};
}

/// The corner of the roof: the path "M x y L x y H x".
Place ridge(const std::string& svg) {
  const std::string path = attribute(svg, svg.find("<path class=\"roof\""), "d");
  const std::size_t at = path.find('L') + 1;
  return {std::stod(path.substr(at)), std::stod(path.substr(path.find(' ', at)))};
}

TEST(RooflineSvg, IsAWholePictureOfItsOwn) {
  const std::string svg = drawn({part("qkv_proj", "step", 1e12, 1e10, 2000.0),
                                 part("attention", "decode", 1e11, 1e11, 10000.0),
                                 part("attention", "prefill", 1e13, 1e10, 12000.0)});
  EXPECT_EQ(xml_problem(svg), "");
  EXPECT_THAT(svg, HasSubstr("ridge 100 FLOP/byte"));
  EXPECT_THAT(svg, HasSubstr("bf16 peak 1 PFLOP/s"));
  EXPECT_THAT(svg, HasSubstr("memory 10 TB/s"));
  // 2 000 of 24 000 us.
  EXPECT_THAT(svg, HasSubstr("qkv_proj 8.3 %"));
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
  EXPECT_THAT(svg, Not(HasSubstr("not drawn")));
}

TEST(RooflineSvg, AnOperatorAtFullBandwidthLiesOnTheSlope) {
  // 10 FLOP per byte at 1e14 FLOP/s: a decade below the ridge on both axes. 1e12 FLOP in 10 ms.
  const std::string svg = drawn({part("attention", "decode", 1e12, 1e11, 10000.0),
                                 part("low", "prefill", 1e9, 1e11, 10000.0)});
  const std::string path = attribute(svg, svg.find("<path class=\"roof\""), "d");
  const double foot_x = std::stod(path.substr(1));
  const double foot_y = std::stod(path.substr(path.find(' ')));
  const Place corner = ridge(svg);
  const Place mark = circle(svg);
  const double slope = (foot_y - corner.y) / (corner.x - foot_x);
  EXPECT_NEAR(mark.y, corner.y + slope * (corner.x - mark.x), 0.3);
  EXPECT_LT(mark.x, corner.x);
}

TEST(RooflineSvg, AnOperatorAtPeakLiesOnTheFlat) {
  // 1 000 FLOP per byte at 1e15 FLOP/s.
  const std::string svg = drawn({part("attention", "decode", 1e13, 1e10, 10000.0)});
  EXPECT_NEAR(circle(svg).y, ridge(svg).y, 0.15);
  EXPECT_GT(circle(svg).x, ridge(svg).x);
}

/// FP8 products at 1.5e15 FLOP/s lie above the roof of BF16 (1e15) and below their own (2e15),
/// whose ridge is at 2e15 / 1e13 = 200 FLOP per byte.
TEST(RooflineSvg, EveryFormatHasItsRoof) {
  Roofline both = device();
  both.peaks.push_back({.format = "fp8", .peak = 2e15});
  const std::string svg = roofline_svg(both, {part("gemm", "decode", 1.5e13, 1e10, 10000.0)});
  EXPECT_EQ(xml_problem(svg), "");
  EXPECT_THAT(svg, HasSubstr("bf16 ridge 100 FLOP/byte"));
  EXPECT_THAT(svg, HasSubstr("fp8 ridge 200 FLOP/byte"));
  EXPECT_THAT(svg, HasSubstr("fp8 peak 2 PFLOP/s"));
  const std::size_t second = svg.find("<path class=\"roof\"", svg.find("<path class=\"roof\"") + 1);
  ASSERT_NE(second, std::string::npos);
  const std::string path = attribute(svg, second, "d");
  const std::size_t corner = path.find('L') + 1;
  const double roof_y = std::stod(path.substr(path.find(' ', corner)));
  EXPECT_LT(circle(svg).y, ridge(svg).y);
  EXPECT_GT(circle(svg).y, roof_y);
}

TEST(RooflineSvg, NamesWhatHasNoPlace) {
  const std::string svg = drawn({part("attention", "decode", 1e12, 1e11, 7500.0),
                                 part("allreduce", "step", 0.0, 1e9, 1500.0),
                                 part("gap", "step", 0.0, 0.0, 1000.0)});
  EXPECT_THAT(svg, HasSubstr("not drawn, no arithmetic (25.0 % of the time): allreduce, gap"));
}

std::vector<RooflinePart> equal_parts(int count) {
  std::vector<RooflinePart> parts;
  for (int i = 0; i < count; ++i) {
    parts.push_back(part("gemm_" + std::to_string(i), "step", 1e12, 1e10, 2000.0));
  }
  return parts;
}

TEST(RooflineSvg, CloseOperatorsShareALabel) {
  const std::string svg = drawn(equal_parts(8));
  EXPECT_EQ(xml_problem(svg), "");
  for (int i = 0; i < 8; ++i) {
    EXPECT_THAT(svg, HasSubstr(">gemm_" + std::to_string(i) + " 12.5 %</text>"));
  }
}

// Eleven of 40 parts of 2.5 % each are named and 29 are summed up.
TEST(RooflineSvg, ACrowdIsSummedUp) {
  const std::string svg = drawn(equal_parts(40));
  EXPECT_EQ(xml_problem(svg), "");
  EXPECT_THAT(svg, HasSubstr(">gemm_10 2.5 %</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">gemm_11 2.5 %</text>")));
  EXPECT_THAT(svg, HasSubstr(">29 more 72.5 %</text>"));
}

TEST(RooflineSvg, DrawsTheRoofOfAnEmptyStep) {
  const std::string svg = drawn({});
  EXPECT_EQ(xml_problem(svg), "");
  EXPECT_THAT(svg, HasSubstr("ridge 100 FLOP/byte"));
}

TEST(RooflineSvg, SurvivesExtremesAndMarkup) {
  const std::string svg = drawn({part("<b>&", "decode", 1.0, 1e15, 1e9),
                                 part("fast", "prefill", 1e18, 1.0, 1e-3),
                                 part("negative", "step", 1e3, 1e3, -1.0)});
  EXPECT_EQ(xml_problem(svg), "");
  EXPECT_THAT(svg, HasSubstr("&lt;b&gt;&amp;"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(RooflineSvgDeathTest, RefusesADeviceWithoutPeak) {
  Roofline nothing = device();
  nothing.peaks.front().peak = 0.0;
  EXPECT_DEATH(static_cast<void>(roofline_svg(nothing, {})), "peak and a bandwidth");
}

}  // namespace
}  // namespace ridgeline::report
