#include "lab/conform/agentx.hpp"

#include <string>

#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/conform/agentx_run.hpp"
#include "lab/conform/agentx_schedule.hpp"
#include "lab/conform/node_compare.hpp"

namespace ridgeline::conform {
namespace {

document::Node case_node(const std::string& text) {
  return *document::parse_json(text, "case.json");
}
Tolerance within_one(std::string_view) {
  return {.absolute = 1.0};
}

TEST(NodeCompare, WantsEveryRecordedKeyAndToleratesNumbers) {
  const auto recorded = case_node(R"({"a": 1, "b": [1, {"c": "x"}]})");
  EXPECT_FALSE(first_difference(
      recorded, case_node(R"({"a": 2, "b": [0.5, {"c": "x"}], "more": 1})"), "", within_one));
  EXPECT_EQ(
      first_difference(recorded, case_node(R"({"a": 2, "b": [1, {"c": "y"}]})"), "", within_one)
          ->where,
      "b[1].c");
  EXPECT_EQ(first_difference(recorded, case_node(R"({"b": []})"), "", within_one)->where, "a");
}

/// One trace of two turns from its start.
std::string schedule(const std::string& second_time, const std::string& more = "") {
  const std::string trace = R"({"id": "a", "models": ["m"], "block_size": 64,
    "hash_id_scope": "local", "requests": [
    {"t": 0, "type": "s", "model": "m", "in": 64, "out": 1, "hash_ids": [1], "api_time": 1.0},
    {"t": 3, "type": "s", "model": "m", "in": 128, "out": 2, "hash_ids": [1, 2], "api_time": 1.0}
    ]})";
  const std::string turn = R"("model": "m", "kind": "weka_main", "input_kind": null,
    "branches": [], "joins": [], "predecessors": [], "api_time_ms": 1000.0)";
  return R"({"case": "x", "title": "t", "kind": "schedule", "source": "made by hand", )" + more +
         R"("input": {"traces": [)" + trace +
         R"(], "options": {"scenario": "inferencex-agentx-mvp", "random_seed": 42,
    "system_idle_gap_cap_s": 10.0, "concurrency": 1, "benchmark_duration": 4.0,
    "trajectory_start_min_ratio": 0.0, "trajectory_start_max_ratio": 0.0,
    "warmup_requests_per_lane": null, "trace_idle_gap_cap_seconds": null,
    "benchmark_grace_period_s": 30.0}, "server": {"ttft_ms": 100, "itl_ms": 10, "errors": []}},
    "expected": {"conversations": [{"id": "a", "is_root": true, "depth": 0, "parent": null,
    "scope": "a", "branches": [], "turns": [
    {"timestamp_ms": 0.0, "delay_ms": null, "max_tokens": 1, "reset_context": false,
     "hit_blocks": 0, "total_blocks": 1, "delta": [["user", 64]], "in": 64, "hash_blocks": 1, )" +
         turn + R"(},
    {"timestamp_ms": 3000.0, "delay_ms": 2000.0, "max_tokens": 2, "reset_context": false,
     "hit_blocks": 1, "total_blocks": 2, "delta": [["user", 64]], "in": 128, "hash_blocks": 2, )" +
         turn + R"(}]}],
    "lanes": [{"lane": 0, "trace": "a", "start_turn_index": 0, "t_star_ms": 0.0, "states": [
    {"conversation": "a", "next_turn": 0, "offset_ms": 0.0, "depth": 0,
     "waiting_on_children": false, "join_turn": null, "warmup_turn": null}]}],
    "phases": {"profiling": {"start_ms": 0.0, "sending_complete_ms": 4000.0,
                             "complete_ms": 4000.0}},
    "requests": {"columns": ["n", "t_ms", "first_token_ms", "end_ms", "phase", "conversation",
    "turn", "session", "tree", "depth", "max_tokens", "in", "prompt_tokens", "marker",
    "shared_prefix_tokens", "shared_with", "outcome"], "rows": [
    [0, 0.0, 100.0, 100.0, "profiling", "a", 0, "S1", "S1", 0, 1, 64, 84, "M1", 0, null, "ok"],
    [1, )" +
         second_time + R"(, 2200.0, 2210.0, "profiling", "a", 1, "S1", "S1", 0, 2, 128, 148, "M1",
     64, 0, "ok"],
    [2, 2210.0, 2310.0, 2310.0, "profiling", "a", 0, "S2", "S2", 0, 1, 64, 84, "M2", 0, null,
     "ok"]]},
    "totals": {"requests": {"profiling": 3}, "profiling_in": 256, "profiling_out": 4}}})";
}

TEST(Agentx, ReplaysAScheduleAndFindsWhereItDiffers) {
  const auto equal = conform_agentx(case_node(schedule("2100.0")), "x.json");
  ASSERT_TRUE(equal);
  EXPECT_FALSE(equal->front().difference)
      << equal->front().difference->where << equal->front().difference->ours;
  const auto late = conform_agentx(case_node(schedule("2101.0")), "x.json");
  EXPECT_EQ(late->front().difference->where, "request 1: t_ms");
}

TEST(Agentx, ComputesARowAndFindsWhereItDiffers) {
  const auto row = [](const std::string& expected) {
    return conform_agentx(
        case_node(R"({"case": "m", "title": "t", "kind": "aggregate", "source": "made by hand",
        "input": {"environment": {"TP": "2"}, "profile_export_jsonl": [
        {"metadata": {"request_start_ns": 0, "request_end_ns": 1000000000}, "metrics": {
        "input_sequence_length": {"value": 100, "unit": "tokens"}}}], "profile_export_aiperf": {}},
        "expected": )" +
                  expected + "}"),
        "m.json");
  };
  EXPECT_FALSE(row(R"({"tp": 2, "request_metrics": {"throughput": {"per_gpu":
      {"input_tput_tps": 50.0}}}})")
                   ->front()
                   .difference);
  EXPECT_EQ(row(R"({"tp": 3})")->front().difference->where, "tp");
  EXPECT_EQ(row(R"({"unheard": 1})")->front().difference->where, "unheard");
}

TEST(Agentx, RefusesKeysThatItDoesNotRead) {
  EXPECT_TRUE(is_agentx(case_node(schedule("2100.0"))));
  EXPECT_FALSE(conform_agentx(case_node(schedule("2100.0", R"("colour": 1, )")), "x.json"));
}

}  // namespace
}  // namespace ridgeline::conform
