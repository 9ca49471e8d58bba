#include "model/network_id.hpp"

#include <gtest/gtest.h>

namespace ridgeline::model {
namespace {

TEST(NetworkId, IsTheOneWhoseWordsTheNameHas) {
  EXPECT_EQ(network_id("llama-3.1-70b"), "meta-llama/Llama-3.1-70B-Instruct");
  EXPECT_EQ(network_id("llama-3.3-70b-fp8"), "nvidia/Llama-3.3-70B-Instruct-FP8");
  EXPECT_EQ(network_id("NVIDIA/llama-3.3-70b-instruct-fp8"), "nvidia/Llama-3.3-70B-Instruct-FP8");
  EXPECT_EQ(network_id("meta-llama/Llama-3.1-8B"), "meta-llama/Llama-3.1-8B");
  EXPECT_FALSE(network_id("no-such-network"));
}

}  // namespace
}  // namespace ridgeline::model
