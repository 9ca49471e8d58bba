// Recordings of engines other than vLLM: what is read, and how traces are compared.
#include "lab/conform/engine_recording.hpp"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/conform/conform.hpp"
#include "lab/conform/result_form.hpp"
#include "support/paths.hpp"

namespace ridgeline::conform {
namespace {

using testing::HasSubstr;

/// A recording of one request of TensorRT-LLM, 6 tokens of prompt and 2 of output, with a record
/// changed by hand where `finished` is.
std::string small_recording(const std::string& engine,
                            const std::string& finished = "\"A\"",
                            const std::string& more_cfg = "") {
  return R"({"scenario": "small", "derivation": "by hand", "engine": ")" + engine +
         R"(", "cfg": {"num_blocks": 8, "tokens_per_block": 4, "max_batch_size": 2,
            "max_num_tokens": 16, "max_seq_len": 64)" +
         more_cfg + R"(}, "requests": [{"id": "A", "arrive_step": 1, "prompt": [[1, 6]],
            "max_new_tokens": 2}], "results": [{"versions": ["main"], "trace": [
            {"step": 0, "free_blocks": 8, "free_blocks_after": 8},
            {"step": 1, "activated": ["A"], "fitting": ["A"], "context": {"A": 6},
             "generation": [], "scheduled": {"A": 6}, "active": ["A"], "waiting": [],
             "free_blocks": 6, "tokens_out": {"A": 1}, "states": {"A": "generation"},
             "free_blocks_after": 6},
            {"step": 2, "fitting": ["A"], "context": {}, "generation": ["A"],
             "scheduled": {"A": 1}, "active": ["A"], "waiting": [], "free_blocks": 6,
             "tokens_out": {"A": 1}, "finished": [)" +
         finished + R"(], "free_blocks_after": 8}]}]})";
}

core::Result<std::vector<ConformResult>> replayed(const std::string& text) {
  const auto document = document::parse_json(text, "small.json");
  EXPECT_TRUE(document.has_value());
  return conform_engine(*document, "small.json");
}

TEST(EngineRecordings, ASmallOneIsEqual) {
  const auto results = replayed(small_recording("tensorrt-llm"));
  ASSERT_TRUE(results.has_value()) << core::to_string(results.error().front());
  ASSERT_EQ(results->size(), 1U);
  EXPECT_FALSE(results->front().difference.has_value())
      << results->front().difference->where << ": " << results->front().difference->ours;
}

TEST(EngineRecordings, ADifferenceIsNamed) {
  const auto results = replayed(small_recording("tensorrt-llm", ""));
  ASSERT_TRUE(results.has_value());
  ASSERT_TRUE(results->front().difference.has_value());
  EXPECT_EQ(results->front().difference->where, "record 2 (step 2): finished");
  EXPECT_EQ(results->front().difference->recorded, "[]");
  EXPECT_EQ(results->front().difference->ours, "[A]");
}

TEST(EngineRecordings, AKeyThatIsNotComparedIsRefused) {
  std::string text = small_recording("tensorrt-llm");
  text.insert(text.find(R"("tokens_out")"), R"("mood": "good", )");
  const auto results = replayed(text);
  ASSERT_FALSE(results.has_value());
  EXPECT_EQ(results.error().front().field, "results[0].trace[1].mood");
}

TEST(EngineRecordings, AnExcerptHasNeitherTotalsNorRows) {
  EXPECT_TRUE(is_excerpt(*document::parse_json(R"({"trace": []})", "result")));
  EXPECT_FALSE(is_excerpt(*document::parse_json(R"({"totals": {}})", "result")));
}

TEST(EngineRecordings, OnlyADerivationMayStateAPartOfARun) {
  std::string text = small_recording("tensorrt-llm");
  text.erase(text.find(R"("derivation": "by hand", )"), 25);
  const auto results = replayed(text);
  ASSERT_FALSE(results.has_value());
  EXPECT_EQ(results.error().front().field, "results[0].totals");
}

TEST(EngineRecordings, AnUnknownEngineIsRefused) {
  const auto results = replayed(small_recording("lmdeploy"));
  ASSERT_FALSE(results.has_value());
  EXPECT_THAT(core::to_string(results.error().front()), HasSubstr("found lmdeploy"));
}

TEST(EngineRecordings, ASettingThatIsNotKnownIsRefusedUnlessItIsOff) {
  EXPECT_TRUE(replayed(small_recording("tensorrt-llm", "\"A\"", R"(, "beam": 0)")).has_value());
  const auto results = replayed(small_recording("tensorrt-llm", "\"A\"", R"(, "beam": 2)"));
  ASSERT_FALSE(results.has_value());
  EXPECT_THAT(core::to_string(results.error().front()), HasSubstr("beam"));
}

TEST(EngineRecordings, EveryRecordingOfTensorRtLlmIsEqual) {
  const auto folder = test::shared_dir() / "golden" / "engines" / "tensorrt-llm";
  if (!std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << folder << " is not there";
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto results = conform_file(entry.path().string());
    ASSERT_TRUE(results.has_value()) << core::to_string(results.error().front());
    for (const ConformResult& result : *results) {
      EXPECT_FALSE(result.difference.has_value())
          << result.scenario << ": " << result.difference->where << "\nrecorded "
          << result.difference->recorded << "\nours     " << result.difference->ours;
    }
  }
}

}  // namespace
}  // namespace ridgeline::conform
