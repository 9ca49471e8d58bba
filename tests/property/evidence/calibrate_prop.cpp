// Known constants come back from simulated measurements with noise.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/rng.hpp"
#include "evidence/calibrate/calibrate.hpp"
#include "evidence/calibrate/server_file.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/measured_run.hpp"
#include "evidence/validate/prediction.hpp"

namespace ridgeline::evidence::calibrate {
namespace {

using validate::Evidence;
using validate::Figure;
using validate::Level;

/// A synchronous engine that answers one request after the other, of different lengths. More
/// clients would march in step: a constant then decides whether their next requests make a step of
/// the engine or miss it, which no derivative shows and which has more than one best answer.
std::vector<Evidence> loops_of_a_server() {
  std::vector<Evidence> all;
  for (const auto& [clients, input] :
       std::vector<std::pair<std::int64_t, double>>{{1, 128}, {1, 512}, {1, 1024}, {1, 2048}}) {
    Evidence evidence;
    evidence.id = fmt::format("{} x {}", clients, input);
    evidence.model = "llama-3.1-8b";
    evidence.gpu = "h100";
    evidence.engine_version = "vllm@0.11";
    evidence.server.max_num_seqs = 64;
    evidence.server.max_model_len = 8192;
    evidence.input = {.law = validate::TokenCounts::Law::kUniform,
                      .mean = input,
                      .lowest = 0.7 * input,
                      .highest = 1.3 * input};
    evidence.output = {
        .law = validate::TokenCounts::Law::kUniform, .mean = 20, .lowest = 12, .highest = 28};
    validate::StageLoad stage;
    stage.kind = validate::StageLoad::Kind::kClosed;
    stage.name = "0";
    stage.requests = 4 + 4 * clients;
    stage.concurrency = clients;
    evidence.stages = {stage};
    evidence.closed_loop = true;
    all.push_back(std::move(evidence));
  }
  return all;
}

/// As if measured: what the model says with these constants, and some noise.
std::vector<Evidence> measured_with(const std::vector<scenario::Override>& truth,
                                    double noise,
                                    std::uint64_t seed) {
  auto evidence = loops_of_a_server();
  const auto runs = validate::group_runs(evidence);
  validate::PredictOptions options;
  options.histories = 1;
  options.overrides = truth;
  const auto predictions = validate::predict(evidence, runs, options);
  core::RngStream rng(seed, 0, "noise");
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    for (const Figure figure : {Figure::kE2e, Figure::kTtft, Figure::kTpot}) {
      evidence[i].measured.at(figure, Level::kMean) =
          predictions[i].prediction.value().figures.at(figure, Level::kMean).value() *
          (1.0 + noise * (2.0 * rng.uniform() - 1.0));
    }
  }
  return evidence;
}

CalibrateOptions fit_of(std::vector<std::string> wanted) {
  CalibrateOptions options;
  options.wanted = std::move(wanted);
  options.histories = 1;
  return options;
}

RC_GTEST_PROP(Calibrate, KnownConstantsComeBack, ()) {
  const auto delivery = static_cast<double>(*rc::gen::inRange(1000, 20'000));
  const auto host = static_cast<double>(*rc::gen::inRange(100, 3000));
  const auto seed = static_cast<std::uint64_t>(*rc::gen::inRange(0, 1000));
  const auto evidence =
      measured_with({{.path = "serving.delivery_time", .text = fmt::format("{}us", delivery)},
                     {.path = "serving.host_step_time", .text = fmt::format("{}us", host)}},
                    0.004,
                    seed);
  const auto calibration = calibrate(evidence, fit_of({"delivery_time", "host_step_time"})).value();
  RC_ASSERT(calibration.fitted.size() == 2U);
  // Noise of 0.4 % moves a time to first token of some 100 ms by 0.4 ms, and a step of some 10 ms
  // by 40 us; the fit averages over four records.
  RC_ASSERT(std::abs(calibration.fitted[0].value - delivery) < 500.0);
  RC_ASSERT(std::abs(calibration.fitted[1].value - host) < 60.0);
  RC_ASSERT(calibration.after.mean < 0.5);
  RC_ASSERT(calibration.after.mean <= calibration.before.mean + 0.05);
}

TEST(Calibrate, RefusesWhatTheMeasurementsDoNotTell) {
  // An asynchronous engine hides the host's time behind steps of some 8 ms.
  auto evidence = measured_with({{.path = "engine.version", .text = "vllm@0.15"},
                                 {.path = "engine.async_scheduling", .text = "true"}},
                                0.0,
                                0);
  for (auto& record : evidence) {
    record.engine_version = "vllm@0.15";
    record.server.async_scheduling = true;
  }
  const auto refused = calibrate(evidence, fit_of({"host_step_time"}));
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().front().message.find("no measured figure depends"), std::string::npos);
  const auto unknown = calibrate(evidence, fit_of({"speed"}));
  ASSERT_FALSE(unknown.has_value());
  EXPECT_NE(unknown.error().front().message.find("delivery_time"), std::string::npos);
  // Without a name, an undetermined parameter is left out, with its reason.
  const auto rest = calibrate(evidence, fit_of({})).value();
  EXPECT_FALSE(rest.left_out.empty());
  for (const auto& fitted : rest.fitted) {
    EXPECT_NE(fitted.parameter.name, "host_step_time");
  }
  EXPECT_NE(server_yaml(rest).find("delivery_time"), std::string::npos);
}

TEST(Calibrate, NothingToFitIsAnError) {
  EXPECT_FALSE(calibrate({}, fit_of({})).has_value());
  auto evidence = loops_of_a_server();
  evidence.resize(1);
  evidence.front().model = "no-such-network";
  EXPECT_FALSE(calibrate(evidence, fit_of({})).has_value());
}

}  // namespace
}  // namespace ridgeline::evidence::calibrate
