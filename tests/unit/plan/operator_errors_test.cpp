#include "plan/operator_errors.hpp"

#include <gtest/gtest.h>

#include "model/hardware/gpu_spec.hpp"
#include "plan/linear_doubt.hpp"
#include "plan/operator_class.hpp"

namespace ridgeline::plan {
namespace {

TEST(OperatorErrors, AGpuWithTablesHasItsOwn) {
  const auto h100 = hardware::find_gpu("h100").value();
  const OperatorError gemm = operator_error(OperatorClass::kGemm, "16bit", h100);
  EXPECT_EQ(gemm.sd, sd_of_median(3.8));
  EXPECT_TRUE(gemm.measured);
  EXPECT_EQ(operator_error(OperatorClass::kGemm, "8bit", h100).sd, sd_of_median(5.4));
}

TEST(OperatorErrors, AnotherHasThatOfItsArchitectureLeftOut) {
  const auto h20 = hardware::find_gpu("h20").value();
  const OperatorError gemm = operator_error(OperatorClass::kGemm, "16bit", h20);
  EXPECT_EQ(gemm.sd, sd_of_median(8.8));  // The worse of H100 and H200.
  EXPECT_FALSE(gemm.measured);
  const auto b200 = hardware::find_gpu("b200").value();
  EXPECT_EQ(operator_error(OperatorClass::kGemm, "16bit", b200).sd, sd_of_median(9.1));
}

TEST(OperatorErrors, WhatNoTableShowsIsAssumed) {
  const auto h100 = hardware::find_gpu("h100").value();
  const OperatorError gaps = operator_error(OperatorClass::kGaps, "16bit", h100);
  EXPECT_EQ(gaps.sd, sd_of_median(9.8));
  EXPECT_FALSE(gaps.measured);
  // GEMM of 4 bits has no row: those of 16 bits stand in.
  const OperatorError narrow = operator_error(OperatorClass::kGemm, "4bit", h100);
  EXPECT_EQ(narrow.sd, sd_of_median(3.8));
  EXPECT_FALSE(narrow.measured);
}

TEST(OperatorErrors, AWrongFileIsRefused) {
  EXPECT_FALSE(check_operator_errors("operators: []", "o.yaml"));
  EXPECT_FALSE(
      check_operator_errors("{operators: [], assumed: [{operator: magic, median: 1}]}", "o.yaml"));
  EXPECT_TRUE(
      check_operator_errors("{operators: [], assumed: [{operator: GEMM, median: 1}]}", "o.yaml"));
}

}  // namespace
}  // namespace ridgeline::plan
