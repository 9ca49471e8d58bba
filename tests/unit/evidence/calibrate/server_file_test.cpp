#include "evidence/calibrate/server_file.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "evidence/calibrate/calibrate.hpp"
#include "evidence/validate/evidence.hpp"
#include "latency/accuracy/bands.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::evidence::calibrate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

validate::Evidence record(std::int64_t seats) {
  validate::Evidence evidence;
  evidence.model = "llama-3.1-8b";
  evidence.gpu = "h100";
  evidence.server.max_num_seqs = seats;
  return evidence;
}

Calibration calibrated(const std::vector<validate::Evidence>& evidence,
                       const std::vector<scenario::Override>& overrides) {
  Calibration calibration;
  std::vector<std::size_t> records(evidence.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i] = i;
  }
  calibration.server = common_server(evidence, records, overrides);
  calibration.records = static_cast<std::int64_t>(records.size());
  FittedParameter fitted;
  fitted.parameter.name = "close_time";
  fitted.value = 2000.0;
  calibration.fitted = {fitted};
  return calibration;
}

/// What comes back of a file, with the same settings from both of its formats.
scenario::DeploymentSection read_back(const Calibration& calibration) {
  const auto yaml = document::parse_yaml(server_yaml(calibration), "mine.yaml");
  const auto json = document::parse_json(server_json(calibration), "mine.json");
  EXPECT_TRUE(yaml && json);
  const auto from_yaml = scenario::read_scenario(*yaml, {}, scenario::Purpose::kLook);
  const auto from_json = scenario::read_scenario(*json, {}, scenario::Purpose::kLook);
  EXPECT_TRUE(from_yaml) << core::to_string(from_yaml.error().front());
  EXPECT_TRUE(from_json) << core::to_string(from_json.error().front());
  EXPECT_EQ(scenario::flow_text(scenario::to_node(from_yaml->scenario)),
            scenario::flow_text(scenario::to_node(from_json->scenario)));
  return from_yaml->scenario.deployment;
}

TEST(ServerFile, HoldsTheServerAndItsFittedTimes) {
  const auto calibration = calibrated({record(64), record(64)},
                                      {{.path = "serving.close_time", .text = "9ms"},
                                       {.path = "serving.emit_time", .text = "1us"},
                                       {.path = "set", .text = "model.num_hidden_layers=4"}});
  EXPECT_THAT(calibration.server.names, ElementsAre("llama-3.1-8b on h100"));
  const scenario::DeploymentSection server = read_back(calibration);
  EXPECT_EQ(server.model, "llama-3.1-8b");
  EXPECT_EQ(server.gpu, "h100");
  EXPECT_EQ(server.engine.max_num_seqs, 64);
  ASSERT_EQ(server.patches.size(), 1U);
  // The fitted time stands for the stated one.
  EXPECT_EQ(server.serving.close_time, core::Duration::milliseconds(2));
  EXPECT_EQ(server.serving.emit_time, core::Duration::microseconds(1));
}

TEST(ServerFile, HoldsTheBandsOfItsMeasurements) {
  auto calibration = calibrated({record(64), record(64)}, {});
  EXPECT_TRUE(read_back(calibration).calibrated.is_null());
  calibration.own = {.server = {"h100", "dense", "bf16", "", "vllm", "llama-3.1-8b TP1"},
                     .in_flight = {.low = 1.0, .high = 8.25},
                     .input_tokens = {.low = 512.0, .high = 512.0},
                     .bands = {{.metric = accuracy::Metric::kTpot,
                                .p50 = {.low = -0.5, .high = 0.25},
                                .p90 = {.low = -1.5, .high = 1.0}}}};
  core::Errors errors;
  const auto own =
      accuracy::read_own_bands(read_back(calibration).calibrated, "calibrated", errors);
  EXPECT_TRUE(errors.empty());
  EXPECT_EQ(own.server, calibration.own.server);
  EXPECT_EQ(own.in_flight, calibration.own.in_flight);
  ASSERT_EQ(own.bands.size(), 1U);
  EXPECT_EQ(own.bands[0].p90, calibration.own.bands[0].p90);
  EXPECT_EQ(own.bands[0].records, 2);
  // Several networks have no such server.
  calibration.own.server[static_cast<std::size_t>(accuracy::Axis::kDeployment)].clear();
  EXPECT_TRUE(read_back(calibration).calibrated.is_null());
}

TEST(ServerFile, LeavesOutWhatRecordsDoNotShare) {
  const auto calibration = calibrated({record(64), record(32)}, {});
  EXPECT_THAT(calibration.server.differing, ElementsAre("engine.max_num_seqs"));
  EXPECT_EQ(read_back(calibration).engine.max_num_seqs, std::nullopt);
  EXPECT_THAT(server_yaml(calibration),
              HasSubstr("as the records differ in it: engine.max_num_seqs"));
}

}  // namespace
}  // namespace ridgeline::evidence::calibrate
