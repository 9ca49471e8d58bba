// Decisions recorded from vLLM's own scheduler, replayed: every file, every version, to the last
// block.
#include "lab/conform/conform.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "support/paths.hpp"

namespace ridgeline::conform {
namespace {

std::vector<std::string> recordings(const std::filesystem::path& folder) {
  std::vector<std::string> files;
  if (std::filesystem::is_directory(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".json") {
        files.push_back(entry.path().string());
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

void expect_equal(const std::vector<std::string>& files) {
  for (const auto& file : files) {
    const auto results = conform_file(file);
    ASSERT_TRUE(results.has_value()) << core::to_string(results.error().front());
    EXPECT_FALSE(results->empty());
    for (const auto& result : *results) {
      EXPECT_FALSE(result.difference.has_value())
          << result.scenario << " " << result.version << " as " << result.profile << ": "
          << result.difference->where << "\nrecorded " << result.difference->recorded
          << "\nours     " << result.difference->ours;
    }
  }
}

TEST(Conform, EveryRecordedVersionIsEqual) {
  const auto files = recordings(test::shared_dir() / "golden" / "vllm");
  if (files.empty()) {
    GTEST_SKIP() << "needs the recordings of ../shared/golden/vllm";
  }
  expect_equal(files);
}

TEST(Conform, ReleasesOfNovember2026AreEqualWhereTheyCanBeExpressed) {
  const auto files = recordings(test::shared_dir() / "golden" / "engines-3" / "vllm");
  if (files.empty()) {
    GTEST_SKIP() << "needs the recordings of ../shared/golden/engines-3/vllm";
  }
  expect_equal(files);
}

TEST(Conform, DecisionsDerivedFromTheSourceAreEqual) {
  const auto files = recordings(test::shared_dir() / "golden" / "vllm" / "derived");
  if (files.empty()) {
    GTEST_SKIP() << "needs the derived decisions of ../shared/golden/vllm/derived";
  }
  expect_equal(files);
}

TEST(Conform, OurOwnRecordingsAreEqual) {
  const auto files = recordings(test::source_dir() / "tests" / "recordings");
  EXPECT_GE(files.size(), 6U);
  expect_equal(files);
}

std::string write_file(const std::string& text) {
  const auto path = std::filesystem::path(testing::TempDir()) / "recording.json";
  std::ofstream(path) << text;
  return path.string();
}

/// One request of 4 tokens in blocks of 4: the prompt's step, then one decode, which ends it.
std::string recording(const std::string& second_free_blocks) {
  return R"({"scenario": "own", "derivation": "by hand", "cfg": {"num_blocks": 5, "block_size": 4, "max_num_seqs": 2,
    "max_num_batched_tokens": 8, "max_model_len": 16, "enable_prefix_caching": false},
    "requests": [{"id": "A", "arrive_step": 0, "prompt": [[1, 4]], "max_tokens": 2}],
    "results": [{"versions": ["0.15.1"],
    "trace": [{"step": 0, "scheduled": {"A": 4}, "new": ["A"], "running": ["A"], "waiting": [],
               "free_blocks": 3, "blocks": {"A": [1]}, "tokens_out": {"A": 1}},
              {"step": 1, "scheduled": {"A": 1}, "running": ["A"], "waiting": [], "free_blocks": )" +
         second_free_blocks +
         R"(, "blocks": {"A": [1, 2]}, "tokens_out": {"A": 1}, "finished": ["A"],
               "free_blocks_after": 4}]}]})";
}

TEST(Conform, ARecordingDerivedByHandIsEqual) {
  const auto results = conform_file(write_file(recording("2")));
  ASSERT_TRUE(results.has_value()) << core::to_string(results.error().front());
  ASSERT_EQ(results->size(), 1U);
  EXPECT_EQ(results->front().profile, "vllm@0.15");
  EXPECT_FALSE(results->front().difference.has_value());
}

TEST(Conform, TheFirstDifferenceIsNamedWithBothSides) {
  const auto results = conform_file(write_file(recording("3")));
  ASSERT_TRUE(results.has_value());
  ASSERT_TRUE(results->front().difference.has_value());
  EXPECT_EQ(results->front().difference->where, "reference: record 1 (step 1): free_blocks");
  EXPECT_EQ(results->front().difference->recorded, "3");
  EXPECT_EQ(results->front().difference->ours, "2");
}

TEST(Conform, APromptLongerThanAnyAnswerIsRefused) {
  // In segments each of which would be short enough, or not.
  for (const std::string prompt : {"[[1, 9000000000000000]]",
                                   "[[1, 600000], [2, 600000]]",
                                   "[[1, 1], [2, 9223372036854775807]]"}) {
    std::string text = recording("2");
    text.replace(text.find("[[1, 4]]"), 8, prompt);
    const auto results = conform_file(write_file(text));
    ASSERT_FALSE(results.has_value()) << prompt;
    EXPECT_THAT(core::to_string(results.error().front()),
                testing::HasSubstr("of at least a token each and 1000000 together"));
  }
}

TEST(Conform, WhatIsNoRecordingIsRefused) {
  for (const std::string text : {"",
                                 "[]",
                                 "{}",
                                 R"({"scenario": "x", "cfg": {}, "requests": [], "results": []})",
                                 R"({"scenario": "x", "cfg": 3, "requests": {}, "results": 0})"}) {
    EXPECT_FALSE(conform_file(write_file(text)).has_value()) << text;
  }
  const auto unknown =
      conform_file(write_file(R"({"scenario": "x", "cfg": {"num_blocks": 5, "block_size": 4,
    "max_num_seqs": 2, "max_num_batched_tokens": 8, "max_model_len": 16, "chunked_prefil": true},
    "requests": [], "results": []})"));
  ASSERT_FALSE(unknown.has_value());
  EXPECT_THAT(core::to_string(unknown.error().front()), testing::HasSubstr("chunked_prefill"));
  EXPECT_FALSE(conform_file("no/such/file.json").has_value());
}

}  // namespace
}  // namespace ridgeline::conform
