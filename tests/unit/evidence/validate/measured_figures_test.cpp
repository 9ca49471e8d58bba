#include "evidence/validate/measured_figures.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {
namespace {

TEST(MeasuredFigures, AreReadAndOddOnesNamed) {
  std::vector<std::string> odd;
  const Figures figures =
      read_figures(document::parse_json(R"({"ttft_ms": {"mean": 12, "p90": -1}, "itl_ms": 3,
                               "output_tokens_per_s": 500})",
                                        "x")
                       .value(),
                   1,
                   odd);
  EXPECT_DOUBLE_EQ(*figures.at(Figure::kTtft, Level::kMean), 12.0);
  EXPECT_FALSE(figures.at(Figure::kTtft, Level::kP90));
  EXPECT_DOUBLE_EQ(*figures.at(Figure::kOutputThroughput, Level::kMean), 500.0);
  EXPECT_EQ(odd.size(), 2U);
  EXPECT_FALSE(figures.empty());
  EXPECT_TRUE(Figures().empty());
}

}  // namespace
}  // namespace ridgeline::evidence::validate
