// How SGLang drafts, by its own flags.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "document/parameter.hpp"
#include "engine/engine_plan.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/settings.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::engine::sglang {
namespace {

using document::NamedValue;
using document::Node;

NamedValue word(const char* name, const char* value) {
  return {.name = name, .value = Node::string(value, {})};
}
NamedValue number(const char* name, std::int64_t value) {
  return {.name = name, .value = Node::integer(value, {})};
}

core::Result<std::optional<DraftSettings>> drafts_of(std::vector<NamedValue> stated,
                                                     const char* family = "qwen3") {
  model::ModelSpec network;
  network.family = family;
  stated.push_back({.name = "simulate_acc_len", .value = Node::real(2.25, {})});
  return drafts({kSettings.settings, stated}, network);
}

TEST(SglangSpeculation, ItsAlgorithmsAreMethodsOfOurs) {
  EXPECT_FALSE(*drafts_of({}));
  EXPECT_EQ((*drafts_of({word("speculative_algorithm", "NEXTN")}))->method, "mtp");
  const auto eagle = drafts_of(
      {word("speculative_algorithm", "EAGLE3"), word("speculative_draft_model_path", "head")});
  EXPECT_EQ((*eagle)->method, "eagle3");
  EXPECT_EQ((*eagle)->model, "head");
  EXPECT_FALSE(drafts_of({word("speculative_algorithm", "STANDALONE")}));  // Which network?
}

TEST(SglangSpeculation, TheThreeNumbersAreStatedTogetherOrNotAtAll) {
  const NamedValue mtp = word("speculative_algorithm", "EAGLE");
  const auto standard = drafts_of({mtp});
  EXPECT_EQ((*standard)->steps, 3);
  EXPECT_EQ((*standard)->verified, 4);
  const auto llama = drafts_of({mtp}, "llama");
  EXPECT_EQ((*llama)->steps, 5);
  EXPECT_EQ((*llama)->branches, 4);
  EXPECT_EQ((*llama)->verified, 8);
  // Without branches all drafts are verified, whatever is stated.
  const auto chain = drafts_of(
      {mtp, number("speculative_num_steps", 2), number("speculative_num_draft_tokens", 9)});
  EXPECT_EQ((*chain)->verified, 3);
  EXPECT_FALSE(drafts_of({mtp, number("speculative_eagle_topk", 4)}));
  EXPECT_FALSE(
      drafts_of({mtp, number("speculative_num_steps", 2), number("speculative_eagle_topk", 4)}));
}

TEST(SglangSpeculation, AMeanLengthIsDrawnAsOneOfTwoLengths) {
  const auto drafts = drafts_of({word("speculative_algorithm", "EAGLE")});
  EXPECT_THAT((*drafts)->acceptance, testing::ElementsAre(1.0, 0.25, 0.0));
}

TEST(SglangSpeculation, ReservesTwiceWhatAStepMayNeed) {
  EXPECT_EQ((Speculation{.steps = 3, .topk = 1, .draft_tokens = 4}.reserve(1)), 8);
  EXPECT_EQ((Speculation{.steps = 4, .topk = 4, .draft_tokens = 12}.reserve(1)), 32);
  // A branch begins a page of its own: 15 + 4 tokens are two pages.
  EXPECT_EQ((Speculation{.steps = 4, .topk = 4, .draft_tokens = 12}.reserve(16)), 256);
}

}  // namespace
}  // namespace ridgeline::engine::sglang
