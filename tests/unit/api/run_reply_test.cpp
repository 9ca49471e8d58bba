#include "api/run_reply.hpp"

#include <string>

#include <gtest/gtest.h>

#include "api/call_document.hpp"
#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::api {
namespace {

Kept kept_of(const std::string& json, core::Errors& errors) {
  CallDocument document(*document::parse_json(json, ""));
  Kept kept = take_kept(document, errors);
  errors.insert(errors.end(), document.errors().begin(), document.errors().end());
  return kept;
}

TEST(RunReply, FiguresKeepSeriesAndDoNotShowThem) {
  core::Errors errors;
  const Kept figures = kept_of(R"({"keep": ["figures"]})", errors);
  EXPECT_TRUE(figures.series_windows.has_value());
  EXPECT_FALSE(figures.shows_series);
  const Kept series = kept_of(R"({"keep": ["series", "steps"], "series_buckets": 64})", errors);
  EXPECT_TRUE(series.shows_series);
  EXPECT_EQ(series.series_windows, 64U);
  EXPECT_TRUE(series.tables.steps);
  EXPECT_FALSE(kept_of("{}", errors).tables.any());
  EXPECT_TRUE(errors.empty());
}

TEST(RunReply, OtherWordsAndCountsAreErrors) {
  core::Errors errors;
  kept_of(R"({"keep": ["all"], "series_buckets": 3})", errors);
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[0].field, "keep");
  EXPECT_EQ(errors[1].field, "series_buckets");
}

}  // namespace
}  // namespace ridgeline::api
