#include "openai/api_version.hpp"

#include <gtest/gtest.h>

namespace ridgeline::openai {
namespace {

TEST(ApiVersion, IsReadFromTheEngineVersion) {
  EXPECT_EQ(ApiVersion::parse("vllm@0.15"), (ApiVersion{.minor = 15, .patch = 0}));
  EXPECT_EQ(ApiVersion::parse("vllm@0.10.1"), (ApiVersion{.minor = 10, .patch = 1}));
}

TEST(ApiVersion, OfAnotherEngineIsTheNewest) {
  EXPECT_EQ(ApiVersion::parse("sglang@0.5.5"), ApiVersion::newest());
  EXPECT_EQ(ApiVersion::parse("vllm@0.x"), ApiVersion::newest());
}

TEST(ApiVersion, IsInOrder) {
  EXPECT_LT(ApiVersion::parse("vllm@0.10"), kNestedErrors);
  EXPECT_GE(ApiVersion::parse("vllm@0.11"), kNestedErrors);
}

}  // namespace
}  // namespace ridgeline::openai
