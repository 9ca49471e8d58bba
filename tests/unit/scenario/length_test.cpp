#include "scenario/length.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "scenario/options.hpp"
#include "workload/options.hpp"

namespace ridgeline::scenario {
namespace {

struct Reading {
  std::optional<workload::Length> length;
  core::Errors errors;
};

Reading read(std::string_view text) {
  Reading reading;
  const auto node = document::parse_yaml(text, "test.yaml");
  EXPECT_TRUE(node) << text;
  reading.length = read_length(*node, "workload.input_len", reading.errors);
  return reading;
}

TEST(ReadLength, ANumberIsFixed) {
  const auto [length, errors] = read("512");
  ASSERT_TRUE(length);
  EXPECT_EQ(std::get<workload::FixedLength>(*length).value, core::Tokens(512));
}

TEST(ReadLength, AMissingSpreadIsHintedInProportion) {
  const auto [length, errors] = read("{distribution: lognormal, mean: 4000}");
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_TRUE(errors[0].hint.ends_with("std: 1000")) << errors[0].hint;
}

TEST(ReadLength, EveryDistribution) {
  const auto uniform = read("{distribution: uniform, min: 3, max: 9}").length;
  ASSERT_TRUE(uniform);
  EXPECT_EQ(std::get<workload::UniformLength>(*uniform).highest, core::Tokens(9));
  const auto normal = read("{distribution: normal, mean: 10, std: 2, max: 12}").length;
  ASSERT_TRUE(normal);
  EXPECT_EQ(std::get<workload::NormalLength>(*normal).lowest, core::Tokens(1));
  EXPECT_EQ(std::get<workload::NormalLength>(*normal).highest, core::Tokens(12));
  const auto lognormal = read("{distribution: lognormal, mean: 10.5, std: 2}").length;
  ASSERT_TRUE(lognormal);
  EXPECT_EQ(std::get<workload::LognormalLength>(*lognormal).mean, 10.5);
  const auto empirical = read("{distribution: empirical, values: [5, 7]}").length;
  ASSERT_TRUE(empirical);
  ASSERT_EQ(std::get<workload::EmpiricalLength>(*empirical).bins.size(), 2U);
  EXPECT_EQ(std::get<workload::EmpiricalLength>(*empirical).bins[1].weight, 1.0);
}

TEST(ReadLength, ComesBack) {
  for (const std::string_view text :
       {"512",
        "{distribution: uniform, min: 3, max: 9}",
        "{distribution: normal, mean: 10.5, std: 2.0, min: 1, max: 12}",
        "{distribution: lognormal, mean: 10.5, std: 2.5, min: 1, max: 12}",
        "{distribution: empirical, values: [5, 7], weights: [0.5, 1.5]}"}) {
    const auto length = read(text).length;
    ASSERT_TRUE(length) << text;
    const std::string written = flow_text(to_node(*length));
    const auto again = read(written);
    ASSERT_TRUE(again.length) << written;
    EXPECT_EQ(flow_text(to_node(*again.length)), written);
  }
}

TEST(ReadLength, AreShort) {
  const auto text = [](std::string_view length) { return short_text(*read(length).length); };
  EXPECT_EQ(text("512"), "512");
  EXPECT_EQ(text("{distribution: uniform, min: 3, max: 9}"), "uniform(3, 9)");
  EXPECT_EQ(text("{distribution: normal, mean: 512, std: 256}"), "normal(512, 256)");
  EXPECT_EQ(text("{distribution: lognormal, mean: 5, std: 2.5}"), "lognormal(5, 2.5)");
  // (3 x 100 + 300) / 4
  EXPECT_EQ(text("{distribution: empirical, values: [100, 300], weights: [3, 1]}"),
            "2 values, mean 150");
}

TEST(ReadLength, RefusesWhatIsNone) {
  for (const std::string_view text :
       {"0",
        "-1",
        "1.5",
        "many",
        "[1, 2]",
        "true",
        "{}",
        "{distribution: norml, mean: 1, std: 1}",
        "{distribution: uniform, min: 9, max: 3}",
        "{distribution: uniform, min: 9}",
        "{distribution: uniform, min: 1, max: 3, mean: 2}",
        "{distribution: normal, mean: -1, std: 1}",
        "{distribution: normal, mean: 5, std: 1, min: 8, max: 4}",
        "{distribution: empirical, values: []}",
        "{distribution: empirical}",
        "{distribution: empirical, values: [1, 2], weights: [1]}",
        "{distribution: empirical, values: [1, 2], weights: [1, -1]}"}) {
    const auto [length, errors] = read(text);
    EXPECT_FALSE(length) << text;
    ASSERT_FALSE(errors.empty()) << text;
    EXPECT_THAT(errors.front().field, testing::StartsWith("workload.input_len")) << text;
    EXPECT_EQ(errors.front().where.file, "test.yaml") << text;
  }
}

}  // namespace
}  // namespace ridgeline::scenario
