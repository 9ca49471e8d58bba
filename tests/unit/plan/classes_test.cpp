#include "plan/classes.hpp"

#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::plan {
namespace {

std::vector<RequestClass> read(const char* yaml, const char* common, core::Errors& errors) {
  const auto node = document::parse_yaml(yaml, "plan.yaml");
  const auto below = document::parse_yaml(common, "plan.yaml");
  EXPECT_TRUE(node.has_value() && below.has_value());
  return read_classes(*node, &*below, errors);
}

TEST(Classes, AreLaidOverTheWorkload) {
  core::Errors errors;
  const auto classes = read("{chat: {request_rate: 4, input_len: 500}, long: {request_rate: 0.5}}",
                            "{input_len: 100, output_len: 10}",
                            errors);
  EXPECT_TRUE(errors.empty());
  ASSERT_EQ(classes.size(), 2U);
  EXPECT_EQ(classes[0].name, "chat");
  EXPECT_EQ(classes[0].workload.find("input_len")->as_integer(), 500);
  EXPECT_EQ(classes[0].workload.find("output_len")->as_integer(), 10);
  EXPECT_EQ(classes[1].workload.find("input_len")->as_integer(), 100);
}

TEST(Classes, SayAllProblemsAtOnce) {
  core::Errors errors;
  read("{a: 3, b: {input_len: 5}, c: {request_rate: -1}, d: {request_rate: 1, trace: x.csv}}",
       "{}",
       errors);
  ASSERT_EQ(errors.size(), 4U);
  EXPECT_EQ(errors[0].field, "mix.a");
  EXPECT_EQ(errors[1].field, "mix.b.request_rate");
  EXPECT_EQ(errors[2].field, "mix.c.request_rate");
  EXPECT_EQ(errors[3].field, "mix.d.trace");
}

}  // namespace
}  // namespace ridgeline::plan
