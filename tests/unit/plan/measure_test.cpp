#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plan/doubt.hpp"

namespace ridgeline::plan {
namespace {

Factor measurable(const std::string& name, double sd, double noise, double minutes = 3.0) {
  return {.name = name,
          .gpu = "h200",
          .sd = sd,
          .noise = noise,
          .command = "measure " + name,
          .minutes = minutes};
}

/// One replica of the first, at 3, serves the rate with 83 %; the second at 4 always does.
DoubtInput close_call() {
  return {.rate = 10.0,
          .factors = {measurable("GEMM", 0.1, 0.01), measurable("sampling", 0.001, 0.0005)},
          .rows = {{.capacity_rps = 11.0,
                    .max_replicas = 4,
                    .cost_per_replica = 3.0,
                    .elasticity = {1.0, 1.0}},
                   {.capacity_rps = 30.0,
                    .max_replicas = 4,
                    .cost_per_replica = 4.0,
                    .elasticity = {0.5, 0.0}}},
          .confidence = 0.9};
}

TEST(Measure, WhatDecidesBetweenTwoRowsComesFirst) {
  const auto values = value_of_measurements(close_call(), 1);
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[0].what, "GEMM");
  EXPECT_EQ(values[0].command, "measure GEMM");
  // The cheaper row turns out to be sure enough in most cases, and saves 1 then.
  EXPECT_GT(values[0].value, 0.6);
  EXPECT_LT(values[0].value, 0.84);
  EXPECT_GT(values[0].changes_answer, 0.6);
  EXPECT_NEAR(values[1].value, 0.0, 1e-12);
  EXPECT_LT(values[1].changes_answer, kWorthMeasuring);
}

TEST(Measure, ResolvesTheShareOfTheVarianceThatItShows) {
  DoubtInput input = close_call();
  input.factors[1].sd = 0.05;
  input.rows[1].elasticity = {1.0, 2.0};
  const auto values = value_of_measurements(input, 1);
  for (const MeasurementValue& each : values) {
    // 0.01 of 0.02 of variance each, less what the measurement's own noise leaves.
    const double noise = each.what == "GEMM" ? 0.01 / 0.1 : 0.0005 / 0.05;
    EXPECT_NEAR(each.resolves, 0.5 / (1.0 + noise * noise), 1e-9) << each.what;
  }
}

TEST(Measure, ACertainAnswerIsNotWorthMeasuring) {
  DoubtInput input = close_call();
  input.rows[0].capacity_rps = 40.0;
  for (const MeasurementValue& each : value_of_measurements(input, 0)) {
    EXPECT_LT(each.changes_answer, kWorthMeasuring);
    EXPECT_EQ(each.value, 0.0);
  }
}

TEST(Measure, AMeasurementOfSeveralFactorsIsWorthAsMuchAsItShows) {
  DoubtInput input = close_call();
  input.measurements = {{.what = "capacity of one replica",
                         .command = "run it",
                         .minutes = 10.0,
                         .noise = 0.01,
                         .loading = {1.0, 1.0}}};
  const auto values = value_of_measurements(input, 1);
  ASSERT_EQ(values.size(), 3U);
  // As good as the GEMM alone, and longer: the shortest that suffices comes first.
  EXPECT_EQ(values[0].what, "GEMM");
  EXPECT_EQ(values[1].what, "capacity of one replica");
  input.measurements[0].minutes = 1.0;
  EXPECT_EQ(value_of_measurements(input, 1)[0].what, "capacity of one replica");
}

TEST(Measure, AFactorWithoutACommandIsNotOffered) {
  DoubtInput input = close_call();
  input.factors[0].command.clear();
  const auto values = value_of_measurements(input, 1);
  ASSERT_EQ(values.size(), 1U);
  EXPECT_EQ(values[0].what, "sampling");
}

}  // namespace
}  // namespace ridgeline::plan
