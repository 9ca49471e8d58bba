#include "evidence/validate/record_refusals.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::evidence::validate {
namespace {

document::Node node_of(const std::string& text) {
  return document::parse_json(text, "record.json").value();
}
std::string refusal(const std::string& text) {
  return refusal_of(node_of(text));
}

TEST(RecordRefusals, OneInstanceIsNotRefused) {
  EXPECT_EQ(refusal("{}"), "");
  EXPECT_EQ(refusal(R"({"tp": null, "num_gpus": 1})"), "");
  EXPECT_EQ(refusal(R"({"tp": 4, "dp": 2, "num_gpus": 8, "cluster": {"instances": 1}})"), "");
  // Public dumps count ranks of expert parallelism as GPUs.
  EXPECT_EQ(refusal(R"({"tp": 4, "ep": 4, "num_gpus": 16})"), "");
}

TEST(RecordRefusals, FleetsAreRefusedByName) {
  EXPECT_THAT(refusal(R"({"cluster": {"instances": 4, "policy": "random"}})"),
              testing::HasSubstr("4 instances behind a router (random)"));
  EXPECT_THAT(refusal(R"({"cluster": {"prefill": {"instances": 1}, "decode": {"instances": 1}}})"),
              testing::HasSubstr("prefill and decode on instances apart"));
}

TEST(RecordRefusals, AlikeInstancesBehindALoadBalancerAreNot) {
  EXPECT_EQ(refusal(R"({"tp": null, "num_gpus": 8})"), "");
  EXPECT_EQ(refusal(R"({"tp": 2, "num_gpus": 8})"), "");
}

TEST(RecordRefusals, NamesWhatIsThereInstead) {
  EXPECT_EQ(held_instead(node_of("{}")), "");
  EXPECT_EQ(held_instead(node_of(R"({"a": 1, "b": 2})")), ", but a, b");
  EXPECT_EQ(held_instead(node_of(R"({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5})")),
            ", but a, b, c, d, ...");
  EXPECT_EQ(no_length(node_of("{}"), "input"), "workload.input: no length is given");
  EXPECT_EQ(no_length(node_of(R"({"output": {"kind": "own answers"}})"), "output"),
            "workload.output: no length is given (own answers)");
}

}  // namespace
}  // namespace ridgeline::evidence::validate
