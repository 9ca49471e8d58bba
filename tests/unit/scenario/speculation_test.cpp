#include "scenario/speculation.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "domain/draft_level.hpp"
#include "model/model_spec.hpp"
#include "scenario/options.hpp"

namespace ridgeline::scenario {
namespace {

using testing::HasSubstr;

std::optional<SpeculativeConfig> read(const std::string& text, core::Errors& errors) {
  return read_speculative(document::parse_yaml(text, "test").value(), "c", errors);
}

std::string refusal(const std::string& text) {
  core::Errors errors;
  EXPECT_FALSE(read(text, errors).has_value()) << text;
  return errors.empty() ? "" : core::to_string(errors.front());
}

SpeculativeConfig drafting(const char* method, const char* draft = nullptr) {
  SpeculativeConfig made{
      .method = method, .model = std::nullopt, .num_speculative_tokens = 3, .acceptance = {0.8}};
  if (draft != nullptr) {
    made.model = draft;
  }
  return made;
}

TEST(Speculation, ReadsVllmsWordsAndWritesThemBack) {
  core::Errors errors;
  const auto curve = read(
      R"({"method": "eagle", "model": "x", "num_speculative_tokens": 3, "acceptance": [0.8, 0.5]})",
      errors);
  ASSERT_TRUE(curve.has_value());
  EXPECT_EQ(curve->acceptance, (std::vector<double>{0.8, 0.5}));
  EXPECT_EQ(read(flow_text(to_node(*curve)), errors), curve);
  const auto rate = read("{method: ngram, num_speculative_tokens: 5, acceptance: 1}", errors);
  ASSERT_TRUE(rate.has_value());
  EXPECT_EQ(rate->acceptance, std::vector<double>{1.0});
}

TEST(Speculation, OlderWordsForMultiTokenPredictionMeanIt) {
  core::Errors errors;
  const auto config = read("{method: deepseek_mtp, num_speculative_tokens: 1}", errors);
  ASSERT_TRUE(config.has_value());
  EXPECT_EQ(config->method, "mtp");
}

TEST(Speculation, DraftsThatAreVerifiedTogetherHaveAnAcceptanceToo) {
  core::Errors errors;
  const auto config = read(
      "{method: dspark, model: x, num_speculative_tokens: 7, rejection_sample_method: block, "
      "acceptance_length: 3}",
      errors);
  ASSERT_TRUE(config.has_value()) << core::to_string(errors.front());
}

/// A run takes the published acceptance then, or refuses.
TEST(Speculation, AnAcceptanceThatIsNotStatedStaysOut) {
  core::Errors errors;
  const auto config = read("{method: mtp, num_speculative_tokens: 1}", errors);
  ASSERT_TRUE(config.has_value());
  EXPECT_TRUE(config->acceptance.empty());
  EXPECT_EQ(read(flow_text(to_node(*config)), errors), config);
}

TEST(Speculation, DraftsMayFollowTheRequestsOfAStep) {
  const std::string begin =
      "{method: ngram, num_speculative_tokens: 5, acceptance: 1, "
      "num_speculative_tokens_per_batch_size: ";
  core::Errors errors;
  const auto levels = read(begin + "[[1, 8, 5], [9, 256, 2]]}", errors);
  ASSERT_TRUE(levels.has_value());
  EXPECT_EQ(levels->levels,
            (std::vector<domain::DraftLevel>{{.most_requests = 8, .drafts = 5},
                                             {.most_requests = 256, .drafts = 2}}));
  EXPECT_EQ(read(flow_text(to_node(*levels)), errors), levels);
  for (const char* wrong :
       {"[]}", "7}", "[[2, 8, 5]]}", "[[1, 8]]}", "[[1, 8, 6]]}", "[[1, 8, 5], [8, 9, 1]]}"}) {
    EXPECT_THAT(refusal(begin + wrong), HasSubstr("c.num_speculative_tokens_per_batch_size"));
  }
}

TEST(Speculation, ACachedBlockMayBeKept) {
  core::Errors errors;
  const auto config = read(
      "{method: mtp, num_speculative_tokens: 1, acceptance: 0.5, disable_eagle_block_drop: true}",
      errors);
  ASSERT_TRUE(config.has_value());
  EXPECT_TRUE(config->disable_eagle_block_drop);
  EXPECT_EQ(read(flow_text(to_node(*config)), errors), config);
}

TEST(Speculation, AcceptanceMayBeAMeanLengthOrAServersSyntheticOne) {
  const auto acceptance = [](const std::string& words) {
    core::Errors errors;
    const auto config = read("{method: mtp, num_speculative_tokens: 3, " + words + "}", errors);
    return config ? config->acceptance : std::vector<double>{-1.0};
  };
  // 1 + 1/2 + 1/4 + 1/8 tokens a step.
  EXPECT_NEAR(acceptance("acceptance_length: 1.875").front(), 0.5, 1e-9);
  const std::string synthetic = "rejection_sample_method: synthetic, synthetic_acceptance_";
  EXPECT_EQ(acceptance(synthetic + "length: 2.5"), (std::vector<double>{1.0, 0.5, 0.0}));
  // Rates of all drafts up to each position, of each given those before it.
  EXPECT_EQ(acceptance(synthetic + "rates: [0.8, 0.4, 0.1]"),
            (std::vector<double>{0.8, 0.5, 0.25}));
  const std::string begin = "{method: mtp, num_speculative_tokens: 3, ";
  EXPECT_THAT(refusal(begin + "acceptance_length: 4.5}"), HasSubstr("c.acceptance_length"));
  EXPECT_THAT(refusal(begin + "acceptance: 0.5, acceptance_length: 2}"), HasSubstr("one of"));
  EXPECT_THAT(refusal(begin + synthetic + "rates: [0.4, 0.8, 0.1]}"), HasSubstr("before it"));
  EXPECT_THAT(refusal(begin + synthetic + "rates: [0.4]}"), HasSubstr("3 rates"));
  EXPECT_THAT(refusal(begin + "rejection_sample_method: synthetic}"), HasSubstr("either"));
}

TEST(Speculation, RefusesWhatItCannotPrice) {
  EXPECT_THAT(refusal("{method: medusa, num_speculative_tokens: 3, acceptance: 0.5}"),
              HasSubstr("c.method"));
  EXPECT_THAT(refusal("{num_speculative_tokens: 3, acceptance: 0.5}"), HasSubstr("c.method"));
  EXPECT_THAT(refusal("{method: mtp, acceptance: 0.5}"), HasSubstr("c.num_speculative_tokens"));
  EXPECT_THAT(refusal("{method: mtp, num_speculative_tokens: 0, acceptance: 0.5}"),
              HasSubstr("1 to 64"));
  EXPECT_THAT(refusal("{method: mtp, num_speculative_tokens: 1, acceptance: []}"),
              HasSubstr("empty list"));
  EXPECT_THAT(refusal("{method: mtp, num_speculative_tokens: 1, acceptance: 1.5}"),
              HasSubstr("0 to 1"));
  EXPECT_THAT(refusal("{method: eagle, num_speculative_tokens: 1, acceptance: 0.5}"),
              HasSubstr("c.model"));
  EXPECT_THAT(refusal("{method: mtp, model: x, num_speculative_tokens: 1, acceptance: 0.5}"),
              HasSubstr("would be ignored"));
  EXPECT_THAT(refusal("{method: mtp, num_speculative_tokens: 1, acceptance: 0.5, rate: 1}"),
              HasSubstr("c.rate"));
  EXPECT_THAT(refusal("[1]"), HasSubstr("c"));
}

TEST(Speculation, TheDraftIsTheTargetsOwnLayersOrANetworkByName) {
  const auto deepseek = model::find_model("deepseek-v3").value();
  const model::Sharding eight{.tensor_parallel_size = 8};
  const auto own = resolve_speculation(drafting("mtp"), deepseek, eight);
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(own->draft->num_layers(), 1);
  EXPECT_EQ(own->draft_sharding.tensor_parallel_size, 8);
  EXPECT_EQ(resolve_speculation(drafting("ngram"), deepseek, eight)->draft, nullptr);

  const auto llama = model::find_model("llama-3.1-70b").value();
  const auto small = resolve_speculation(drafting("draft_model", "llama-3.2-1b"), llama, eight);
  ASSERT_TRUE(small.has_value());
  EXPECT_TRUE(small->draft->has_embedding);
  // An EAGLE head joins two vectors and uses the target's embedding.
  const auto head = resolve_speculation(drafting("eagle", "llama-3.2-1b"), llama, eight);
  EXPECT_EQ(head->draft->draft_inputs, 2);
  EXPECT_FALSE(head->draft->has_embedding);
}

TEST(Speculation, WhatDoesNotGoTogetherIsRefusedByName) {
  const auto llama = model::find_model("llama-3.1-70b").value();
  const auto message = [&](const SpeculativeConfig& of, const model::Sharding& sharding) {
    const auto result = resolve_speculation(of, llama, sharding);
    return result ? std::string() : core::to_string(result.error().front());
  };
  EXPECT_THAT(message(drafting("mtp"), {}), HasSubstr("no layers that predict further"));
  EXPECT_THAT(message(drafting("draft_model", "qwen3-0.6b"), {}), HasSubstr("151936"));
  EXPECT_THAT(message(drafting("draft_model", "no-such"), {}),
              HasSubstr("engine.speculative_config.model"));
  EXPECT_THAT(message(drafting("ngram"), {.pipeline_parallel_size = 2}),
              HasSubstr("pipeline_parallel_size"));
  EXPECT_THAT(message(drafting("ngram"), {.prefill_context_parallel_size = 2}),
              HasSubstr("prefill_context_parallel_size"));
}

}  // namespace
}  // namespace ridgeline::scenario
