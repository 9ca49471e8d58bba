#include <cstddef>
#include <cstring>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/call.hpp"
#include "api/errors.hpp"
#include "core/check.hpp"
#include "document/document.hpp"
#include "ridgeline.h"
#include "support/paths.hpp"
#include "unit/api/scenarios.hpp"

namespace ridgeline::api {
namespace {

using testing::HasSubstr;

struct Called {
  int code = 0;
  std::string json;
};

Called ask(const char* verb, const std::string& json, const rl_hooks* hooks = nullptr) {
  rl_result* result = nullptr;
  Called answer;
  answer.code = rl_call(verb, json.data(), json.size(), hooks, &result);
  std::size_t n = 0;
  const char* text = rl_json(result, &n);
  EXPECT_EQ(std::strlen(text), n);
  answer.json.assign(text, n);
  rl_free(result);
  return answer;
}

document::Node tree_of(const Called& answer) {
  auto tree = document::parse_json(answer.json, "answer");
  EXPECT_TRUE(tree);
  return *tree;
}

TEST(CApi, EveryVerbAnswersInJson) {
  EXPECT_EQ(rl_abi(), RL_ABI);
  const Called run = ask("run", small_scenario(20));
  EXPECT_EQ(run.code, 0);
  EXPECT_EQ(tree_of(run).find("summary")->find("completed")->as_integer(), 20);
  EXPECT_EQ(ask("explain", R"({"model": "llama-3.1-8b", "gpu": "h100"})").code, 0);
  const Called step =
      ask("step", R"({"model": "llama-3.1-8b", "gpu": "h100", "decode": "700x32"})");
  EXPECT_EQ(step.code, 0);
  EXPECT_GT(tree_of(step).find("step_us")->as_real(), 0.0);
  EXPECT_GT(tree_of(ask("list", R"({"kind": "models"})")).items().size(), 10U);
  EXPECT_EQ(ask("schema", R"({"name": "scenario"})").code, 0);
}

/// The names that the header's comment on rl_figure quotes.
TEST(CApi, FiguresNamedInTheHeaderExist) {
  std::ifstream file(test::source_dir() / "include/ridgeline.h");
  std::stringstream text;
  text << file.rdbuf();
  const std::string header = text.str();
  const std::size_t begin = header.find("/* A figure as SVG:");
  ASSERT_NE(begin, std::string::npos);
  const std::string comment = header.substr(begin, header.find("without a name", begin) - begin);
  const std::string json = small_scenario(20);
  const std::string keep = json.substr(0, json.size() - 1) + R"(, "keep": ["figures"]})";
  rl_result* result = nullptr;
  ASSERT_EQ(rl_call("run", keep.data(), keep.size(), nullptr, &result), 0);
  const std::regex quoted("\"([a-z_-]+)\"");
  int names = 0;
  for (std::sregex_iterator i(comment.begin(), comment.end(), quoted), end; i != end; ++i) {
    EXPECT_NE(rl_figure(result, (*i)[1].str().c_str(), nullptr), nullptr) << (*i)[1];
    ++names;
  }
  EXPECT_GE(names, 2);
  rl_free(result);
}

TEST(CApi, WrongCallsAreErrorsWithTheirPlace) {
  const auto first = [](const Called& answer, const char* key) {
    EXPECT_EQ(answer.code, 2) << answer.json;
    return tree_of(answer).find("errors")->items().front().find(key)->as_string();
  };
  EXPECT_THAT(first(ask("runn", "{}"), "message"), HasSubstr("expected one of: run, replay"));
  EXPECT_EQ(first(ask("run", "{"), "code"), "usage");
  EXPECT_EQ(first(ask("run", "[]"), "message"), "found a list, expected a JSON object");
  EXPECT_THAT(first(ask("run", R"({"modell": 1})"), "hint"), HasSubstr("model"));
  EXPECT_EQ(first(ask("replay", small_scenario(1)), "code"), "usage");
  EXPECT_EQ(first(ask("step", R"({"decode": 3})"), "field"), "decode");
  EXPECT_EQ(first(ask("step", R"({"samples": 3})"), "field"), "samples");
  EXPECT_EQ(first(ask("step", R"({"compare": "v0"})"), "field"), "compare");
  EXPECT_EQ(first(ask("list", R"({"kind": "models", "x": 1})"), "field"), "x");
  EXPECT_EQ(first(ask("schema", "{}"), "field"), "name");
  const Called large = ask("explain", R"({"model": "llama-3.1-405b", "gpu": "l40s"})");
  EXPECT_EQ(large.code, 4);
  EXPECT_EQ(rl_call(nullptr, nullptr, 0, nullptr, nullptr), 2);
  EXPECT_STREQ(rl_json(nullptr, nullptr), "");
  rl_free(nullptr);
}

TEST(CApi, NoAnswersAreCodeFourWithAResult) {
  std::string json = small_scenario(3);
  json.insert(1, R"("engine": {"max_model_len": 64}, )");
  const Called answer = ask("run", json);
  EXPECT_EQ(answer.code, 4);
  EXPECT_EQ(tree_of(answer).find("summary")->find("completed")->as_integer(), 0);
}

/// What a host's hooks share.
struct Host {
  int interrupt = 0;
  int reports = 0;
  bool breaks = false;
};

void on_progress(void* user, const rl_progress* progress) {
  auto* host = static_cast<Host*>(user);
  EXPECT_EQ(progress->size, sizeof(rl_progress));
  EXPECT_EQ(progress->total, 1'000'000);
  ++host->reports;
  RIDGELINE_CHECK(!host->breaks, "a broken invariant");
  host->interrupt = 1;
}

TEST(CApi, AHostInterruptsAndSurvivesAFailedCheck) {
  Host host;
  rl_hooks hooks = {};
  hooks.size = sizeof(rl_hooks);
  hooks.user = &host;
  hooks.interrupt = &host.interrupt;
  hooks.progress = on_progress;
  const Called partial = ask("run", small_scenario(1'000'000), &hooks);
  EXPECT_EQ(partial.code, 130);
  EXPECT_TRUE(tree_of(partial).find("partial")->as_bool());
  EXPECT_GT(host.reports, 0);

  host = {.breaks = true};
  const Called broken = ask("run", small_scenario(1'000'000), &hooks);
  EXPECT_EQ(broken.code, 70);
  EXPECT_THAT(broken.json, HasSubstr("a broken invariant"));
  EXPECT_EQ(ask("run", small_scenario(5)).code, 0);
}

TEST(CApi, AnOlderHostHasFewerHooks) {
  Host host;
  rl_hooks hooks = {};
  hooks.size = offsetof(rl_hooks, progress);
  hooks.user = &host;
  hooks.interrupt = &host.interrupt;
  hooks.progress = on_progress;
  EXPECT_EQ(ask("run", small_scenario(5), &hooks).code, 0);
  EXPECT_EQ(host.reports, 0);
}

TEST(CApi, ThreadsDoNotDisturbEachOther) {
  const auto digest = [](const Called& answer) {
    return tree_of(answer).find("digest")->as_string();
  };
  const std::string alone = digest(ask("run", small_scenario(200)));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < 5; ++j) {
        if (i == 3) {
          EXPECT_EQ(ask("run", "{}").code, 2);
        } else {
          EXPECT_EQ(digest(ask("run", small_scenario(200))), alone);
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace
}  // namespace ridgeline::api
