#include "api/measured_calls.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/call.hpp"
#include "document/document.hpp"

namespace ridgeline::api {
namespace {

using testing::HasSubstr;

/// What one client of eight requests in a row measured: each time to first token 20 ms, each
/// further token 7 ms.
std::string bench_file() {
  const auto path = std::filesystem::path(testing::TempDir()) / "measured_calls.json";
  std::ofstream(path) << R"({"date": "d", "model_id": "llama-3.1-8b", "completed": 8,
    "max_concurrency": 1, "request_rate": "inf", "total_input_tokens": 1024,
    "total_output_tokens": 128, "mean_ttft_ms": 20.0, "median_ttft_ms": 20.0,
    "mean_tpot_ms": 7.0, "median_tpot_ms": 7.0, "mean_e2el_ms": 125.0,
    "input_lens": [128, 128, 128, 128, 128, 128, 128, 128],
    "output_lens": [16, 16, 16, 16, 16, 16, 16, 16]})";
  return path.string();
}

document::Node asked(const std::string& verb, const std::string& keys, int code) {
  const Reply reply = call(verb, "{\"files\": [\"" + bench_file() + "\"]" + keys + "}", {});
  EXPECT_EQ(reply.code, code) << reply.json;
  return document::parse_json(reply.json, "reply").value();
}

TEST(MeasuredCalls, ValidateScoresTheFiles) {
  const auto tree = asked("validate", R"(, "gpu": "h100", "threads": 2, "histories": 1)", 0);
  EXPECT_EQ(tree.find("counts")->find("records")->as_integer(), 1);
  EXPECT_EQ(tree.find("counts")->find("scored")->as_integer(), 1);
  // Keys of a scenario are what-ifs: a slower GPU is predicted slower.
  const auto error = [](const document::Node& validation) {
    return validation.find("scores")->items()[0].find("mean_signed_pct")->as_real();
  };
  const auto slower = asked("validate", R"(, "gpu": "l40s", "histories": 1)", 0);
  EXPECT_GT(error(slower), error(tree));
}

TEST(MeasuredCalls, CalibrateReturnsTheServerAsAScenario) {
  const auto tree =
      asked("calibrate", R"(, "gpu": "h100", "histories": 1, "fit": ["delivery_time"])", 0);
  EXPECT_EQ(tree.find("fitted")->items()[0].find("name")->as_string(), "delivery_time");
  EXPECT_TRUE(tree.find("scenario")->find("serving") != nullptr);
}

TEST(MeasuredCalls, AHostCanInterruptThem) {
  Hooks hooks;
  hooks.interrupted = [] { return true; };
  const std::string document =
      "{\"files\": [\"" + bench_file() + R"("], "gpu": "h100", "histories": 1000, "threads": 1})";
  const Reply validation = call("validate", document, hooks);
  EXPECT_EQ(validation.code, 130);
  EXPECT_THAT(validation.json, HasSubstr("interrupted before it was predicted"));
  const Reply calibration = call("calibrate", document, hooks);
  EXPECT_EQ(calibration.code, 130);
  EXPECT_THAT(calibration.json, HasSubstr("interrupted: nothing is calibrated"));
}

TEST(MeasuredCalls, WrongKeysAreErrorsInTheWordsOfADocument) {
  const auto first = [](const document::Node& tree, const char* key) {
    return tree.find("errors")->items()[0].find(key)->as_string();
  };
  EXPECT_EQ(first(asked("validate", R"(, "histories": 0)", 2), "field"), "histories");
  EXPECT_EQ(first(asked("validate", R"(, "engine": {"x": [1]})", 2), "field"), "engine.x");
  const Reply none = call("validate", "{}", {});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.json, HasSubstr("found no file"));
  EXPECT_THAT(none.json, testing::Not(HasSubstr("command line")));
}

}  // namespace
}  // namespace ridgeline::api
