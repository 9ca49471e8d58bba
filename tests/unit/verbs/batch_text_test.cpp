#include "verbs/batch_text.hpp"

#include <string_view>

#include <gtest/gtest.h>

#include "core/units.hpp"
#include "domain/step.hpp"

namespace ridgeline::verbs {
namespace {

using core::Tokens;

TEST(ParseBatch, CountsAndSums) {
  const auto text = parse_batch("64x15,700", "0+2048,1024+512x2", true);
  ASSERT_TRUE(text);
  const domain::StepBatch batch = text->batch();
  EXPECT_EQ(batch.num_decodes, 16);
  EXPECT_EQ(batch.decode_context, Tokens(64 * 15 + 700));
  ASSERT_EQ(batch.decode_lengths.size(), 16U);
  EXPECT_EQ(batch.decode_lengths.back(), Tokens(700));
  ASSERT_EQ(batch.prefills.size(), 3U);
  EXPECT_EQ(batch.prefills[2], (domain::PrefillChunk{Tokens(1024), Tokens(512), true}));
  EXPECT_EQ(batch.num_tokens(), Tokens(16 + 2048 + 512 + 512));
  EXPECT_EQ(batch.num_sampled(), 19);
}

TEST(ParseBatch, ChunksNeedNotSample) {
  const auto text = parse_batch("", "0+8", false);
  ASSERT_TRUE(text);
  EXPECT_EQ(text->batch().num_sampled(), 0);
}

TEST(ParseBatch, NotesEveryMalformedItem) {
  const auto text = parse_batch("5,x,7x,-1,5x0,1e3", "4,+4,4+,0+0,1+1x", true);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().size(), 10U);
  for (const auto& error : text.error()) {
    EXPECT_FALSE(error.hint.empty());
  }
}

TEST(ParseBatch, RefusesNothingAndTooMuch) {
  EXPECT_FALSE(parse_batch("", "", true));
  EXPECT_FALSE(parse_batch("100000001", "", true));
  EXPECT_FALSE(parse_batch("1x65537", "", true));
  EXPECT_TRUE(parse_batch("1x65536", "", true));
  const auto over = parse_batch("1x65536,1,1", "0+1", true);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().size(), 1U);
}

}  // namespace
}  // namespace ridgeline::verbs
