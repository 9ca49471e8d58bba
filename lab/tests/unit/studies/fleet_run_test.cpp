#include "lab/studies/fleet_run.hpp"

#include <gtest/gtest.h>

namespace ridgeline::studies {
namespace {

TEST(FleetRun, RunsWhatItsSettingsSay) {
  const auto summary = run_scenario(settings_of({{.path = "model", .text = "llama-3.1-8b"},
                                                 {.path = "gpu", .text = "h100"},
                                                 {.path = "workload.num_prompts", .text = "7"}},
                                                {{.path = "workload.max_concurrency", .text = "2"},
                                                 {.path = "workload.input_len", .text = "100"},
                                                 {.path = "workload.output_len", .text = "10"}}));
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->completed, 7);
  EXPECT_FALSE(run_scenario({{.path = "model", .text = "no-such-network"}}).has_value());
}

}  // namespace
}  // namespace ridgeline::studies
