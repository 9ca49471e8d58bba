#include "evidence/validate/measured_power.hpp"

#include <cstdint>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {
namespace {

Figures figures_of(const std::string& power, std::int64_t gpus) {
  Figures figures;
  read_power(document::parse_json(power, "power.json").value(), gpus, figures);
  return figures;
}

std::optional<double> watts_of(const std::string& power, std::int64_t gpus) {
  return figures_of(power, gpus).at(Figure::kPower, Level::kMean);
}

TEST(MeasuredPower, WattsOfOneGpuComeFirst) {
  EXPECT_EQ(watts_of(R"({"mean_w_per_gpu": 300, "mean_w_total": 1000})", 4), 300.0);
  EXPECT_EQ(watts_of(R"({"mean_w_total": 1000})", 4), 250.0);
  EXPECT_EQ(watts_of(R"({"mean_share_of_tdp": 0.5, "tdp_w": 400})", 4), 200.0);
}

TEST(MeasuredPower, WhatIsNotThereIsAbsent) {
  EXPECT_TRUE(figures_of("{}", 1).empty());
  EXPECT_EQ(watts_of(R"({"mean_w_per_gpu": 0})", 1), std::nullopt);
  EXPECT_EQ(watts_of(R"({"mean_share_of_tdp": 0.5})", 1), std::nullopt);
  EXPECT_EQ(figures_of(R"({"joules_per_output_token": 1.5})", 8).at(Figure::kEnergy, Level::kMean),
            1.5);
}

}  // namespace
}  // namespace ridgeline::evidence::validate
