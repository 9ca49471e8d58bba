// Running a study: what the harness adds to a study's own outcome (study.hpp, run_study).
#include <set>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

using testing::HasSubstr;

core::Result<Outcome> two_models(const Lab& lab) {
  const auto one = lab.subject("one");
  const auto two = lab.subject("two");
  if (!one || !two) {
    return core::fail(!one ? one.error() : two.error());
  }
  const Requests step{.decodes = {100, 200}, .prefills = {{0, 300}}};
  Outcome out;
  out.effects.push_back({.name = "a change",
                         .values = {{static_cast<double>((*one)->step_us(step)),
                                     static_cast<double>((*two)->step_us(step))}}});
  out.by_rule = Verdict::kConfirmed;
  return out;
}

Study small_study(double overhead, Reference reference) {
  Study study;
  study.id = "small";
  study.claim = "a claim";
  study.arms = {
      {.name = "one", .preset = "v1"},
      {.name = "two", .preset = "v1", .settings = {setting("TOverheadMicros", overhead)}}};
  study.reference = reference;
  study.needs_tables = false;
  study.run = two_models;
  return study;
}

TEST(Harness, SaysInWhatTheArmsDiffer) {
  const Study study = small_study(900.0, Reference::kArithmetic);
  const auto report = run_study(study, {});
  ASSERT_TRUE(report);
  ASSERT_EQ(report->differences.rows.size(), 1U);
  const document::Node& row = report->differences.rows.front();
  EXPECT_EQ(row.find("setting")->as_string(), "TOverheadMicros");
  EXPECT_EQ(row.find("one")->as_string(), "500");
  EXPECT_EQ(row.find("two")->as_string(), "900");
  EXPECT_TRUE(report->warnings.empty());
}

TEST(Harness, WarnsOfCirclesAndOfEffectsThatVanish) {
  // 1 us of some 8,000 is 0.01 %.
  const Study study = small_study(501.0, Reference::kModel);
  const auto report = run_study(study, {});
  ASSERT_TRUE(report);
  ASSERT_EQ(report->warnings.size(), 2U);
  EXPECT_EQ(report->warnings[0].code, "W-circular-reference");
  EXPECT_EQ(report->warnings[1].code, "W-vanishing-effect");
  EXPECT_THAT(report->warnings[1].message, HasSubstr("a change"));
}

TEST(Harness, AsksForTablesWhereAStudyNeedsThem) {
  const auto study = find_study("h28");
  ASSERT_TRUE(study);
  const auto report = run_study(**study, {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().front().field, "--bench-data");
}

TEST(Registry, StudiesHaveIdsAndSayWhatWouldRefuteThem) {
  std::set<std::string> ids;
  for (const Study& study : studies()) {
    EXPECT_TRUE(ids.insert(std::string(study.id)).second) << study.id;
    for (const auto& text : {study.title,
                             study.claim,
                             study.held_fixed,
                             study.refuted_if,
                             study.controls,
                             study.scope,
                             study.not_tested}) {
      EXPECT_FALSE(text.empty()) << study.id;
    }
    EXPECT_FALSE(study.arms.empty()) << study.id;
  }
  const auto unknown = find_study("h82");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().front().hint, HasSubstr("h28"));
}

}  // namespace
}  // namespace ridgeline::studies
