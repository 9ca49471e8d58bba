#include "verbs/run.hpp"

#include <string>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "verbs/host.hpp"
#include "verbs/request.hpp"

namespace ridgeline::verbs {
namespace {

Kept kept_of(const std::string& json, core::Errors& errors) {
  Request request(*document::parse_json(json, ""));
  Kept kept = take_kept(request);
  errors.insert(errors.end(), request.errors().begin(), request.errors().end());
  return kept;
}

TEST(TakeKept, FiguresKeepSeriesAndDoNotShowThem) {
  core::Errors errors;
  const Kept figures = kept_of(R"({"keep": ["figures"]})", errors);
  EXPECT_TRUE(figures.series_windows.has_value());
  EXPECT_FALSE(figures.shows_series);
  const Kept series = kept_of(R"({"keep": ["series", "steps"], "series_buckets": 64})", errors);
  EXPECT_TRUE(series.shows_series);
  EXPECT_EQ(series.series_windows, 64U);
  EXPECT_TRUE(series.steps);
  EXPECT_FALSE(kept_of("{}", errors).any_rows());
  EXPECT_TRUE(errors.empty());
}

TEST(TakeKept, OtherWordsAndCountsAreErrors) {
  core::Errors errors;
  kept_of(R"({"keep": ["all"], "series_buckets": 3})", errors);
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_EQ(errors[0].field, "keep");
  EXPECT_EQ(errors[1].field, "series_buckets");
}

TEST(RunFor, AHostThatListensGetsTheResultOfSimulate) {
  const auto resolved = scenario::resolve(*scenario::read_scenario(
      *document::parse_json(
          R"({"model": "llama-3.1-8b", "gpu": "h100", "workload": {"request_rate": 1,)"
          R"( "input_len": 64, "output_len": 4, "num_prompts": 3}})",
          ""),
      {},
      scenario::Purpose::kRun));
  ASSERT_TRUE(resolved);
  Host host;
  const auto heard = run_for(host, *resolved, {}, {});
  auto source = resolved->workload.open();
  const auto alone = verbs::simulate(*resolved, **source, {});
  ASSERT_TRUE(heard && alone);
  EXPECT_EQ(heard->digest, alone->digest);
}

}  // namespace
}  // namespace ridgeline::verbs
