#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "deploy/targets.hpp"
#include "support/deployed.hpp"

namespace ridgeline::deploy {
namespace {

using test::digest_in;
using test::digest_of;
using test::file_of;
using test::refusals;
using test::resolved_of;
using testing::HasSubstr;
using testing::Not;

TEST(SglangTarget, WritesItsOwnWords) {
  const auto resolved =
      resolved_of({{"engine.version", "sglang@0.5.9"}, {"engine.page_size", "16"}});
  const std::string text = file_of(resolved, kSglangTarget, "launch.sh");
  EXPECT_THAT(text,
              HasSubstr("CUDA_VISIBLE_DEVICES=0,1 python3 -m sglang.launch_server \\\n"
                        "  --model-path nvidia/Llama-3.3-70B-Instruct-FP8 \\\n"
                        "  --tp-size 2 \\\n"));
  EXPECT_THAT(text, HasSubstr("  --context-length 8192"));
  EXPECT_THAT(text, HasSubstr("  --page-size 16"));
  EXPECT_THAT(text, HasSubstr("  --mem-fraction-static "));
  EXPECT_EQ(digest_in(text, "launch.sh"), digest_of(resolved));
}

TEST(SglangTarget, TakesNoOtherEnginesPlan) {
  EXPECT_THAT(refusals(resolved_of({}), kSglangTarget),
              HasSubstr("sglang: deploys sglang, and the engine is vllm@0.15"));
  EXPECT_THAT(refusals(resolved_of({{"engine.version", "sglang@0.5.9"}}), kVllmTarget),
              HasSubstr("vllm: deploys vllm, and the engine is sglang@0.5.5"));
}

}  // namespace
}  // namespace ridgeline::deploy
