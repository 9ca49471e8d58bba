#include "api/file_calls.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "api/call.hpp"
#include "api/call_document.hpp"
#include "document/document.hpp"
#include "unit/api/scenarios.hpp"

namespace ridgeline::api {
namespace {

CallDocument files_document(const std::string& json) {
  return CallDocument(*document::parse_json(json, ""));
}

TEST(FileCalls, ATraceIsDescribedAndDrawn) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("file_calls_" + std::to_string(getpid()) + ".jsonl");
  std::ofstream(path) << R"({"arrival_s": 0, "input_tokens": 9, "output_tokens": 3})" << '\n'
                      << R"({"arrival_s": 1, "input_tokens": 9, "output_tokens": 3})" << '\n';
  CallDocument document = files_document(R"({"file": ")" + path.string() + R"("})");
  const auto reply = describe_trace(document);
  std::filesystem::remove(path);
  ASSERT_TRUE(reply);
  EXPECT_EQ(document::parse_json(reply->json, "")->find("requests")->as_integer(), 2);
  EXPECT_NE(reply->picture().find("<svg"), std::string::npos);
  EXPECT_TRUE(reply->report("table"));
  EXPECT_FALSE(reply->report("html"));
}

TEST(FileCalls, AResultInTheCallHasItsPageAndFigures) {
  const Reply run = call("run", small_scenario(20), Hooks());
  CallDocument document = files_document(R"({"result": )" + run.json + "}");
  const auto reply = load_result(document);
  ASSERT_TRUE(reply);
  EXPECT_NE(reply->report("html")->find("<!doctype html>"), std::string::npos);
  EXPECT_EQ(*reply->report("json"), run.json);
  EXPECT_FALSE(reply->report("table"));
}

TEST(FileCalls, WhatIsMissingIsNamed) {
  CallDocument nothing = files_document("{}");
  EXPECT_EQ(load_result(nothing).error().front().field, "file");
  CallDocument no_trace = files_document(R"({"block_size": -1})");
  EXPECT_EQ(describe_trace(no_trace).error().size(), 2U);
  CallDocument no_result = files_document(R"({"result": {"a": 1}})");
  EXPECT_FALSE(load_result(no_result));
}

}  // namespace
}  // namespace ridgeline::api
