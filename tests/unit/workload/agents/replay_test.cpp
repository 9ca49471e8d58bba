#include "workload/agents/replay.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "workload/agents/chains.hpp"
#include "workload/agents/conversations.hpp"
#include "workload/agents/messages.hpp"
#include "workload/agents/options.hpp"
#include "workload/agents/play.hpp"
#include "workload/agents/prompt_tree.hpp"
#include "workload/agents/start_point.hpp"
#include "workload/agents/trace.hpp"
#include "workload/traces/reading/fields.hpp"

namespace ridgeline::workload::agents {
namespace {

std::optional<Trace> read(const std::string& text, core::Errors& errors) {
  const std::string file = "traces.jsonl";
  return read_trace(TraceLine(text, file, 1, errors));
}
SessionTree tree_of(const std::string& requests) {
  core::Errors errors;
  const auto trace = read(
      R"({"id": "a", "models": ["m"], "block_size": 64, "hash_id_scope": "local", "requests": [)" +
          requests + "]}",
      errors);
  EXPECT_TRUE(errors.empty()) << (errors.empty() ? "" : errors.front().message);
  auto tree = conversations_of(*trace);
  EXPECT_TRUE(tree.has_value());
  return *tree;
}
std::string request(double t, int in, int out, int blocks, int first = 1, double api = 1.0) {
  std::string ids;
  for (int i = 0; i < blocks; ++i) {
    ids += (i == 0 ? "" : ",") + std::to_string(first + i);
  }
  return R"({"t": )" + std::to_string(t) + R"(, "type": "s", "model": "m", "in": )" +
         std::to_string(in) + R"(, "out": )" + std::to_string(out) + R"(, "hash_ids": [)" + ids +
         R"(], "api_time": )" + std::to_string(api) + "}";
}
std::string linear(int turns) {
  std::string all;
  for (int i = 0; i < turns; ++i) {
    all += (i == 0 ? "" : ",") + request(4.0 * i, 200 + 192 * i, 10 + i, 3 * (i + 1));
  }
  return all;
}
/// A sub-agent that runs between the second and the third request of the main agent.
std::string with_sub_agent(int duration_ms) {
  return request(0, 200, 10, 3) + "," + request(4, 392, 30, 6, 1, 2) +
         R"(,{"t": 6.5, "type": "subagent", "agent_id": "x", "subagent_type": "Explore",
             "status": "completed", "models": [], "duration_ms": )" +
         std::to_string(duration_ms) + R"(, "requests": [)" + request(7, 150, 20, 2, 101) + "," +
         request(9, 300, 10, 4, 101) + "]}," + request(16, 584, 12, 9) + "," +
         request(20, 776, 9, 12);
}

struct Row {
  double time = 0.0;
  std::string conversation;
  std::int32_t turn = 0;
  friend bool operator==(const Row&, const Row&) = default;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.time << " " << row.conversation << " " << row.turn;
}

/// The first requests against a server whose first token comes after 100 ms, each other one 10 ms
/// later.
std::vector<Row> served(const std::vector<SessionTree>& trees,
                        const ReplayOptions& options,
                        std::size_t count) {
  Replay replay(trees, options);
  std::vector<std::pair<core::SimTime, std::uint32_t>> ends;
  std::vector<Row> rows;
  while (rows.size() < count) {
    const auto next = replay.next_time();
    const auto end = std::ranges::min_element(ends);
    if (end != ends.end() && (!next || end->first <= *next)) {
      const auto [time, number] = *end;
      ends.erase(end);
      replay.on_end(number, time, Outcome::kAnswered);
      continue;
    }
    if (!next) {
      break;
    }
    const Sent sent = replay.pop();
    ends.emplace_back(sent.time + core::Duration::milliseconds(100 + 10 * (sent.max_tokens - 1)),
                      static_cast<std::uint32_t>(rows.size()));
    rows.push_back(
        {.time = sent.time.since_start().to_milliseconds(),
         .conversation = trees[static_cast<std::size_t>(sent.tree)]
                             .conversations[static_cast<std::size_t>(sent.turn.conversation)]
                             .id,
         .turn = sent.turn.turn});
  }
  return rows;
}
ReplayOptions from_the_start() {
  ReplayOptions options = *scenario_options("inferencex-agentx-mvp");
  options.start_max_ratio = 0.0;
  return options;
}

TEST(AgentTraces, RefuseUnknownKeysAndOtherScopes) {
  core::Errors errors;
  EXPECT_FALSE(read(R"({"id": "a", "block_size": 64, "hash_id_scope": "global"})", errors));
  EXPECT_EQ(errors.front().field, "hash_id_scope");
  errors.clear();
  EXPECT_FALSE(read(R"({"id": "a", "colour": 1})", errors));
  EXPECT_EQ(errors.front().field, "colour");
  errors.clear();
  EXPECT_FALSE(
      read(R"({"id": "a", "block_size": 64, "requests": [{"type": "n", "t": 0}]})", errors));
  EXPECT_FALSE(errors.empty());
}

TEST(AgentTraces, FillTheWindowWithPromptAndAnswer) {
  core::Errors errors;
  const auto trace = read(R"({"id": "a", "block_size": 64, "requests": [)" + request(0, 500, 0, 0) +
                              "," + request(1, 100, 7, 0) + "]}",
                          errors);
  EXPECT_EQ(peak_context(*trace), 501);
  EXPECT_TRUE((Selection{.max_context_length = 501}.takes(*trace)));
  EXPECT_FALSE((Selection{.max_context_length = 500}.takes(*trace)));
}

TEST(AgentChains, GoOnFromAWholePromptOnly) {
  // A fork that starts while the first request still runs is another agent; a title is peeled off.
  core::Errors errors;
  const auto trace =
      read(R"({"id": "a", "block_size": 64, "requests": [)" + request(0, 100, 9, 1, 900) + "," +
               request(1, 20000, 10, 312, 1, 5) + "," + request(2, 20100, 5000, 314, 1, 5) + "," +
               request(8, 20200, 10, 315) + "]}",
           errors);
  std::vector<Placed> all;
  for (const TraceRequest& one : trace->requests) {
    all.push_back({.place = static_cast<std::int64_t>(all.size()), .request = &one});
  }
  const auto chains = chains_of(all);
  ASSERT_EQ(chains.size(), 2U);
  EXPECT_EQ(chains[0].requests.size(), 2U);
  EXPECT_EQ(chains[0].num_peeled, 1U);
  EXPECT_EQ(chains[1].suffix, "fa:000");
  EXPECT_EQ(chains[1].requests.size(), 2U);
  EXPECT_EQ(common_blocks({1, 2, 3}, {1, 2, 4, 5}), 2U);
}

TEST(AgentChains, KeepTheOrderOfTimeBehindATitle) {
  // The request without blocks is put on the main chain before the context edit is.
  core::Errors errors;
  const auto trace = read(R"({"id": "a", "block_size": 64, "requests": [)" +
                              request(0, 64, 9, 1, 900) + "," + request(1, 256, 9, 4) + "," +
                              request(3, 128, 9, 2) + "," + request(5, 100, 9, 0) + "]}",
                          errors);
  std::vector<Placed> all;
  for (const TraceRequest& one : trace->requests) {
    all.push_back({.place = static_cast<std::int64_t>(all.size()), .request = &one});
  }
  // A sub-agent of another network keeps the list from being a single chain.
  TraceRequest other = trace->requests[1];
  other.model = 1;
  all.push_back({.place = 4, .request = &other});
  const auto chains = chains_of(all);
  ASSERT_EQ(chains.size(), 2U);
  std::vector<std::int64_t> places;
  for (const Placed& one : chains[0].requests) {
    places.push_back(one.place);
  }
  EXPECT_EQ(places, (std::vector<std::int64_t>{0, 1, 2, 3}));
}

TEST(AgentPrompts, ShareTheRunsThatTheyBeginWith) {
  PromptTree tree;
  const PromptEnd one = tree.add({1, 2, 3, 4}, 4);
  const PromptEnd longer = tree.add({1, 2, 3, 4, 5, 6}, 6);
  const PromptEnd other = tree.add({1, 2, 9}, 3);
  const PromptEnd shorter = tree.add({1, 2, 9}, 1);
  tree.close();
  EXPECT_EQ(tree.size(longer), 6);
  EXPECT_EQ(tree.common(one, longer), 4);
  EXPECT_EQ(tree.common(longer, other), 2);
  EXPECT_EQ(tree.common(shorter, other), 1);
  EXPECT_EQ(tree.path(other).size(), 2U);
  EXPECT_EQ(tree.path(other).front(), (PromptEnd{.run = 0, .blocks = 2}));
}

TEST(AgentMessages, GiveTheAnswerItsBlocks) {
  core::Errors errors;
  const auto trace =
      read(R"({"id": "a", "block_size": 64, "requests": [)" + request(0, 320, 10, 5) + "," +
               request(3, 520, 100, 8) + "," + request(6, 256, 1, 4) + "]}",
           errors);
  std::vector<Placed> all;
  for (const TraceRequest& one : trace->requests) {
    all.push_back({.place = static_cast<std::int64_t>(all.size()), .request = &one});
  }
  const auto turns = messages_of(all, 64, 0);
  using Role = Message::Role;
  EXPECT_FALSE(turns[1].is_reset);
  EXPECT_EQ(turns[1].messages,
            (std::vector<Message>{{.role = Role::kAssistant, .tokens = 64},
                                  {.role = Role::kUser, .tokens = 136}}));
  EXPECT_TRUE(turns[2].is_reset);
  EXPECT_EQ(turns[2].messages, (std::vector<Message>{{.role = Role::kUser, .tokens = 256}}));
}

TEST(AgentConversations, SpawnAndJoinSubAgents) {
  const SessionTree joined = tree_of(with_sub_agent(7000));
  ASSERT_EQ(joined.conversations.size(), 2U);
  EXPECT_EQ(joined.conversations[1].id, "a::sa:x");
  const Branch& branch = joined.conversations[0].branches.at(0);
  EXPECT_EQ(branch.spawn_turn, 1);
  EXPECT_EQ(branch.join_turn, 2);
  EXPECT_EQ(joined.conversations[0].turns[2].hit_blocks, 6);
  EXPECT_FALSE(tree_of(with_sub_agent(60000)).conversations[0].branches[0].join_turn);
}

TEST(AgentStartPoints, AreThoseOfNumPysGenerator) {
  const SessionTree tree = tree_of(linear(8));
  const StartPoint first = start_point(tree, 42, 0, 0.0, 1.0);
  EXPECT_NEAR(first.milliseconds, 8714.040316145734, 1e-9);
  EXPECT_NEAR(start_point(tree, 42, 1, 0.0, 1.0).milliseconds, 9395.390806274141, 1e-9);
  ASSERT_EQ(first.streams.size(), 1U);
  EXPECT_EQ(first.streams[0].next_turn, 3);
  EXPECT_EQ(first.done, std::vector<std::int32_t>{3});
}

TEST(AgentReplay, WarmsUpFromTheTurnBeforeTheStartPoint) {
  ReplayOptions options = *scenario_options("inferencex-agentx-mvp");
  const auto rows = served({tree_of(linear(8))}, options, 7);
  const std::vector<Row> expected = {{0, "a", 2},
                                     {100, "a", 3},
                                     {3320, "a", 4},
                                     {6550, "a", 5},
                                     {9790, "a", 6},
                                     {13040, "a", 7},
                                     {13300, "a", 0}};
  EXPECT_EQ(rows, expected);
}

TEST(AgentReplay, WaitsForSubAgentsAndTheirTime) {
  const auto rows = served({tree_of(with_sub_agent(7000))}, from_the_start(), 7);
  const std::vector<Row> expected = {{0, "a", 0},
                                     {3190, "a", 1},
                                     {4080, "a::sa:x", 0},
                                     {5370, "a::sa:x", 1},
                                     {13580, "a", 2},
                                     {16790, "a", 3},
                                     {16970, "a", 0}};
  EXPECT_EQ(rows, expected);
}

TEST(AgentReplay, CapsIdleTimeOfATreeAndOfAll) {
  ReplayOptions options = from_the_start();
  const std::vector<SessionTree> trees = {
      tree_of(request(0, 200, 10, 3) + "," + request(100, 392, 10, 6))};
  EXPECT_EQ(served(trees, options, 2)[1].time, 10190);
  options.system_idle_cap.reset();
  EXPECT_EQ(served(trees, options, 2)[1].time, 99190);
  options.tree_idle_cap = core::Duration::seconds(5);
  EXPECT_EQ(served(trees, options, 2)[1].time, 5190);
}

TEST(AgentReplay, SendsTheQuotaOfEachLaneWithoutThinkTime) {
  ReplayOptions options = *scenario_options("agentx");
  options.warmup_requests_per_lane = 2;
  options.concurrency = 2;
  const std::vector<SessionTree> trees = {tree_of(linear(8))};
  Replay replay(trees, options);
  const auto rows = served(trees, options, 8);
  EXPECT_NEAR(rows[5].time, 540.675, 0.001);
  EXPECT_NEAR(rows[6].time, 740.675, 0.001);
  EXPECT_NEAR(rows[7].time, 1081.35, 0.001);
}

TEST(AgentPlays, SayWhenTheySendNext) {
  const SessionTree tree = tree_of(with_sub_agent(7000));
  Play play(tree, 0, 0, 0.0);
  std::uint32_t sessions = 0;
  play.open(start_point(tree, 42, 0, 0.5, 0.5), sessions);
  EXPECT_EQ(play.states().size(), 1U);
  EXPECT_EQ(play.states().front().next_turn, 2);
  const auto due = core::SimTime::at(core::Duration::seconds(9));
  play.timers.push_back({.due = due, .turn = {.conversation = 0, .turn = 2}});
  EXPECT_EQ(play.next_send(true), due);
  play.idle_alarm = core::SimTime::at(core::Duration::seconds(4));
  EXPECT_EQ(play.next_send(true), play.idle_alarm);
  play.in_flight = 1;
  EXPECT_EQ(play.next_send(true), due);
  EXPECT_EQ(play.shift({}, core::Duration::seconds(5)), core::Duration::seconds(5));
  EXPECT_EQ(play.earliest_timer(), core::SimTime::at(core::Duration::seconds(4)));
}

TEST(AgentReplay, EndsAtAFailureOfTheWarmUp) {
  const std::vector<SessionTree> trees = {tree_of(linear(8))};
  Replay replay(trees, *scenario_options("inferencex-agentx-mvp"));
  ASSERT_TRUE(replay.next_time());
  static_cast<void>(replay.pop());
  replay.on_end(0, core::SimTime::at(core::Duration::seconds(1)), Outcome::kFailed);
  EXPECT_TRUE(replay.aborted());
  EXPECT_FALSE(replay.next_time());
}

TEST(AgentReplay, KnowsTheErrorsOfAFullContext) {
  EXPECT_TRUE(is_context_overflow("This model's Maximum Context length is 100 tokens"));
  EXPECT_FALSE(is_context_overflow("HTTP 500 internal"));
  EXPECT_FALSE(scenario_options("other"));
}

}  // namespace
}  // namespace ridgeline::workload::agents
