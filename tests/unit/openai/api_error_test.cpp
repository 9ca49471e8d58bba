#include "openai/api_error.hpp"

#include <string>

#include <gtest/gtest.h>

namespace ridgeline::openai {
namespace {

TEST(ErrorBody, IsNestedSinceAVersion) {
  const ApiError error = not_found("no \"x\"", "model");
  EXPECT_EQ(
      error_body(error, {.minor = 15, .patch = 0}),
      R"({"error":{"message":"no \"x\"","type":"NotFoundError","param":"model","code":404}})");
  EXPECT_EQ(error_body(error, {.minor = 8, .patch = 0}),
            R"({"object":"error","message":"no \"x\"","type":"NotFoundError","param":"model",)"
            R"("code":404})");
}

TEST(ErrorBody, CutsLongTextsBetweenCharacters) {
  std::string text(kLongestMessage - 1, 'a');
  text += "\xC3\xA9 and more";
  const std::string body = error_body(refused(text), ApiVersion::newest());
  EXPECT_EQ(body.find("\xC3"), std::string::npos);
  EXPECT_NE(body.find(R"("param":null)"), std::string::npos);
}

TEST(ErrorEvent, HasTheKeyErrorInEveryVersion) {
  EXPECT_TRUE(error_event(refused("x"), {.minor = 8, .patch = 0}).starts_with(R"({"error":{)"));
  EXPECT_TRUE(error_event(refused("x"), ApiVersion::newest()).starts_with(R"({"error":{)"));
}

}  // namespace
}  // namespace ridgeline::openai
