// Iterations of SGLang's event loop, replayed.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/conform/conform.hpp"
#include "support/paths.hpp"

namespace ridgeline::conform {
namespace {

/// A recording of one request and one iteration; `cfg` and `record` as they stand.
std::string recording(const std::string& cfg, const std::string& record) {
  return R"({"scenario": "small", "derivation": "by hand", "engine": "sglang", "cfg": )" + cfg +
         R"(, "requests": [{"id": "A", "prompt": [[1, 8]], "max_new_tokens": 1}],)" +
         R"("results": [{"versions": ["main"], "trace": [)" + record + "]}]}";
}

core::Result<std::vector<ConformResult>> replay(const std::string& text) {
  const auto document = document::parse_json(text, "small.json");
  return conform_document(*document, "small.json");
}

constexpr const char* kCfg = R"({"max_total_num_tokens": 64, "overlap": false})";

/// What the one iteration decides; a recording may leave out all but its lists and maps.
constexpr const char* kDecided =
    R"("received": ["A"], "mode": "extend", "scheduled": {"A": 8}, "prefix_len": {"A": 0}, )"
    R"("tokens_out": {"A": 1}, "finished": ["A"])";

TEST(ConformSglang, NamesTheFirstDifference) {
  const std::string decided(kDecided);
  const auto same = replay(recording(kCfg, "{" + decided + "}"));
  ASSERT_TRUE(same);
  EXPECT_FALSE(same->front().difference);
  EXPECT_EQ(same->front().profile, "sglang@main");
  const auto other =
      replay(recording(kCfg, R"({"received": ["A"], "mode": "extend", "free_tokens": 55})"));
  ASSERT_TRUE(other && other->front().difference);
  EXPECT_EQ(other->front().difference->where, "record 0 (step 0): scheduled");
  const auto ratio = replay(recording(kCfg, "{" + decided + R"(, "new_token_ratio": 0.6})"));
  ASSERT_TRUE(ratio && ratio->front().difference);
  EXPECT_EQ(ratio->front().difference->where, "record 0 (step 0): new_token_ratio");
}

TEST(ConformSglang, ARecordingThatStopsEarlyDiffers) {
  // A request of three tokens decodes twice.
  std::string text = recording(kCfg,
                               R"({"received": ["A"], "mode": "extend", "scheduled": {"A": 8},
                                   "prefix_len": {"A": 0}, "tokens_out": {"A": 1}})");
  text.replace(text.find(R"("max_new_tokens": 1)"), 19, R"("max_new_tokens": 3)");
  const auto short_one = replay(text);
  ASSERT_TRUE(short_one && short_one->front().difference);
  EXPECT_EQ(short_one->front().difference->where, "record 1");
  EXPECT_EQ(short_one->front().difference->recorded, "no record");
  EXPECT_FALSE(replay(recording(kCfg, "")));  // Nothing to compare.
}

TEST(ConformSglang, RefusesSettingsThatItDoesNotKnow) {
  EXPECT_FALSE(
      replay(recording(R"({"max_total_num_tokens": 64, "speculative_adaptive": true})", "{}")));
  EXPECT_FALSE(replay(recording("{}", "{}")));
}

TEST(ConformSglang, AgreesWithItsOwnDecisions) {
  const std::filesystem::path folder =
      std::filesystem::path(test::shared_dir()) / "golden" / "engines" / "sglang";
  if (!std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << "no recordings here";
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto results = conform_file(entry.path().string());
    ASSERT_TRUE(results) << core::to_string(results.error().front());
    for (const ConformResult& result : *results) {
      EXPECT_FALSE(result.difference)
          << result.scenario << " " << result.profile << ": " << result.difference->where;
    }
  }
}

}  // namespace
}  // namespace ridgeline::conform
