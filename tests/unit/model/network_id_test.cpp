#include "model/network_id.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
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

TEST(NetworkId, OfAFileIsAnIdAndNothingElse) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "its_config.json";
  const auto id_of = [&](const std::string& members) {
    std::ofstream(path) << "{" << members << "}";
    return network_id(path.string());
  };
  EXPECT_EQ(id_of(R"("_hf_id": "a_b/C-1.5")"), "a_b/C-1.5");
  EXPECT_EQ(id_of(R"("_hf_id": "gpt2")"), "gpt2");
  for (const char* bad : {"--x", "", "a/b/c", "a\\nb", "$(x)", "/etc", "a/-b", "../b", "a b"}) {
    EXPECT_FALSE(id_of(fmt::format(R"("_hf_id": "{}")", bad))) << bad;
  }
  for (const char* aliases : {"\"x\"", "{}", "[1]", "[\"a/its_config.json; x\"]"}) {
    EXPECT_EQ(id_of(fmt::format(R"("_hf_id": "a/b", "_aliases": {})", aliases)), "a/b") << aliases;
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace ridgeline::model
