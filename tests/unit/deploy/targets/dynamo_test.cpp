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

TEST(DynamoTarget, WritesAFrontendAndWorkers) {
  const auto resolved =
      resolved_of({{"cluster.instances", "2"}, {"cluster.router.name", "dynamo"}});
  const std::string text = file_of(resolved, kDynamoTarget, "dynamo.yaml");
  EXPECT_THAT(text, HasSubstr("- --router-mode\n                - kv\n"));
  EXPECT_THAT(text, HasSubstr("vllm-runtime:my-tag\n"));
  EXPECT_THAT(text, HasSubstr("# Put in place of my-tag the runtime whose vLLM is 0.15"));
  EXPECT_EQ(digest_in(text, "dynamo.yaml"), digest_of(resolved));
}

TEST(DynamoTarget, GivesPrefillAndDecodeTheirModes) {
  const auto resolved = resolved_of({{"cluster.instances", "3"},
                                     {"cluster.disaggregation.name", "dynamo"},
                                     {"cluster.disaggregation.prefill_instances", "2"}});
  const std::string text = file_of(resolved, kDynamoTarget, "dynamo.yaml");
  EXPECT_THAT(text, HasSubstr("- --disaggregation-mode\n                - prefill\n"));
  EXPECT_EQ(digest_in(text, "dynamo.yaml"), digest_of(resolved));
}

TEST(DynamoTarget, SpansNodes) {
  const auto resolved =
      resolved_of({{"model", "deepseek-v3"}, {"engine.tensor_parallel_size", "16"}});
  const std::string text = file_of(resolved, kDynamoTarget, "dynamo.yaml");
  EXPECT_THAT(text, HasSubstr("nodeCount: 2\n"));
  EXPECT_THAT(text, HasSubstr("nvidia.com/gpu: \"8\"\n"));
  EXPECT_EQ(digest_in(text, "dynamo.yaml"), digest_of(resolved));
}

TEST(DynamoTarget, KeepsThemApartAsDynamoDoes) {
  EXPECT_THAT(refusals(resolved_of({{"cluster.instances", "3"},
                                    {"cluster.disaggregation.prefill_instances", "2"}}),
                       kDynamoTarget),
              HasSubstr("keeps prefill and decode apart as dynamo does, not as llm-d"));
}

}  // namespace
}  // namespace ridgeline::deploy
