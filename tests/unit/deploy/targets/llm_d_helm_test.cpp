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

TEST(LlmDHelmTarget, WritesValuesOfTheChart) {
  const auto resolved = resolved_of({});
  const std::string text = file_of(resolved, kLlmDHelmTarget, "values.yaml");
  EXPECT_THAT(text, HasSubstr("  uri: hf://nvidia/Llama-3.3-70B-Instruct-FP8\n"));
  EXPECT_THAT(text, HasSubstr("prefill:\n  create: false\n"));
  EXPECT_EQ(digest_in(text, "values.yaml"), digest_of(resolved));
}

TEST(LlmDHelmTarget, KeepsPrefillAndDecodeApart) {
  const auto resolved = resolved_of({{"cluster.instances", "4"},
                                     {"cluster.router.name", "llm-d"},
                                     {"cluster.disaggregation.prefill_instances", "1"}});
  const std::string text = file_of(resolved, kLlmDHelmTarget, "values.yaml");
  EXPECT_THAT(text, HasSubstr("connector: nixlv2\n"));
  EXPECT_THAT(text, HasSubstr("kv_connector"));
  EXPECT_EQ(digest_in(text, "values.yaml"), digest_of(resolved));
}

TEST(LlmDHelmTarget, HasTheRouterOfItsChart) {
  EXPECT_THAT(refusals(resolved_of({{"cluster.instances", "2"}}), kLlmDHelmTarget),
              HasSubstr("cannot route by round-robin, only by llm-d"));
  EXPECT_THAT(
      refusals(resolved_of({{"cluster.instances", "2"},
                            {"cluster.router.name", "llm-d"},
                            {"cluster.router.picker", "random-picker"}}),
               kLlmDHelmTarget),
      HasSubstr("cluster.router.picker: llm-d-helm: is not written into deployment files yet"));
}

}  // namespace
}  // namespace ridgeline::deploy
