#include "lab/records/record_refusals.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/records/evidence_words.hpp"

namespace ridgeline::records {
namespace {

document::Node node_of(const std::string& text) {
  return document::parse_json(text, "record.json").value();
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
}  // namespace ridgeline::records
