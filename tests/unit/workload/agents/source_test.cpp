#include "workload/agents/source.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"
#include "workload/agents/options.hpp"

namespace ridgeline::workload::agents {
namespace {

/// Two turns, the second of which begins with the first one's prompt.
std::string trace(const std::string& id, int system_tokens = 0) {
  return R"({"id": ")" + id + R"(", "block_size": 64, "system_tokens": )" +
         std::to_string(system_tokens) + R"(, "requests": [)" +
         R"({"t": 0, "type": "n", "model": "m", "in": 200, "out": 5, "hash_ids": [1, 2, 3]},)" +
         R"({"t": 2, "type": "n", "model": "m", "in": 300, "out": 5, "hash_ids": [1, 2, 3, 4]}]})";
}

class AgentFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) const {
    const auto path = folder_ / name;
    std::ofstream(path) << text;
    return path.string();
  }
  std::filesystem::path folder_;
};

TEST_F(AgentFiles, AreLinesAnObjectOrAFolder) {
  EXPECT_EQ(read_trees(write("a.jsonl", trace("x") + "\n" + trace("y") + "\n"), {})->size(), 2U);
  std::string spread = trace("z");
  spread.insert(1, "\n");
  write("b.json", spread);
  write("c.json", trace("w"));
  const auto trees = read_trees(folder_.string(), {});
  ASSERT_TRUE(trees) << trees.error().front().message;
  ASSERT_EQ(trees->size(), 2U);
  EXPECT_EQ(trees->front().id, "z");
}

TEST_F(AgentFiles, SayWhereTheyAreWrong) {
  const auto bad = read_trees(write("bad.jsonl", trace("x") + "\n{\"id\": 1}\n"), {});
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().front().where.line, 2);
  const auto none = read_trees(write("long.jsonl", trace("x")), {.max_context_length = 100});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().front().message.find("max_context_length"), std::string::npos);
}

TEST_F(AgentFiles, GiveRequestsThatShareTheirPlaysPrefix) {
  ReplayOptions options = *scenario_options("inferencex-agentx-mvp");
  options.start_max_ratio = 0.0;
  AgentSource source(*read_trees(write("a.jsonl", trace("x")), {}), options);
  EXPECT_EQ(*source.next_arrival(), core::SimTime());
  const domain::Request first = source.pop();
  EXPECT_EQ(first.prompt_tokens.value(), 200 + kMarkerTokens);
  EXPECT_EQ(first.prompt.size(), 2U);
  EXPECT_FALSE(source.next_arrival());
  source.on_completion(first.id, core::SimTime::at(core::Duration::seconds(1)));
  const domain::Request second = source.pop();
  EXPECT_EQ(second.arrival, core::SimTime::at(core::Duration::seconds(3)));
  EXPECT_EQ(second.prompt.size(), 3U);
  EXPECT_EQ(second.prompt[1], first.prompt[1]);
  EXPECT_EQ(second.session, first.session);
  source.on_completion(second.id, core::SimTime::at(core::Duration::seconds(4)));
  const domain::Request again = source.pop();
  EXPECT_NE(again.prompt[0], first.prompt[0]) << "another play has another marker";
  EXPECT_EQ(*source.measured_from(), core::SimTime());
}

TEST_F(AgentFiles, PutTheMarkerBehindADeclaredSystemMessage) {
  ReplayOptions options = *scenario_options("inferencex-agentx-mvp");
  options.start_max_ratio = 0.0;
  AgentSource source(*read_trees(write("a.jsonl", trace("x", 100)), {}), options);
  const domain::Request first = source.pop();
  ASSERT_EQ(first.prompt.size(), 3U);
  EXPECT_EQ(first.prompt[0].length.value(), 128);
  EXPECT_EQ(first.prompt[1].length.value(), kMarkerTokens);
  EXPECT_EQ(first.prompt[2].length.value(), 64);
}

}  // namespace
}  // namespace ridgeline::workload::agents
