// Decisions of vLLM's own scheduler, transcribed: tokens, queues and free blocks of each step. Each
// case was recorded from the genuine scheduler and KV cache manager of the versions it names, run
// on a CPU, and every token count and block count below was read from that record. Where the whole
// records are beside the checkout, conform_test.cpp compares block ids and statistics as well.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "engine/probe.hpp"
#include "engine/profiles.hpp"
#include "lab/conform/recording.hpp"
#include "lab/conform/replay.hpp"

namespace ridgeline::conform {
namespace {

/// A workload, and of each step "{tokens by request} [running] [waiting] free blocks", with the
/// free blocks after the step where a request ends in it.
struct TranscribedCase {
  std::string name;
  std::vector<std::string> versions;
  std::string cfg;
  std::string requests;
  std::vector<std::string> decisions;
};

const std::vector<TranscribedCase>& transcribed_cases() {
  // clang-format off
  static const std::vector<TranscribedCase> kCases = {
    {.name = "g01_chunked_basic",
     .versions = {"0.9.2", "0.11.0", "0.13", "0.15", "0.18", "0.20.1"},
     .cfg = R"({"num_blocks": 20, "block_size": 4, "max_num_seqs": 3, "max_num_batched_tokens": 16,
             "max_model_len": 64, "enable_prefix_caching": false, "reserve_full_isl": true})",
     .requests = R"([{"id": "A", "arrive_step": 0, "prompt": [[1, 10]], "max_tokens": 6},
             {"id": "B", "arrive_step": 0, "prompt": [[2, 10]], "max_tokens": 3},
             {"id": "C", "arrive_step": 1, "prompt": [[3, 20]], "max_tokens": 8},
             {"id": "D", "arrive_step": 2, "prompt": [[4, 5]], "max_tokens": 4}])",
     .decisions = {
         "{A:10 B:6} [A B] [] 14",
         "{A:1 B:4 C:11} [A B C] [] 10",
         "{A:1 B:1 C:9} [A B C] [D] 8",
         "{A:1 B:1 C:1} [A B C] [D] 6 ends 9",
         "{A:1 C:1 D:5} [A C D] [] 7",
         "{A:1 C:1 D:1} [A C D] [] 7 ends 11",
         "{C:1 D:1} [C D] [] 11",
         "{C:1 D:1} [C D] [] 10 ends 12",
         "{C:1} [C] [] 12",
         "{C:1} [C] [] 12 ends 19",
     }},
    {.name = "g03_preempt_fcfs",
     .versions = {"0.11.0", "0.13", "0.15", "0.18", "0.20.1"},
     .cfg = R"({"num_blocks": 11, "block_size": 4, "max_num_seqs": 8, "max_num_batched_tokens": 64,
             "max_model_len": 64, "enable_prefix_caching": false, "reserve_full_isl": true})",
     .requests = R"([{"id": "A", "arrive_step": 0, "prompt": [[1, 8]], "max_tokens": 12},
             {"id": "B", "arrive_step": 0, "prompt": [[2, 8]], "max_tokens": 12},
             {"id": "C", "arrive_step": 0, "prompt": [[3, 8]], "max_tokens": 12}])",
     .decisions = {
         "{A:8 B:8 C:8} [A B C] [] 4",
         "{A:1 B:1 C:1} [A B C] [] 1",
         "{A:1 B:1 C:1} [A B C] [] 1",
         "{A:1 B:1 C:1} [A B C] [] 1",
         "{A:1 B:1 C:1} [A B C] [] 1",
         "{A:1 B:1} [A B] [C] 2",
         "{A:1 B:1} [A B] [C] 2",
         "{A:1 B:1} [A B] [C] 2",
         "{A:1 B:1} [A B] [C] 2",
         "{A:1 B:1} [A B] [C] 0",
         "{A:1 B:1} [A B] [C] 0",
         "{A:1 B:1} [A B] [C] 0 ends 10",
         "{C:13} [C] [] 6",
         "{C:1} [C] [] 6",
         "{C:1} [C] [] 6",
         "{C:1} [C] [] 6",
         "{C:1} [C] [] 5",
         "{C:1} [C] [] 5",
         "{C:1} [C] [] 5 ends 10",
     }},
    {.name = "g07_priority_order",
     .versions = {"0.9.2", "0.11.0", "0.13", "0.15", "0.18", "0.20.1"},
     .cfg = R"({"num_blocks": 64, "block_size": 4, "max_num_seqs": 2, "max_num_batched_tokens": 64,
             "max_model_len": 64, "policy": "priority", "enable_prefix_caching": false,
             "reserve_full_isl": true})",
     .requests = R"([{"id": "a", "arrive_step": 0, "prompt": [[1, 6]], "max_tokens": 3, "priority": 2, "arrival_time": 0},
             {"id": "b", "arrive_step": 0, "prompt": [[2, 6]], "max_tokens": 3, "priority": 1, "arrival_time": 1},
             {"id": "c", "arrive_step": 0, "prompt": [[3, 6]], "max_tokens": 3, "priority": 1, "arrival_time": 0.5},
             {"id": "d", "arrive_step": 0, "prompt": [[4, 6]], "max_tokens": 3, "priority": 0, "arrival_time": 9},
             {"id": "e", "arrive_step": 2, "prompt": [[5, 6]], "max_tokens": 3, "priority": -1, "arrival_time": 10}])",
     .decisions = {
         "{d:6 c:6} [d c] [b a] 59",
         "{d:1 c:1} [d c] [b a] 59",
         "{d:1 c:1} [d c] [e b a] 59 ends 63",
         "{e:6 b:6} [e b] [a] 59",
         "{e:1 b:1} [e b] [a] 59",
         "{e:1 b:1} [e b] [a] 59 ends 63",
         "{a:6} [a] [] 61",
         "{a:1} [a] [] 61",
         "{a:1} [a] [] 61 ends 63",
     }},
    {.name = "g10_budget_smaller_than_running",
     .versions = {"0.9.2", "0.11.0", "0.13", "0.15", "0.18", "0.20.1"},
     .cfg = R"({"num_blocks": 64, "block_size": 4, "max_num_seqs": 8, "max_num_batched_tokens": 8,
             "max_model_len": 64, "enable_prefix_caching": false, "reserve_full_isl": true})",
     .requests = R"([{"id": "A", "arrive_step": 0, "prompt": [[1, 3]], "max_tokens": 6},
             {"id": "B", "arrive_step": 0, "prompt": [[2, 3]], "max_tokens": 6},
             {"id": "C", "arrive_step": 0, "prompt": [[3, 3]], "max_tokens": 6},
             {"id": "D", "arrive_step": 0, "prompt": [[4, 3]], "max_tokens": 6},
             {"id": "E", "arrive_step": 0, "prompt": [[5, 3]], "max_tokens": 6},
             {"id": "F", "arrive_step": 0, "prompt": [[6, 3]], "max_tokens": 6},
             {"id": "G", "arrive_step": 0, "prompt": [[7, 3]], "max_tokens": 6},
             {"id": "H", "arrive_step": 0, "prompt": [[8, 3]], "max_tokens": 6},
             {"id": "Z", "arrive_step": 1, "prompt": [[20, 12]], "max_tokens": 3}])",
     .decisions = {
         "{A:3 B:3 C:2} [A B C] [D E F G H] 60",
         "{A:1 B:1 C:1 D:3 E:2} [A B C D E] [F G H Z] 58",
         "{A:1 B:1 C:1 D:1 E:1 F:3} [A B C D E F] [G H Z] 55",
         "{A:1 B:1 C:1 D:1 E:1 F:1 G:2} [A B C D E F G] [H Z] 52",
         "{A:1 B:1 C:1 D:1 E:1 F:1 G:1 H:1} [A B C D E F G H] [Z] 49",
         "{A:1 B:1 C:1 D:1 E:1 F:1 G:1 H:1} [A B C D E F G H] [Z] 49 ends 53",
         "{C:1 D:1 E:1 F:1 G:1 H:1 Z:2} [C D E F G H Z] [] 51 ends 55",
         "{E:1 F:1 G:1 H:1 Z:4} [E F G H Z] [] 54 ends 58",
         "{G:1 H:1 Z:6} [G H Z] [] 56",
         "{G:1 H:1 Z:1} [G H Z] [] 55 ends 57",
         "{H:1 Z:1} [H Z] [] 57 ends 61",
         "{H:1} [H] [] 61 ends 63",
     }},
    {.name = "g15_prefix_lru_eviction",
     .versions = {"0.11.0", "0.13", "0.15", "0.18", "0.20.1"},
     .cfg = R"({"num_blocks": 11, "block_size": 4, "max_num_seqs": 1, "max_num_batched_tokens": 64,
             "max_model_len": 64, "enable_prefix_caching": true, "reserve_full_isl": true})",
     .requests = R"([{"id": "A", "arrive_step": 0, "prompt": [[1, 15]], "max_tokens": 2},
             {"id": "B", "arrive_step": 0, "prompt": [[2, 15]], "max_tokens": 2},
             {"id": "A2", "arrive_step": 0, "prompt": [[1, 15]], "max_tokens": 2},
             {"id": "C", "arrive_step": 0, "prompt": [[3, 15]], "max_tokens": 2},
             {"id": "B2", "arrive_step": 0, "prompt": [[2, 15]], "max_tokens": 2},
             {"id": "A3", "arrive_step": 0, "prompt": [[1, 15]], "max_tokens": 2}])",
     .decisions = {
         "{A:15} [A] [B A2 C B2 A3] 6",
         "{A:1} [A] [B A2 C B2 A3] 6 ends 10",
         "{B:15} [B] [A2 C B2 A3] 6",
         "{B:1} [B] [A2 C B2 A3] 6 ends 10",
         "{A2:3} [A2] [C B2 A3] 6",
         "{A2:1} [A2] [C B2 A3] 6 ends 10",
         "{C:15} [C] [B2 A3] 6",
         "{C:1} [C] [B2 A3] 6 ends 10",
         "{B2:7} [B2] [A3] 6",
         "{B2:1} [B2] [A3] 6 ends 10",
         "{A3:7} [A3] [] 6",
         "{A3:1} [A3] [] 6 ends 10",
     }},
    {.name = "g18_head_of_line_full_isl",
     .versions = {"0.11.0", "0.13", "0.15", "0.18"},
     .cfg = R"({"num_blocks": 13, "block_size": 4, "max_num_seqs": 8, "max_num_batched_tokens": 16,
             "max_model_len": 64, "enable_prefix_caching": false, "reserve_full_isl": true})",
     .requests = R"([{"id": "A", "arrive_step": 0, "prompt": [[1, 12]], "max_tokens": 14},
             {"id": "BIG", "arrive_step": 1, "prompt": [[2, 36]], "max_tokens": 2},
             {"id": "S", "arrive_step": 1, "prompt": [[3, 4]], "max_tokens": 2}])",
     .decisions = {
         "{A:12} [A] [] 9",
         "{A:1 BIG:15} [A BIG] [S] 4",
         "{A:1 BIG:15} [A BIG] [S] 0",
         "{A:1} [A] [BIG S] 8",
         "{A:1 BIG:15} [A BIG] [S] 4",
         "{A:1} [A] [BIG S] 7",
         "{A:1 BIG:15} [A BIG] [S] 3",
         "{A:1} [A] [BIG S] 7",
         "{A:1 BIG:15} [A BIG] [S] 3",
         "{A:1} [A] [BIG S] 6",
         "{A:1 BIG:15} [A BIG] [S] 2",
         "{A:1} [A] [BIG S] 6",
         "{A:1 BIG:15} [A BIG] [S] 2",
         "{A:1} [A] [BIG S] 5 ends 12",
         "{BIG:16} [BIG] [S] 8",
         "{BIG:16} [BIG] [S] 4",
         "{BIG:4 S:4} [BIG S] [] 2",
         "{BIG:1 S:1} [BIG S] [] 0 ends 12",
     }},
    {.name = "g18_head_of_line_full_isl",
     .versions = {"0.20.1"},
     .cfg = R"({"num_blocks": 13, "block_size": 4, "max_num_seqs": 8, "max_num_batched_tokens": 16,
             "max_model_len": 64, "enable_prefix_caching": false, "reserve_full_isl": true})",
     .requests = R"([{"id": "A", "arrive_step": 0, "prompt": [[1, 12]], "max_tokens": 14},
             {"id": "BIG", "arrive_step": 1, "prompt": [[2, 36]], "max_tokens": 2},
             {"id": "S", "arrive_step": 1, "prompt": [[3, 4]], "max_tokens": 2}])",
     .decisions = {
         "{A:12} [A] [] 9",
         "{A:1} [A] [BIG S] 8",
         "{A:1} [A] [BIG S] 8",
         "{A:1} [A] [BIG S] 8",
         "{A:1} [A] [BIG S] 8",
         "{A:1} [A] [BIG S] 7",
         "{A:1} [A] [BIG S] 7",
         "{A:1} [A] [BIG S] 7",
         "{A:1} [A] [BIG S] 7",
         "{A:1} [A] [BIG S] 6",
         "{A:1} [A] [BIG S] 6",
         "{A:1} [A] [BIG S] 6",
         "{A:1} [A] [BIG S] 6",
         "{A:1} [A] [BIG S] 5 ends 12",
         "{BIG:16} [BIG] [S] 8",
         "{BIG:16} [BIG] [S] 4",
         "{BIG:4 S:4} [BIG S] [] 2",
         "{BIG:1 S:1} [BIG S] [] 0 ends 12",
     }},
    {.name = "g20_watermark",
     .versions = {"0.27"},
     .cfg = R"({"num_blocks": 21, "block_size": 4, "max_num_seqs": 8, "max_num_batched_tokens": 64,
             "max_model_len": 64, "enable_prefix_caching": false, "watermark": 0.25,
             "reserve_full_isl": true})",
     .requests = R"([{"id": "A", "arrive_step": 0, "prompt": [[1, 28]], "max_tokens": 6},
             {"id": "B", "arrive_step": 0, "prompt": [[2, 24]], "max_tokens": 6},
             {"id": "C", "arrive_step": 0, "prompt": [[3, 10]], "max_tokens": 6},
             {"id": "D", "arrive_step": 2, "prompt": [[4, 10]], "max_tokens": 3}])",
     .decisions = {
         "{A:28 B:24} [A B] [C] 7",
         "{A:1 B:1} [A B] [C] 5",
         "{A:1 B:1} [A B] [C D] 5",
         "{A:1 B:1} [A B] [C D] 5",
         "{A:1 B:1} [A B] [C D] 5",
         "{A:1 B:1} [A B] [C D] 3 ends 20",
         "{C:10 D:10} [C D] [] 14",
         "{C:1 D:1} [C D] [] 14",
         "{C:1 D:1} [C D] [] 14 ends 17",
         "{C:1} [C] [] 16",
         "{C:1} [C] [] 16",
         "{C:1} [C] [] 16 ends 20",
     }},
    {.name = "g23_async_preempt",
     .versions = {"0.13", "0.15", "0.18", "0.20.1"},
     .cfg = R"({"num_blocks": 11, "block_size": 4, "max_num_seqs": 8, "max_num_batched_tokens": 64,
             "max_model_len": 64, "enable_prefix_caching": false, "async_scheduling": true,
             "reserve_full_isl": true})",
     .requests = R"([{"id": "A", "arrive_step": 0, "prompt": [[1, 8]], "max_tokens": 12},
             {"id": "B", "arrive_step": 0, "prompt": [[2, 8]], "max_tokens": 12},
             {"id": "C", "arrive_step": 0, "prompt": [[3, 8]], "max_tokens": 12}])",
     .decisions = {
         "{A:8 B:8 C:8} [A B C] [] 4",
         "{A:1 B:1 C:1} [A B C] [] 1",
         "{A:1 B:1 C:1} [A B C] [] 1",
         "{A:1 B:1 C:1} [A B C] [] 1",
         "{A:1 B:1 C:1} [A B C] [] 1",
         "{A:1 B:1} [A B] [C] 2",
         "{A:1 B:1} [A B] [C] 2",
         "{A:1 B:1} [A B] [C] 2",
         "{A:1 B:1} [A B] [C] 2",
         "{A:1 B:1} [A B] [C] 0",
         "{A:1 B:1} [A B] [C] 0",
         "{A:1 B:1} [A B] [C] 0",
         "ends 10",
         "{C:13} [C] [] 6",
         "{C:1} [C] [] 6",
         "{C:1} [C] [] 6",
         "{C:1} [C] [] 6",
         "{C:1} [C] [] 5",
         "{C:1} [C] [] 5",
         "{C:1} [C] [] 5",
         "ends 10",
     }},
    {.name = "g25_spec_sync_k3",
     .versions = {"0.11.0", "0.13", "0.15", "0.18", "0.20.1"},
     .cfg = R"({"num_blocks": 64, "block_size": 4, "max_num_seqs": 8, "max_num_batched_tokens": 32,
             "max_model_len": 64, "enable_prefix_caching": false, "num_spec": 3,
             "spec_method": "eagle", "reserve_full_isl": true})",
     .requests = R"([{"id": "A", "arrive_step": 0, "prompt": [[1, 10]], "max_tokens": 12},
             {"id": "B", "arrive_step": 0, "prompt": [[2, 12]], "max_tokens": 9},
             {"id": "C", "arrive_step": 2, "prompt": [[3, 30]], "max_tokens": 7}])",
     .decisions = {
         "{A:10 B:12} [A B] [] 57",
         "{A:4 B:4} [A B] [] 53",
         "{A:4 B:4 C:24} [A B C] [] 45",
         "{A:4 B:4 C:6} [A B C] [] 42",
         "{A:4 B:4 C:4} [A B C] [] 39 ends 46",
         "{A:4 C:4} [A C] [] 46 ends 53",
         "{C:4} [C] [] 53 ends 63",
     }},
  };
  // clang-format on
  return kCases;
}

Recording transcribed_recording(const TranscribedCase& given) {
  Recording recording;
  core::Errors errors;
  const auto cfg = document::parse_json(given.cfg, given.name);
  const auto requests = document::parse_json(given.requests, given.name);
  if (!cfg || !requests) {
    ADD_FAILURE() << given.name << ": no JSON";
    return recording;
  }
  recording.scenario = given.name;
  read_configuration(*cfg, recording, errors);
  read_requests(*requests, recording, errors);
  EXPECT_TRUE(errors.empty()) << given.name << ": " << core::to_string(errors.front());
  return recording;
}

/// The decisions of one record, written as above.
std::string decision_line(const Record& record) {
  std::string line;
  for (const std::string_view wanted :
       {"scheduled", "running", "waiting", "free_blocks", "free_blocks_after"}) {
    for (const auto& [key, value] : record) {
      if (key == wanted) {
        line += (line.empty() ? "" : " ") +
                (wanted == "free_blocks_after" ? "ends " + value.text : value.text);
      }
    }
  }
  return line;
}

std::vector<std::string> decisions_of(const Recording& recording,
                                      const engine::Profile& profile,
                                      engine::SchedulerProbe& probe) {
  std::vector<std::string> lines;
  for (const Record& record : Replay(recording, profile, probe, {}).run()) {
    lines.push_back(decision_line(record));
  }
  return lines;
}

TEST(TranscribedDecisions, BothTwinsDecideAsVllmDid) {
  for (const TranscribedCase& given : transcribed_cases()) {
    const Recording recording = transcribed_recording(given);
    for (const std::string& version : given.versions) {
      SCOPED_TRACE(given.name + ", vLLM " + version);
      const auto profile = engine::find_profile(version);
      ASSERT_TRUE(profile.has_value()) << core::to_string(profile.error().front());
      const auto plain = engine::make_reference_probe(options_for(recording, *profile));
      EXPECT_EQ(decisions_of(recording, *profile, *plain), given.decisions);
      const auto fast = engine::make_fast_probe(options_for(recording, *profile));
      EXPECT_EQ(decisions_of(recording, *profile, *fast), given.decisions);
    }
  }
}

}  // namespace
}  // namespace ridgeline::conform
