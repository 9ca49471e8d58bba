#include "lab/records/record_identity.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/records/evidence_words.hpp"

namespace ridgeline::records {
namespace {

Evidence identity(const std::string& text) {
  Evidence evidence;
  read_identity(document::parse_json(text, "record.json").value(), evidence);
  return evidence;
}

TEST(RecordIdentity, WholeSystemsSayHowManyGpusTheyHave) {
  const Evidence known = identity(R"({"id": "a", "num_gpus": 8, "tp": 2})");
  EXPECT_EQ(known.num_gpus, 8);
  EXPECT_TRUE(known.knows_ranks);
  const Evidence open = identity(R"({"id": "a", "num_gpus": 8, "tp": null})");
  EXPECT_FALSE(open.knows_ranks);
  EXPECT_EQ(open.tensor_parallel, 1);
  EXPECT_TRUE(identity(R"({"id": "a", "num_gpus": 1})").knows_ranks);
}

TEST(RecordIdentity, VersionsAreNamedInManyWays) {
  EXPECT_EQ(version_option("vllm", "vLLM 0.9.0.2.dev108+g71faa, ROCm", ""), "vllm@0.9.0");
  EXPECT_EQ(version_option("vllm", "vLLM 0.10.0, RHEL 9.6", ""), "vllm@0.10.0");
  EXPECT_EQ(version_option("vllm", "0.15.1 (per authors)", ""), "vllm@0.15.1");
  EXPECT_EQ(version_option("tensorrt-llm", "TensorRT 10.11, CUDA 12.9", ""), "tensorrt-llm");
  const Evidence old = identity(R"json({"id": "o", "engine": "vllm (2023, eager)",
                                        "engine_version": "0.1 to 0.2"})json");
  EXPECT_TRUE(old.old_engine);
  EXPECT_EQ(old.engine_version, "vllm@0.8");
}

TEST(RecordIdentity, ACountFollowsAWord) {
  EXPECT_EQ(number_after("closed loop, max_concurrency=16, at once", "concurrency="), 16);
  EXPECT_EQ(number_after("max_concurrency=None", "concurrency="), std::nullopt);
  EXPECT_EQ(number_after("nothing", "concurrency="), std::nullopt);
}

}  // namespace
}  // namespace ridgeline::records
