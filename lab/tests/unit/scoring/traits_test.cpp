#include "lab/scoring/traits.hpp"

#include <gtest/gtest.h>

#include "lab/scoring/evidence_words.hpp"

namespace ridgeline::scoring {
namespace {

TEST(Traits, ARecordsPrecisionWinsOverItsNetworks) {
  Evidence evidence;
  evidence.model = "openai/gpt-oss-120b";
  EXPECT_EQ(format_of(evidence), "FP4");
  evidence.weight_quantisation = "fp8";
  EXPECT_EQ(format_of(evidence), "FP8");
  evidence = {};
  EXPECT_EQ(format_of(evidence), "");
}

}  // namespace
}  // namespace ridgeline::scoring
