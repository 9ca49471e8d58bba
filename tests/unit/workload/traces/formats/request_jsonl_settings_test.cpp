#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "workload/item.hpp"
#include "workload/traces/formats/request_jsonl.hpp"
#include "workload/traces/reading/fields.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

bool settings_from(const std::string& text, JsonlSettings& settings, core::Errors& errors) {
  const std::string file = "t";
  return read_jsonl_settings(TraceLine(text, file, 1, errors), settings);
}

std::string settings_problem(const std::string& text) {
  JsonlSettings settings;
  core::Errors errors;
  EXPECT_FALSE(settings_from(text, settings, errors)) << text;
  return errors.empty() ? "" : core::to_string(errors[0]);
}

TEST(JsonlSettings, AreReadWhole) {
  JsonlSettings settings;
  core::Errors errors;
  ASSERT_TRUE(settings_from(R"({"ridgeline_workload": 1, "groups": true, "waits": true, )"
                            R"("block_tokens": 16, "stages": [{"max_concurrency": 3, )"
                            R"("think_s": 0.5}, {"after_previous": true, "pause_s": 2}]})",
                            settings,
                            errors));
  EXPECT_TRUE(settings.groups);
  EXPECT_TRUE(settings.waits);
  EXPECT_EQ(settings.block_tokens.value(), 16);
  ASSERT_THAT(settings.stages, SizeIs(2));
  EXPECT_EQ(settings.stages[0],
            (Stage{.max_concurrency = 3, .think = core::Duration::milliseconds(500)}));
  EXPECT_EQ(settings.stages[1],
            (Stage{.after_previous = true, .pause = core::Duration::seconds(2)}));
}

TEST(JsonlSettings, AreOneStageWithoutLimitsUnlessTheySayMore) {
  JsonlSettings settings;
  core::Errors errors;
  ASSERT_TRUE(settings_from(R"({"ridgeline_workload": 1})", settings, errors));
  EXPECT_FALSE(settings.groups);
  EXPECT_EQ(settings.stages, std::vector<Stage>{Stage{}});
}

TEST(JsonlSettings, AreRefusedByName) {
  EXPECT_THAT(settings_problem(R"({"ridgeline_workload": 2})"),
              HasSubstr("ridgeline_workload: found \"2\""));
  EXPECT_THAT(settings_problem(R"({"ridgeline_workload": 1, "stage": []})"),
              HasSubstr("found the unknown name \"stage\""));
  EXPECT_THAT(settings_problem(R"({"ridgeline_workload": 1, "stages": []})"),
              HasSubstr("stages: found no stage, expected at least one"));
  EXPECT_THAT(settings_problem(R"({"ridgeline_workload": 1, "stages": [{"pause": 1}]})"),
              HasSubstr("expected max_concurrency, think_s, after_previous, pause_s"));
  EXPECT_THAT(settings_problem(R"({"ridgeline_workload": 1, "groups": 1})"),
              HasSubstr("groups: found"));
}

}  // namespace
}  // namespace ridgeline::workload
