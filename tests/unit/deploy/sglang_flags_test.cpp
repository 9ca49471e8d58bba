#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "deploy/flags.hpp"
#include "scenario/options.hpp"
#include "support/deployed.hpp"

namespace ridgeline::deploy {
namespace {

TEST(SglangFlags, AreReadBackByTheirOwnNames) {
  const std::vector<Word> words = {{"--tp-size"},
                                   {"4"},
                                   {"--chunked-prefill-size"},
                                   {"-1"},
                                   {"--disable-radix-cache"},
                                   {"--port"},
                                   {"8000"},
                                   {"--schedule-policy"},
                                   {"lpm"}};
  core::Errors errors;
  const auto options =
      kSglangDialect.read(words, std::vector<Word>{{"SGLANG_RETRACT_DECODE_STEPS=7"}}, errors);
  EXPECT_TRUE(errors.empty());
  std::string text;
  for (const auto& [option, value] : options) {
    text += option + "=" + scenario::flow_text(value) + " ";
  }
  EXPECT_EQ(text,
            "engine.tensor_parallel_size=4 engine.chunked_prefill_size=-1 "
            "engine.disable_radix_cache=true engine.schedule_policy=lpm "
            "engine.retract_decode_steps=7 ");
}

TEST(SglangFlags, OtherWordsAreRefused) {
  core::Errors errors;
  static_cast<void>(kSglangDialect.read(std::vector<Word>{{"--max-num-seqs"}, {"4"}}, {}, errors));
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors.front().field, "--max-num-seqs");
}

}  // namespace
}  // namespace ridgeline::deploy
