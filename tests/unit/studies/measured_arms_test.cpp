#include "studies/measured_arms.hpp"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "evidence/validate/evidence.hpp"
#include "studies/lab.hpp"
#include "studies/study.hpp"

namespace ridgeline::studies {
namespace {

using evidence::validate::Figure;

/// A file of measured runs that goes away with it.
class MeasuredFile {
 public:
  explicit MeasuredFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("ridgeline_measured_{}.jsonl", getpid())) {
    std::ofstream(path_) << text;
  }
  MeasuredFile(const MeasuredFile&) = delete;
  MeasuredFile& operator=(const MeasuredFile&) = delete;
  ~MeasuredFile() { std::filesystem::remove(path_); }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

std::string record(const char* id, int clients, const char* precision) {
  return fmt::format(
             R"({{"id": "{}", "family": "made", "exp_name": "{}", "stage": "point",)"
             R"( "model": "meta-llama/Llama-2-7b-hf", "gpu": "H100-SXM-80GB", "tp": 1,)"
             R"( "precision": "{}", "engine": "vllm", "engine_version": "0.12.0", "server": {{}},)"
             R"( "workload": {{"name": "fixed", "loop": "closed", "concurrency": {},)"
             R"( "input": {{"kind": "fixed", "nominal_tokens": 256}},)"
             R"( "output": {{"kind": "fixed", "nominal_tokens": 32}}, "prefix": {{"shared": 0}}}},)"
             R"( "measured": {{"tpot_ms": {{"mean": 10.0}}}}, "flags": []}})",
             id,
             id,
             precision,
             clients) +
         "\n";
}

const std::vector<Arm> kTwoArms = {
    {.name = "as it was", .preset = "v1"},
    {.name = "slower", .preset = "v1", .settings = {setting("TOverheadMicros", 5000.0)}}};

// FP8 weights are a network that V1 refuses: such runs do not count.
TEST(MeasuredArms, ScoresTheRunsThatTheFirstArmCanPrice) {
  const MeasuredFile file(record("a", 1, "bf16") + record("b", 4, "bf16") + record("c", 4, "fp8"));
  const auto runs = score_arms(kTwoArms, {.measured = file.path(), .threads = 2});
  ASSERT_TRUE(runs) << core::to_string(runs.error().front());
  ASSERT_EQ(runs->size(), 2U);
  const ScoredRun& one = runs->front();
  EXPECT_EQ(one.group, "made, closed");
  EXPECT_EQ(one.server, "a");
  EXPECT_EQ(one.clients, 1);
  ASSERT_EQ(one.predicted.size(), 2U);
  // A client alone waits 4.5 ms longer for each token: 45 points of 10 ms.
  EXPECT_NEAR(*one.error_pct(1, Figure::kTpot) - *one.error_pct(0, Figure::kTpot), 45.0, 0.5);
  EXPECT_FALSE(one.error_pct(0, Figure::kE2e));
}

TEST(MeasuredArms, DoNotDependOnThreads) {
  const MeasuredFile file(record("a", 2, "bf16") + record("b", 4, "bf16"));
  const auto alone = score_arms(kTwoArms, {.measured = file.path(), .threads = 1});
  const auto many = score_arms(kTwoArms, {.measured = file.path(), .threads = 4});
  ASSERT_TRUE(alone && many);
  ASSERT_EQ(alone->size(), many->size());
  for (std::size_t i = 0; i < alone->size(); ++i) {
    EXPECT_EQ((*alone)[i].predicted, (*many)[i].predicted);
  }
}

TEST(MeasuredArms, RefuseAFileOfWhichNothingCounts) {
  const MeasuredFile file(record("c", 4, "fp8"));
  const auto runs = score_arms(kTwoArms, {.measured = file.path()});
  ASSERT_FALSE(runs);
  EXPECT_EQ(runs.error().front().field, "--measured");
  EXPECT_THAT(runs.error().front().message, testing::HasSubstr("none of 1 records"));
}

}  // namespace
}  // namespace ridgeline::studies
