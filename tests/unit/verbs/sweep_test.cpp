#include <gtest/gtest.h>

#include "document/document.hpp"
#include "verbs/request.hpp"
#include "verbs/sweep_job.hpp"

namespace ridgeline::verbs {
namespace {

document::Node axis(const char* text) {
  return document::Node::list({document::Node::string(text, {})}, {});
}

TEST(TakeSweep, FlagsAndADocumentSayTheSameSweep) {
  Request document(*document::parse_json(
      R"({"model": "llama-3.1-8b", "gpu": "h100", "workload": {"request_rate": 1, "input_len": 64,)"
      R"( "output_len": 4, "num_prompts": 3}, "axes": {"engine.max_num_seqs": [1, 2]}})",
      ""));
  Request words({{.key = "axis", .value = axis("max-num-seqs=1,2"), .where = {}}},
                Request::Stated{.overrides = {{.path = "model", .text = "llama-3.1-8b"},
                                              {.path = "gpu", .text = "h100"},
                                              {.path = "workload.request_rate", .text = "1"},
                                              {.path = "workload.input_len", .text = "64"},
                                              {.path = "workload.output_len", .text = "4"},
                                              {.path = "workload.num_prompts", .text = "3"}}});
  const auto said = take_sweep(document);
  const auto typed = take_sweep(words);
  ASSERT_TRUE(said && typed);
  EXPECT_EQ(said->sweep.size(), 2);
  EXPECT_EQ(said->sweep.digest(said->measure.settings),
            typed->sweep.digest(typed->measure.settings));
}

}  // namespace
}  // namespace ridgeline::verbs
