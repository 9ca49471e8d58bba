#include "serve/response_store.hpp"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "openai/api_version.hpp"
#include "openai/request.hpp"

namespace ridgeline::serve {
namespace {

constexpr openai::ApiVersion kVersion = openai::ApiVersion::newest();

KeptResponse response_of(std::string body) {
  return {.body = std::move(body),
          .messages = {{.role = "user", .text = "hi"}, {.role = "assistant", .text = "ho"}}};
}

openai::GenerationRequest request_after(std::optional<std::string> id) {
  openai::GenerationRequest wanted;
  wanted.messages = {{.role = "system", .text = "be"}, {.role = "user", .text = "and"}};
  wanted.response = {.previous = std::move(id), .has_instructions = true};
  return wanted;
}

TEST(ResponseStore, KeepsTheLastOfAnId) {
  ResponseStore store(true);
  store.keep("resp_a", response_of("1"));
  store.keep("resp_a", response_of("22"));
  EXPECT_EQ(store.find("resp_a", kVersion).value()->body, "22");
  ResponseStore other(true);
  other.keep("resp_a", response_of("22"));
  EXPECT_EQ(store.bytes(), other.bytes());
}

TEST(ResponseStore, ForgetsTheOldest) {
  ResponseStore one(true);
  one.keep("resp_0", response_of("x"));
  ResponseStore store(true, 3 * one.bytes());
  for (int i = 0; i < 10; ++i) {
    store.keep("resp_" + std::to_string(i), response_of("x"));
    EXPECT_LE(store.bytes(), 3 * one.bytes());
  }
  EXPECT_FALSE(store.find("resp_6", kVersion));
  EXPECT_TRUE(store.find("resp_7", kVersion));
  EXPECT_TRUE(store.find("resp_9", kVersion));
}

TEST(ResponseStore, OneThatIsTooLongIsForgottenAtOnce) {
  ResponseStore store(true, 100);
  store.keep("resp_a", response_of(std::string(1000, 'x')));
  EXPECT_FALSE(store.find("resp_a", kVersion));
  EXPECT_EQ(store.bytes(), 0);
}

TEST(ResponseStore, RefusesInTheWordsOfItsVersion) {
  const ResponseStore store(true);
  const auto none = store.find("resp_x", kVersion);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().status, 404);
  EXPECT_EQ(none.error().type, "invalid_request_error");
  EXPECT_EQ(none.error().message, "Response with id 'resp_x' not found.");
  EXPECT_EQ(none.error().param, "response_id");
  const auto wrong = store.find("x", {.minor = 10, .patch = 0});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().status, 400);
  EXPECT_EQ(wrong.error().message,
            "Invalid 'response_id': 'x'. Expected an ID that begins with 'resp'.");
  EXPECT_EQ(wrong.error().param, std::nullopt);
}

TEST(ResponseStore, NewInstructionsComeBeforeAllThatWasSaid) {
  ResponseStore store(true);
  store.keep("resp_a", response_of("1"));
  openai::GenerationRequest wanted = request_after("resp_a");
  for (int i = 0; i < 2; ++i) {  // A request that was held is joined twice.
    ASSERT_TRUE(store.join(wanted, kVersion));
    ASSERT_EQ(wanted.messages.size(), 4);
  }
  EXPECT_EQ(wanted.messages[0].text, "be");
  EXPECT_EQ(wanted.messages[1].text, "hi");
  EXPECT_EQ(wanted.messages[2].text, "ho");
  EXPECT_EQ(wanted.messages[3].text, "and");
}

TEST(ResponseStore, WithoutItNothingIsKept) {
  ResponseStore store(false);
  store.keep("resp_a", response_of("1"));
  EXPECT_FALSE(store.find("resp_a", kVersion));
  openai::GenerationRequest wanted = request_after(std::nullopt);
  EXPECT_TRUE(store.join(wanted, kVersion));
  wanted.response.is_background = true;
  const auto joined = store.join(wanted, kVersion);
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().status, 400);
  EXPECT_TRUE(joined.error().message.starts_with("This vLLM engine does not support `store=True`"));
}

}  // namespace
}  // namespace ridgeline::serve
