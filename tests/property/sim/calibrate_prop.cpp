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
#include "sim/calibrate/calibrate.hpp"
#include "sim/validate/evidence.hpp"
#include "sim/validate/measured_run.hpp"
#include "sim/validate/prediction.hpp"

namespace ridgeline::sim::calibrate {
namespace {

using validate::Evidence;
using validate::Figure;
using validate::Level;

/// Closed loops of a synchronous engine: other prompt lengths, other loads.
std::vector<Evidence> loops_of_a_server() {
  std::vector<Evidence> all;
  for (const auto& [clients, input] : std::vector<std::pair<std::int64_t, double>>{
           {1, 128}, {1, 2048}, {8, 512}, {16, 1024}, {24, 64}, {32, 256}}) {
    Evidence evidence;
    evidence.id = fmt::format("{} x {}", clients, input);
    evidence.model = "llama-3.1-8b";
    evidence.gpu = "h100";
    evidence.engine_version = "vllm@0.11";
    evidence.server.max_num_seqs = 64;
    evidence.server.max_model_len = 8192;
    evidence.input = {.law = validate::TokenCounts::Law::kFixed, .mean = input};
    evidence.output = {.law = validate::TokenCounts::Law::kFixed, .mean = 40};
    validate::StageLoad stage;
    stage.kind = validate::StageLoad::Kind::kClosed;
    stage.name = "0";
    stage.requests = 3 * clients;
    stage.concurrency = clients;
    evidence.stages = {stage};
    evidence.closed_loop = true;
    all.push_back(std::move(evidence));
  }
  return all;
}

/// As if measured: what the model says with these constants, and some noise.
std::vector<Evidence> measured_with(const std::vector<Override>& truth,
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

TEST(Calibrate, NothingToFitIsAnError) {
  EXPECT_FALSE(calibrate({}, fit_of({})).has_value());
  auto evidence = loops_of_a_server();
  evidence.resize(1);
  evidence.front().model = "no-such-network";
  EXPECT_FALSE(calibrate(evidence, fit_of({})).has_value());
}

}  // namespace
}  // namespace ridgeline::sim::calibrate
