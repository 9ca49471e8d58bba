#include "sim/logs/agent_log.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "domain/record.hpp"
#include "metrics/agent_metrics.hpp"
#include "metrics/request_metrics.hpp"
#include "workload/agents/conversations.hpp"
#include "workload/agents/options.hpp"
#include "workload/agents/source.hpp"
#include "workload/agents/trace.hpp"
#include "workload/traces/reading/fields.hpp"

namespace ridgeline::sim {
namespace {

namespace agents = workload::agents;

TEST(AgentLog, RecordsWhatTheHarnessWould) {
  core::Errors errors;
  const std::string file = "a.jsonl";
  const auto trace = agents::read_trace(workload::TraceLine(
      R"({"id": "a", "block_size": 64, "requests": [
          {"t": 0, "type": "n", "model": "m", "in": 64, "out": 5, "hash_ids": [1]}]})",
      file,
      1,
      errors));
  agents::ReplayOptions options = *agents::scenario_options("inferencex-agentx-mvp");
  options.start_max_ratio = 0.0;
  std::vector<agents::SessionTree> trees;
  trees.push_back(*agents::conversations_of(*trace));
  agents::AgentSource source(std::move(trees), options);
  const auto request = source.pop();
  AgentLog log(source);
  domain::RequestRecord record;
  record.id = request.id;
  record.arrival = request.arrival;
  record.prompt_tokens = request.prompt_tokens;
  record.output_tokens = core::Tokens(5);
  metrics::RequestMetrics times;
  times.ttft = core::Duration::milliseconds(100);
  times.e2e = core::Duration::milliseconds(180);
  log.on_request(record, times);
  const auto line = document::parse_json(log.records_text(), "records");
  ASSERT_TRUE(line);
  const metrics::AgentRecord read = metrics::agent_record(*line, errors);
  EXPECT_TRUE(read.counts());
  EXPECT_EQ(read.conversation, "a");
  EXPECT_EQ(read.itl_ms, 20.0);
  EXPECT_EQ(read.end, 180'000'000);
}

}  // namespace
}  // namespace ridgeline::sim
