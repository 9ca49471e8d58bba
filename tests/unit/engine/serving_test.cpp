#include "engine/serving.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "support/paths.hpp"

namespace ridgeline::engine {
namespace {

std::string serving_text() {
  const auto path = test::source_dir() / "data" / "serving" / "serving.yaml";
  return document::read_file(path.string()).value();
}

std::string with_serving(const std::string& from, const std::string& to) {
  std::string text = serving_text();
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string serving_problem(const std::string& text) {
  const auto read = read_serving_constants(text, "own.yaml");
  return read ? std::string("none") : core::to_string(read.error().front());
}

TEST(Serving, EveryConstantHasAMeaningAnIntervalAndASource) {
  const auto& constants = serving_constants();
  for (const auto& constant : constants.table) {
    EXPECT_FALSE(constant.meaning.empty()) << constant.name;
    EXPECT_FALSE(constant.source.empty()) << constant.name;
    EXPECT_LE(constant.lowest, constant.value) << constant.name;
    EXPECT_GE(constant.highest, constant.value) << constant.name;
  }
}

TEST(Serving, ThereAreFourteenOfThemAtMost) {
  // Four more stand with the kernels: the gaps per layer, per layer of a graph in pieces, per layer
  // with experts without a graph, per step.
  EXPECT_LE(serving_constants().table.size() + 4, 14U);  // the KV budget has its own terms
}

TEST(Serving, RefusesWhatDoesNotFit) {
  EXPECT_EQ(serving_problem(serving_text()), "none");
  EXPECT_THAT(serving_problem(with_serving("  close:", "  closes:")), testing::HasSubstr("close"));
  EXPECT_THAT(serving_problem(with_serving("value: 750", "value: 99999")),
              testing::HasSubstr("interval"));
  EXPECT_THAT(serving_problem(with_serving("unit: us", "unit: ms")), testing::HasSubstr("unit"));
  EXPECT_THAT(serving_problem(serving_text() + "more: 1\n"), testing::HasSubstr("more"));
  EXPECT_THAT(serving_problem("a: 1"), testing::HasSubstr("constants"));
}

}  // namespace
}  // namespace ridgeline::engine
