#include "lab/studies/study_file.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

using testing::HasSubstr;

constexpr const char* kSmall = R"(
study: small
title: a title
claim: a claim
refuted_if: it is not so
held_fixed: everything
fixed: {model: llama-2-7b, gpu: h200}
arms:
  one: {latency: v1}
  two: {latency: v1, set: {TOverheadMicros: 900.0}}
let:
  us(arm, batch): "step(arm, decodes=[100] * batch).us"
tables:
  steps:
    grid: {batch: [1, 2, 3]}
    where: batch != 2
    let: {gap: 'us("two", batch) - us("one", batch)'}
    columns: {batch: batch, gap: gap}
  mixed:
  - columns: {what: '"a"'}
  - rows: '[{"what": "b"}, {"what": gpu}]'
effects:
  the overhead:
    grid: {batch: [1, 3]}
    baseline: us("one", batch)
    treatment: us("two", batch)
checks:
- {check: "{len(steps)} rows", holds: len(steps) == 2}
verdict: '"refuted" if steps[0].gap > 1000 else "confirmed"'
because: the gap is {steps[0].gap} us
finding: "on {gpu} for {model}"
)";

core::Result<Study> read(const std::string& text) {
  const auto document = document::parse_yaml(text, "small.yaml");
  return document ? read_study(*document) : core::fail(document.error());
}

/// The message of the only problem of a file in which `from` is replaced.
std::string problem_of(const std::string& from, const std::string& to) {
  std::string text = kSmall;
  text.replace(text.find(from), from.size(), to);
  const auto study = read(text);
  if (study) {
    const auto report = run_study(*study, {});
    return report ? "none" : core::to_string(report.error().front());
  }
  return study.error().size() == 1 ? core::to_string(study.error().front())
                                   : "several, the first: " + core::to_string(study.error()[0]);
}

TEST(StudyFile, TablesEffectsChecksAndTexts) {
  const auto study = read(kSmall);
  ASSERT_TRUE(study) << core::to_string(study.error().front());
  EXPECT_FALSE(study->needs_tables);
  const auto report = run_study(*study, {});
  ASSERT_TRUE(report) << core::to_string(report.error().front());
  const Outcome& out = report->outcome;
  ASSERT_EQ(out.tables.size(), 3U);
  ASSERT_EQ(out.tables[0].rows.size(), 2U);
  EXPECT_EQ(out.tables[0].rows[1].find("batch")->as_integer(), 3);
  EXPECT_EQ(out.tables[0].rows[1].find("gap")->as_integer(), 481);
  EXPECT_EQ(out.tables[1].rows[2].find("what")->as_string(), "h200");
  EXPECT_EQ(out.tables[2].rows[0].find("check")->as_string(), "2 rows");
  EXPECT_TRUE(out.checks_hold);
  EXPECT_EQ(out.effects[0].values.size(), 2U);
  EXPECT_EQ(out.by_rule, Verdict::kConfirmed);
  EXPECT_EQ(out.because, "the gap is 400 us");
  EXPECT_EQ(out.finding, "on h200 for llama-2-7b");
  EXPECT_EQ(report->differences.rows.size(), 1U);
}

TEST(StudyFile, AnotherNetworkAndGpuTakeTheirPlace) {
  const auto moved = elsewhere(read(kSmall).value(), "llama-3.1-8b", "a100-80gb");
  ASSERT_TRUE(moved);
  const auto report = run_study(*moved, {});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome.finding, "on a100-80gb for llama-3.1-8b");
  EXPECT_THAT(moved->held_fixed, HasSubstr("Run here for llama-3.1-8b on a100-80gb."));
  EXPECT_FALSE(elsewhere(Study{}, "", "h200"));
}

TEST(StudyFile, EachProblemIsALineWithItsPlace) {
  EXPECT_EQ(problem_of("claim: a", "clame: a"),
            "several, the first: small.yaml:2:1: claim: is missing, expected text");
  EXPECT_THAT(problem_of("latency: v1}", "latency: v9}"),
              HasSubstr("arms.one.latency: found 'v9', which is no step-time model"));
  EXPECT_THAT(problem_of("columns: {batch: batch, gap", "columns: {batch: bach, gap"),
              HasSubstr("tables.steps.columns.batch: 'bach' stands for nothing here in 'bach' (did "
                        "you mean 'batch'?"));
  EXPECT_THAT(problem_of("us(\"one\", batch)'", "us(\"eins\", batch)'"),
              HasSubstr("step(): found \"eins\", expected an arm of the study: \"one\", \"two\""));
  EXPECT_THAT(problem_of("decodes=[100]", "decodes=[batch * 1.5]"),
              HasSubstr("found 1.5 as a decode, expected its context in tokens"));
  EXPECT_THAT(problem_of("gpu: h200", "gpu: h2000"),
              HasSubstr("step(): gpu: \"h2000\" is neither a GPU"));
  EXPECT_THAT(problem_of("\"refuted\" if", "\"refused\" if"), HasSubstr("none"));
  EXPECT_THAT(problem_of("else \"confirmed\"", "else \"sure\""),
              HasSubstr("verdict: found \"sure\", expected \"confirmed\""));
  EXPECT_THAT(problem_of("holds: len(steps) == 2", "holds: len(steps)"),
              HasSubstr("checks[0].holds: found 2, expected true or false"));
  EXPECT_THAT(problem_of("  mixed:", "  us:"),
              HasSubstr("tables.us: found a table and a definition of this name"));
}

TEST(StudyFile, ACheckThatFailsIsKept) {
  std::string text = kSmall;
  text.replace(text.find("== 2}"), 5, "== 3}");
  EXPECT_FALSE(run_study(read(text).value(), {})->outcome.checks_hold);
}

TEST(StudyFile, TheStubIsAStudy) {
  const std::string text = study_stub("mine");
  const auto study = read(text);
  ASSERT_TRUE(study) << core::to_string(study.error().front());
  EXPECT_EQ(study->id, "mine");
  const auto report = run_study(*study, {});
  ASSERT_TRUE(report) << core::to_string(report.error().front());
  EXPECT_TRUE(report->outcome.checks_hold);
}

}  // namespace
}  // namespace ridgeline::studies
