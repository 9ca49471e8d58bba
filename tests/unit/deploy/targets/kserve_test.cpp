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

TEST(KserveTarget, HandsFlagsOverInAVariable) {
  const auto resolved = resolved_of({});
  const std::string text = file_of(resolved, kKserveTarget, "kserve.yaml");
  EXPECT_THAT(text, HasSubstr("- name: VLLM_ADDITIONAL_ARGS\n"));
  EXPECT_THAT(text, HasSubstr("  parallelism:\n    tensor: 2\n"));
  EXPECT_THAT(text, Not(HasSubstr("prefill:")));
  EXPECT_EQ(digest_in(text, "kserve.yaml"), digest_of(resolved));
}

TEST(KserveTarget, KeepsPrefillAndDecodeApart) {
  const auto resolved = resolved_of({{"cluster.instances", "2"},
                                     {"cluster.router.name", "llm-d"},
                                     {"cluster.disaggregation.prefill_instances", "1"}});
  const std::string text = file_of(resolved, kKserveTarget, "kserve.yaml");
  EXPECT_THAT(text, HasSubstr("  prefill:\n    replicas: 1\n"));
  EXPECT_EQ(digest_in(text, "kserve.yaml"), digest_of(resolved));
}

}  // namespace
}  // namespace ridgeline::deploy
