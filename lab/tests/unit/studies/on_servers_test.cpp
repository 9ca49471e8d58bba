#include "lab/studies/on_servers.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/study.hpp"
#include "lab/tests/unit/studies/servers_file.hpp"

namespace ridgeline::studies {
namespace {

using fixtures::MeasuredFile;
using fixtures::record;
using testing::HasSubstr;

const std::vector<Change> kChange = {{.name = "gains", .arms = {.baseline = 0, .treatment = 1}}};

/// Arms whose host takes so many microseconds a step.
Study arms_of(double before, double after) {
  Study study;
  study.arms = {
      {.name = "before", .preset = "v1", .settings = {setting("TOverheadMicros", before)}},
      {.name = "after", .preset = "v1", .settings = {setting("TOverheadMicros", after)}}};
  return study;
}

std::string servers(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += record("server " + std::to_string(i), 1 + i % 4);
  }
  return text;
}

Outcome judged(const Study& study, const std::string& file) {
  const StudyOptions options{.measured = file, .threads = 2};
  return judge_changes(Lab(study, options), kChange, {.published = "Elsewhere 1 to 2 %."}).value();
}

// Llama-2-7B takes some 6 ms a step: the nearer the host's part comes to 4 ms, the better.
TEST(OnServers, TheVerdictFollowsTheGain) {
  const MeasuredFile file(servers(10));
  const Outcome better = judged(arms_of(0.0, 3000.0), file.path());
  EXPECT_EQ(better.by_rule, Verdict::kConfirmed);
  EXPECT_THAT(better.because, HasSubstr("made, closed (10 runs)"));
  EXPECT_THAT(better.finding, HasSubstr("Elsewhere 1 to 2 %. Here, signed errors"));
  EXPECT_TRUE(better.skipped.empty());
  ASSERT_EQ(better.effects.size(), 1U);
  EXPECT_EQ(better.effects[0].values.size(), 10U);
  EXPECT_EQ(judged(arms_of(3000.0, 0.0), file.path()).by_rule, Verdict::kRefuted);
  EXPECT_EQ(judged(arms_of(3000.0, 3000.0), file.path()).by_rule, Verdict::kRefuted);
}

TEST(OnServers, FewRunsAndNoRunsDecideNothing) {
  const MeasuredFile file(servers(9));
  EXPECT_EQ(judged(arms_of(0.0, 3000.0), file.path()).by_rule, Verdict::kUndecided);
  const Outcome skipped = judged(arms_of(0.0, 3000.0), "");
  EXPECT_EQ(skipped.by_rule, Verdict::kUndecided);
  ASSERT_EQ(skipped.skipped.size(), 1U);
  EXPECT_EQ(skipped.skipped[0].needs, "--measured FILE");
}

TEST(OnServers, ASplitThatLosesTooMuchMakesItPartly) {
  // The servers of 64 clients were as fast as the network alone.
  std::string text = servers(12);
  const std::string was = "\"mean\": 10.0";
  for (const char* id : {"fast a", "fast b"}) {
    std::string fast = record(id, 64);
    fast.replace(fast.find(was), was.size(), "\"mean\": 5.0");
    text += fast;
  }
  const MeasuredFile file(text);
  const StudyOptions options{.measured = file.path(), .threads = 2};
  const Study study = arms_of(0.0, 3000.0);
  const Outcome outcome = judge_changes(Lab(study, options), kChange, {.most_loss = 5.0}).value();
  EXPECT_EQ(outcome.by_rule, Verdict::kPartlyConfirmed);
  EXPECT_THAT(outcome.because, HasSubstr("clients 64 of made, closed loses"));
}

}  // namespace
}  // namespace ridgeline::studies
