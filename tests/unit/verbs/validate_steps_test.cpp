#include "verbs/validate_steps.hpp"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_path.hpp"
#include "verbs/request.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {
namespace {

Request request_of(const std::string& files) {
  const auto document = document::parse_json(
      R"({"model": "llama-3.1-8b", "gpu": "h100", "files": [)" + files + "]}", "request");
  return Request(*document);
}

std::string written(const std::string& text) {
  const std::string path = ::testing::TempDir() + "validate_steps.jsonl";
  std::ofstream(path) << text;
  return "\"" + path + "\"";
}

TEST(ValidateSteps, ScoresEachStepOfALog) {
  Request request = request_of(
      written(R"({"num_decodes":1,"decode_context":300,"prefills":[],"busy_us":6500,"steps":1})"));
  const auto reply = scored_steps(request);
  ASSERT_TRUE(reply && *reply) << core::to_string(reply->error().front());
  const document::Node tree = (*reply)->tree();
  EXPECT_EQ(document::node_at(tree, "scores").items().front().find("n")->as_integer(), 1);
  EXPECT_EQ(document::node_at(tree, "logs").items().front().find("form")->as_string(), "ridgeline");
}

TEST(ValidateSteps, LeavesOtherFilesAlone) {
  Request none = request_of("");
  EXPECT_FALSE(scored_steps(none));
  Request other = request_of(written("{\"id\": \"a record\"}"));
  EXPECT_FALSE(scored_steps(other));
}

}  // namespace
}  // namespace ridgeline::verbs
