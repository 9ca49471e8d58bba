#include "api/call.hpp"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "ridgeline/ridgeline.hpp"
#include "unit/api/scenarios.hpp"

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
  const Answer reply = call(verb, "{\"files\": [\"" + bench_file() + "\"]" + keys + "}", {});
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
  const Answer validation = call("validate", document, hooks);
  EXPECT_EQ(validation.code, 130);
  EXPECT_THAT(validation.json, HasSubstr("interrupted before it was predicted"));
  const Answer calibration = call("calibrate", document, hooks);
  EXPECT_EQ(calibration.code, 130);
  EXPECT_THAT(calibration.json, HasSubstr("interrupted: nothing is calibrated"));
}

TEST(MeasuredCalls, WrongKeysAreErrorsInTheWordsOfADocument) {
  const auto first = [](const document::Node& tree, const char* key) {
    return tree.find("errors")->items()[0].find(key)->as_string();
  };
  EXPECT_EQ(first(asked("validate", R"(, "histories": 0)", 2), "field"), "histories");
  EXPECT_EQ(first(asked("validate", R"(, "engine": {"x": [1]})", 2), "field"), "engine.x");
  const Answer none = call("validate", "{}", {});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.json, HasSubstr("found no file"));
  EXPECT_THAT(none.json, testing::Not(HasSubstr("command line")));
}

constexpr const char* kScenario =
    R"("model": "llama-3.1-8b", "gpu": "h100", "workload": {"request_rate": 4, "input_len": 64,)"
    R"( "output_len": 8, "num_prompts": 20}, "jobs": 2)";

Answer search(const char* verb, const std::string& json, const Hooks& hooks = {}) {
  return call(verb, "{" + json + "}", hooks);
}

TEST(Searches, ASweepHasARowForEachPointAndIsHeardOf) {
  std::atomic<std::int64_t> last = 0;
  Hooks hooks;
  hooks.progress = [&](const Progress& progress) { last = progress.done; };
  const Answer answer = search(
      "sweep", std::string(kScenario) + R"(, "axes": {"engine.max_num_seqs": [1, 2, 4]})", hooks);
  EXPECT_EQ(answer.code, 0);
  const auto tree = *document::parse_json(answer.json, "");
  ASSERT_EQ(tree.find("points")->items().size(), 3U);
  EXPECT_EQ(
      tree.find("points")->items()[2].find("point")->find("engine.max_num_seqs")->as_integer(), 4);
  EXPECT_EQ(last, 3);
}

TEST(Searches, ASweepEndsWithTheCodeOfTheCommandLine) {
  const auto code_of = [](const char* axes) {
    return search("sweep", fmt::format("{}, \"axes\": {}", kScenario, axes)).code;
  };
  EXPECT_EQ(code_of(R"({"engine.tensor_parallel_size": [1, 3]})"), 1);  // 3 GPUs, 32 heads.
  EXPECT_EQ(code_of(R"({"model": ["llama-3.1-70b"], "gpu": ["h100"]})"), 4);
  EXPECT_EQ(code_of(R"({"model": ["llama-3.1-8b", "llama-3.1-70b"]})"), 0);
}

TEST(Searches, AnInterruptedSweepIsPartial) {
  Hooks hooks;
  hooks.interrupted = [] { return true; };
  const Answer answer = search(
      "sweep",
      std::string(R"("model": "llama-3.1-8b", "gpu": "h100", "workload": {"request_rate": 4,)"
                  R"( "input_len": 64, "output_len": 64, "num_prompts": 3000000}, "jobs": 1,)"
                  R"( "axes": {"engine.max_num_seqs": [2, 4]})"),
      hooks);
  EXPECT_EQ(answer.code, 130);
}

TEST(Searches, APlanNeedsATarget) {
  const auto field = [](const Answer& answer) {
    return document::parse_json(answer.json, "")
        ->find("errors")
        ->items()[0]
        .find("field")
        ->as_string();
  };
  EXPECT_EQ(field(search("plan", kScenario)), "slo");
  EXPECT_EQ(field(search("plan", R"("jobs": 0)")), "jobs");
}

TEST(FileCalls, ATraceIsDescribedAndDrawn) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("file_calls_" + std::to_string(getpid()) + ".jsonl");
  std::ofstream(path) << R"({"arrival_s": 0, "input_tokens": 9, "output_tokens": 3})" << '\n'
                      << R"({"arrival_s": 1, "input_tokens": 9, "output_tokens": 3})" << '\n';
  const Answer answer = call("trace", R"({"file": ")" + path.string() + R"("})", {});
  std::filesystem::remove(path);
  EXPECT_EQ(document::parse_json(answer.json, "")->find("requests")->as_integer(), 2);
  EXPECT_NE(answer.reply.artefacts.at("svg")().find("<svg"), std::string::npos);
  EXPECT_TRUE(answer.reply.text("table", {}));
  EXPECT_TRUE(answer.reply.text("html", {}));
  EXPECT_FALSE(answer.reply.text("picture", {}));
}

TEST(FileCalls, AResultInTheCallHasItsPageAndFigures) {
  const Answer run = call("run", small_scenario(20), {});
  const Answer answer = call("report", R"({"result": )" + run.json + "}", {});
  ASSERT_EQ(answer.code, 0) << answer.json;
  EXPECT_NE(answer.reply.text("html", {})->find("<!doctype html>"), std::string::npos);
  EXPECT_EQ(answer.json, run.json);
  EXPECT_EQ(answer.reply.text("table", {}), run.reply.text("table", {}));
}

TEST(FileCalls, WhatIsMissingIsNamed) {
  const auto errors = [](const char* verb, const char* json) {
    const Answer answer = call(verb, json, {});
    EXPECT_EQ(answer.code, 2);
    return document::parse_json(answer.json, "")->find("errors")->items();
  };
  EXPECT_EQ(errors("report", "{}").front().find("field")->as_string(), "file");
  EXPECT_EQ(errors("trace", R"({"block_size": -1})").size(), 2U);
  EXPECT_EQ(errors("report", R"({"result": {"a": 1}})").size(), 1U);
}

}  // namespace
}  // namespace ridgeline::api
