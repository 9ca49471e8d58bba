#include "scenario/option_reader.hpp"

#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

/// Reads one option from a map into a scenario; the message of the problem, or nothing.
std::string read(std::string_view path, std::string_view yaml, Scenario& scenario) {
  core::Errors errors;
  const auto map = document::parse_yaml(yaml, "s.yaml");
  document::ObjectReader reader(*map, "engine", errors);
  const Option& option = *find_option(path);
  read_option(option, slot_of(option, scenario), reader, errors);
  return errors.empty() ? std::string() : errors.front().message;
}

TEST(OptionReader, PutsAValueIntoTheSectionOfItsOption) {
  Scenario scenario;
  EXPECT_EQ(read("engine.max_num_seqs", "{max_num_seqs: 64}", scenario), "");
  EXPECT_EQ(read("workload.think_time", "{think_time: 250ms}", scenario), "");
  EXPECT_EQ(read("seed", "{seed: 3}", scenario), "");
  EXPECT_EQ(scenario.deployment.engine.max_num_seqs, 64);
  EXPECT_EQ(scenario.workload.think_time, core::Duration::milliseconds(250));
  EXPECT_EQ(scenario.run.seed, 3);
}

TEST(OptionReader, TakesThousandsOfTokens) {
  Scenario scenario;
  EXPECT_EQ(read("engine.max_model_len", "{max_model_len: 16k}", scenario), "");
  EXPECT_EQ(scenario.deployment.engine.max_model_len, 16'000);
  EXPECT_EQ(read("engine.max_model_len", "{max_model_len: 8K}", scenario), "");
  EXPECT_EQ(scenario.deployment.engine.max_model_len, 8192);
  EXPECT_EQ(read("engine.max_model_len", "{max_model_len: 17M}", scenario),
            "17825792 is out of range, expected 1 to 16777216");
  EXPECT_EQ(read("engine.max_model_len", "{max_model_len: many}", scenario),
            "expected an integer, found \"many\"");
  EXPECT_EQ(read("engine.max_num_seqs", "{max_num_seqs: 1k}", scenario),
            "expected an integer, found \"1k\"")
      << "not of tokens";
}

TEST(OptionReader, LeavesTheSlotWhereTheKeyIsAbsentOrNull) {
  Scenario scenario;
  scenario.deployment.engine.block_size = 32;
  EXPECT_EQ(read("engine.block_size", "{other: 1}", scenario), "");
  EXPECT_EQ(read("engine.block_size", "{block_size: null}", scenario), "");
  EXPECT_EQ(scenario.deployment.engine.block_size, 32);
}

TEST(OptionReader, NotesAValueThatIsNoneOfTheOptions) {
  Scenario scenario;
  EXPECT_NE(read("engine.block_size", "{block_size: 512}", scenario), "");
  EXPECT_NE(read("engine.dtype", "{dtype: int3}", scenario), "");
  EXPECT_NE(read("serving.emit_time", "{emit_time: 3 apples}", scenario), "");
  EXPECT_EQ(scenario.deployment.engine.block_size, 16);
  EXPECT_EQ(scenario.deployment.engine.dtype, "auto");
  EXPECT_EQ(scenario.deployment.serving.emit_time, std::nullopt);
}

TEST(Slots, OfADeploymentAloneLeaveOutTheWorkloadAndTheRun) {
  DeploymentSection deployment;
  EXPECT_TRUE(slot_of(*find_option("engine.block_size"), deployment));
  EXPECT_TRUE(slot_of(*find_option("request_path"), deployment));
  EXPECT_FALSE(slot_of(*find_option("workload.num_prompts"), deployment));
  EXPECT_FALSE(slot_of(*find_option("slo.ttft"), deployment));
  EXPECT_FALSE(slot_of(*find_option("seed"), deployment));
}

}  // namespace
}  // namespace ridgeline::scenario
