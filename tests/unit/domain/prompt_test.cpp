#include "domain/prompt.hpp"

#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/units.hpp"
#include "domain/chain.hpp"
#include "domain/request.hpp"

namespace ridgeline::domain {
namespace {

constexpr Segment kFirst{.content = 5, .length = core::Tokens(12)};
constexpr Segment kSecond{.content = 6, .length = core::Tokens(4)};
constexpr Segment kThird{.content = 7, .length = core::Tokens(9)};

/// The first two of these segments from a history that has gone on, the third of its own.
Prompt shared_prompt() {
  auto history = std::make_shared<History>();
  history->append(kFirst);
  history->append(kSecond);
  history->append({.content = 99, .length = core::Tokens(100)});
  Prompt prompt(history, 2);
  prompt.push_back(kThird);
  return prompt;
}

TEST(Prompt, HoldsTheSameSharedOrNot) {
  const Prompt prompt = shared_prompt();
  EXPECT_THAT(prompt, testing::ElementsAre(kFirst, kSecond, kThird));
  EXPECT_EQ(prompt, Prompt({kFirst, kSecond, kThird}));
  EXPECT_NE(prompt, Prompt({kFirst, kThird, kSecond}));
  EXPECT_EQ(prompt.back(), kThird);
}

TEST(Prompt, GivesUpItsLastSegments) {
  Prompt prompt = shared_prompt();
  prompt.pop_back();
  prompt.pop_back();
  EXPECT_EQ(prompt, Prompt({kFirst}));
  prompt.clear();
  EXPECT_TRUE(prompt.empty());
}

TEST(Prompt, KeysAreTheSameSharedOrNot) {
  Request shared;
  shared.id = core::RequestId(3);
  shared.prompt_tokens = core::Tokens(30);  // 25 of them stated.
  Request listed = shared;
  shared.prompt = shared_prompt();
  listed.prompt = {kFirst, kSecond, kThird};
  const Chain a(shared);
  const Chain b(listed);
  EXPECT_EQ(a.shared_tokens(), 25);
  for (std::int64_t end = 1; end < 40; ++end) {
    EXPECT_EQ(a.key(end), b.key(end)) << end;
  }
}

TEST(Prompt, QuotesOnlyWhatItHolds) {
  auto history = std::make_shared<History>();
  history->append(kFirst);
  history->append({.content = output_content(core::RequestId(1)), .length = core::Tokens(2)});
  Request request;
  request.prompt_tokens = core::Tokens(14);
  request.prompt = Prompt(history, 1);
  EXPECT_FALSE(Chain(request).quotes());
  request.prompt = Prompt(history, 2);
  EXPECT_TRUE(Chain(request).quotes());
}

}  // namespace
}  // namespace ridgeline::domain
