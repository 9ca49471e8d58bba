#include "evidence/validate/measured_power.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {
namespace {

Figures figures_of(const std::string& power, std::int64_t gpus) {
  Figures figures;
  std::vector<std::string> odd;
  read_power(document::parse_json(power, "power.json").value(), gpus, figures, odd);
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

Evidence drawing(const std::string& gpu, double watts) {
  Evidence evidence;
  evidence.id = "one";
  evidence.gpu = gpu;
  evidence.measured.at(Figure::kTpot, Level::kMean) = 20.0;
  evidence.measured.at(Figure::kPower, Level::kMean) = watts;
  evidence.measured.at(Figure::kEnergy, Level::kMean) = 1.5;
  return evidence;
}

TEST(MeasuredPower, LessThanAnIdleGpuDrawsIsLeftOut) {
  // 130 of 700 W, of 400 W: 74.3.
  Evidence idle = drawing("A100-SXM-80GB", 74.2);
  leave_out_idle_power(idle);
  EXPECT_FALSE(idle.measured.at(Figure::kPower, Level::kMean));
  EXPECT_FALSE(idle.measured.at(Figure::kEnergy, Level::kMean));
  EXPECT_EQ(idle.measured.at(Figure::kTpot, Level::kMean), 20.0);
  EXPECT_THAT(idle.doubts,
              testing::ElementsAre("one: watts_per_gpu is 74.2, expected 74.3 at least, which a "
                                   "GPU of 400 W draws awake and idle: left out"));
  EXPECT_EQ(idle.refusal, "");
}

TEST(MeasuredPower, WhatAGpuAtWorkMayDrawStays) {
  for (const auto& [gpu, watts] : {std::pair("A100-SXM-80GB", 74.4),
                                   std::pair("H100-SXM-80GB", 130.1),
                                   std::pair("Abacus-2", 1.0)}) {
    Evidence evidence = drawing(gpu, watts);
    leave_out_idle_power(evidence);
    EXPECT_EQ(evidence.measured.at(Figure::kPower, Level::kMean), watts);
    EXPECT_TRUE(evidence.doubts.empty());
  }
}

TEST(MeasuredPower, ARecordOfNothingElseIsRefused) {
  Evidence evidence = drawing("H100-SXM-80GB", 69.0);
  evidence.measured.at(Figure::kTpot, Level::kMean).reset();
  leave_out_idle_power(evidence);
  EXPECT_THAT(evidence.refusal, testing::StartsWith("watts_per_gpu is 69, expected 130 at least"));
  EXPECT_TRUE(evidence.doubts.empty());
}

}  // namespace
}  // namespace ridgeline::evidence::validate
