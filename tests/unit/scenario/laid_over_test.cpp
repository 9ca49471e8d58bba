#include "scenario/laid_over.hpp"

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "document/node_json.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

document::Node json(const char* text) {
  return *document::parse_json(text, "");
}

TEST(LaidOver, SectionsAreMergedAndValuesReplaced) {
  EXPECT_EQ(document::json_text(laid_over(json(R"({"gpu": "h100", "engine": {"max_num_seqs": 8}})"),
                                          json(R"({"gpu": "l4", "engine": {"block_size": 16}})"))),
            document::json_text(
                json(R"({"gpu": "l4", "engine": {"max_num_seqs": 8, "block_size": 16}})")));
}

TEST(LaidOver, FlagsAreValuesOfTheirKinds) {
  EXPECT_EQ(document::json_text(laid_over(
                document::Node(),
                {{.path = "gpu", .text = "h100"}, {.path = "workload.request_rate", .text = "2"}})),
            document::json_text(json(R"({"gpu": "h100", "workload": {"request_rate": 2}})")));
}

}  // namespace
}  // namespace ridgeline::scenario
