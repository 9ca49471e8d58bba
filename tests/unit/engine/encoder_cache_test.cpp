// vLLM's encoder cache: which images a chunk may have, and which give way.
#include "engine/vllm/plain/encoder_cache.hpp"

#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"

namespace ridgeline::engine::vllm::plain {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

EngineOptions options_of(const char* version, std::int64_t room) {
  EngineOptions options;
  options.profile = *find_profile(version);
  options.encoder_budget = room;
  options.encoder_cache = room;
  return options;
}

PromptImages images(std::uint32_t id, std::vector<Image> list) {
  return {.owner = core::RequestId(id), .list = std::move(list)};
}

TEST(EncoderCache, AChunkEndsBeforeAnImageThatHasNoRoom) {
  EncoderCache cache(options_of("0.33", 8));
  PromptImages a = images(
      0, {{.offset = 2, .tokens = 6, .content = 1}, {.offset = 10, .tokens = 6, .content = 2}});
  cache.begin_step();
  const ImagePlan plan = cache.plan(a, 0, 16);
  EXPECT_EQ(plan.tokens, 10);
  EXPECT_THAT(plan.encoded, ElementsAre(0));
  cache.take(a, plan);
  // The first image was read: it is idle, and gives way to the second.
  cache.release_read(a, 10);
  EXPECT_THAT(a.held, IsEmpty());
  cache.begin_step();
  EXPECT_EQ(cache.plan(a, 10, 6).tokens, 6);
}

TEST(EncoderCache, EqualImagesAreEncodedOnce) {
  EncoderCache cache(options_of("0.33", 8));
  PromptImages a = images(0, {{.offset = 0, .tokens = 6, .content = 1}});
  PromptImages b = images(1, {{.offset = 3, .tokens = 6, .content = 1}});
  cache.begin_step();
  cache.take(a, cache.plan(a, 0, 8));
  const ImagePlan plan = cache.plan(b, 0, 12);
  EXPECT_EQ(plan.tokens, 12);
  EXPECT_THAT(plan.encoded, IsEmpty());
  EXPECT_THAT(b.held, ElementsAre(0));
}

TEST(EncoderCache, AnImageThatARequestHasTwiceIsHeldUntilItsLastPlaceIsRead) {
  for (const auto& [version, encodes_again] : {std::pair("0.28", true), std::pair("0.32", false)}) {
    EncoderCache cache(options_of(version, 12));
    PromptImages a = images(
        0, {{.offset = 0, .tokens = 6, .content = 1}, {.offset = 8, .tokens = 6, .content = 1}});
    PromptImages b = images(1, {{.offset = 0, .tokens = 12, .content = 2}});
    cache.begin_step();
    cache.take(a, cache.plan(a, 0, 14));
    cache.release_read(a, 7);
    cache.begin_step();
    // Another image needs the whole cache.
    EXPECT_EQ(cache.plan(b, 0, 12).tokens, encodes_again ? 12 : 0) << version;
  }
}

TEST(EncoderCache, NoChunkEndsInsideAnImageThatIsToStayWhole) {
  EngineOptions options = options_of("0.32", 20);
  options.disable_chunked_mm_input = true;
  PromptImages a = images(0, {{.offset = 4, .tokens = 6, .content = 1}});
  EncoderCache older(options);
  older.begin_step();
  EXPECT_EQ(older.plan(a, 0, 8).tokens, 4);
  // A chunk that begins with the image is cut from 0.33 on alone.
  EXPECT_EQ(older.plan(a, 4, 4).tokens, 4);
  options.profile = *find_profile("0.33");
  EncoderCache newer(options);
  newer.begin_step();
  EXPECT_EQ(newer.plan(a, 4, 4).tokens, 0);
  EXPECT_EQ(newer.plan(a, 4, 6).tokens, 6);
}

TEST(EncoderCache, DraftingReadsAToken) {
  PromptImages a = images(0, {{.offset = 4, .tokens = 6, .content = 1}});
  for (const auto& [version, tokens] : {std::pair("0.32", 3), std::pair("0.33", 4)}) {
    EngineOptions options = options_of(version, 4);
    options.num_speculative_tokens = 2;
    EncoderCache cache(options);
    cache.begin_step();
    EXPECT_EQ(cache.plan(a, 0, 8).tokens, tokens) << version;
  }
  // From 0.28 on an image that only drafting reads is encoded.
  for (const auto& [version, count] : {std::pair("0.27", 0U), std::pair("0.28", 1U)}) {
    EngineOptions options = options_of(version, 8);
    options.num_speculative_tokens = 2;
    EncoderCache cache(options);
    cache.begin_step();
    EXPECT_EQ(cache.plan(a, 0, 4).encoded.size(), count) << version;
  }
}

}  // namespace
}  // namespace ridgeline::engine::vllm::plain
