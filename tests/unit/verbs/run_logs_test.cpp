#include "verbs/run_logs.hpp"

#include <algorithm>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/logs/request_log.hpp"
#include "sim/simulation.hpp"
#include "verbs/run.hpp"

namespace ridgeline::verbs {
namespace {

TEST(RunLogs, AreFedByARun) {
  const auto resolved = scenario::resolve(*scenario::read_scenario(
      *document::parse_json(
          R"({"model": "llama-3.1-8b", "gpu": "h100", "workload": {"request_rate": 1,)"
          R"( "input_len": 64, "output_len": 4, "num_prompts": 3}})",
          ""),
      {},
      scenario::Purpose::kRun));
  ASSERT_TRUE(resolved);
  auto source = resolved->workload.open();
  std::ostringstream requests;
  std::ostringstream steps;
  RunLogs logs;
  logs.log_requests(*resolved, **source, sim::RequestLogFormat::kJsonLines, requests);
  logs.log_steps(steps);
  logs.keep_caches(*resolved);
  logs.keep_trace({});
  logs.keep_clients();
  sim::RunControls controls;
  logs.listen(controls);
  const auto result = verbs::simulate(*resolved, **source, controls);
  ASSERT_TRUE(result);
  logs.end();
  const std::string rows = requests.str();
  EXPECT_EQ(std::ranges::count(rows, '\n'), 3);
  EXPECT_THAT(steps.str(), ::testing::HasSubstr("\"num_decodes\""));
  EXPECT_EQ(logs.caches()->state().instances.size(), 1U);
  EXPECT_FALSE(logs.trace()->cut());
  EXPECT_FALSE(logs.prompts());
  EXPECT_EQ(logs.seen_by_clients(*resolved, *result).results.rows().size(), 3U);
}

TEST(RunLogs, ListenToNothingUnlessAsked) {
  RunLogs logs;
  sim::RunControls controls;
  logs.listen(controls);
  EXPECT_EQ(controls.listener, nullptr);
  EXPECT_EQ(controls.steps, nullptr);
}

}  // namespace
}  // namespace ridgeline::verbs
