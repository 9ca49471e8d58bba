#include "plan/factors.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "latency/accuracy/bands.hpp"
#include "metrics/slo.hpp"
#include "plan/demand.hpp"
#include "plan/doubt.hpp"
#include "plan/fluid.hpp"
#include "plan/linear_doubt.hpp"
#include "plan/sure_load.hpp"
#include "plan/target.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::plan {
namespace {

scenario::Resolved deployment(const std::string& model, const std::string& gpu, const char* ranks) {
  auto loaded = scenario::load_scenario(std::nullopt,
                                        {{"model", model},
                                         {"gpu", gpu},
                                         {"engine.tensor_parallel_size", ranks},
                                         {"workload.request_rate", "5"},
                                         {"workload.input_len", "1000"},
                                         {"workload.output_len", "250"}},
                                        scenario::Purpose::kRun);
  EXPECT_TRUE(loaded);
  return *scenario::resolve(std::move(*loaded));
}

Targets targets() {
  return {percentile_target(
              metrics::Metric::kTtft, metrics::Statistic::kP99, core::Duration::milliseconds(500)),
          percentile_target(
              metrics::Metric::kTpot, metrics::Statistic::kP99, core::Duration::milliseconds(30))};
}

/// Latencies that lie within so many percent, nine of ten, half of them within a third.
accuracy::Band band_of(double percent) {
  return {.p50 = {.low = -percent / 3.0, .high = percent / 3.0},
          .p90 = {.low = -percent, .high = percent}};
}

class Factors : public testing::Test {
 protected:
  Factors()
      : h100_(deployment("llama-3.1-8b", "h100", "1")),
        h200_(deployment("llama-3.1-8b", "h200", "1")),
        demand_(demand_of(h100_).value()),
        targets_(targets()) {}

  /// Factors of both, whose capacities are known to a tenth.
  [[nodiscard]] FactorTable table(double tpot_percent, double ttft_percent = 0.0) const {
    const accuracy::Band tpot = band_of(tpot_percent);
    const accuracy::Band ttft = band_of(ttft_percent);
    const LatencyDoubt bands{.tpot = tpot,
                             .ttft = ttft_percent > 0.0 ? std::optional(ttft) : std::nullopt};
    std::vector<CandidateCauses> both = {
        causes_of({*h100_.deployment, demand_, targets_, "h100 TP1"}, bands),
        causes_of({*h200_.deployment, demand_, targets_, "h200 TP1"}, bands)};
    for (CandidateCauses& one : both) {
      one.known_sd = 0.1;
    }
    return factors_of(both);
  }
  static std::size_t index(const FactorTable& table, const std::string& name) {
    const auto found = std::ranges::find(table.factors, name, &Factor::name);
    EXPECT_NE(found, table.factors.end()) << name;
    return static_cast<std::size_t>(found - table.factors.begin());
  }

  scenario::Resolved h100_;
  scenario::Resolved h200_;
  Demand demand_;
  Targets targets_;
};

TEST_F(Factors, OperatorsBelongToTheirGpuAndTheHostToAll) {
  const FactorTable found = table(2.0, 5.0);
  const std::size_t gemm = index(found, "GEMM, h100");
  EXPECT_LT(found.candidates[0].elasticity[gemm], -0.1);
  EXPECT_EQ(found.candidates[1].elasticity[gemm], 0.0);
  EXPECT_LT(found.candidates[1].elasticity[index(found, "GEMM, h200")], -0.1);
  for (const Factor& factor : found.factors) {
    EXPECT_GT(factor.sd, 0.0) << factor.name;
    EXPECT_EQ(factor.gpu.empty(), factor.name.starts_with("server: ")) << factor.name;
  }
}

TEST_F(Factors, AStepThatTakesLongerCostsMoreThanItsShare) {
  const FactorTable found = table(2.0);
  for (const CandidateDoubt& candidate : found.candidates) {
    // A step 1 % slower costs 1.6 to 2.5 % of capacity where both targets count (planner.md, 7).
    EXPECT_GT(candidate.amplification, 0.9);
    EXPECT_LT(candidate.amplification, 3.5);
  }
}

TEST_F(Factors, ElasticitiesAreSlopesOfTheFluidEstimate) {
  const FactorTable found = table(2.0);
  const std::size_t kv = index(found, "KV blocks of llama-3.1-8b, h100");
  const auto capacity = [&](double scale) {
    return fluid_capacity({.deployment = *h100_.deployment,
                           .model = *h100_.deployment->latency,
                           .demand = demand_,
                           .kv_scale = scale},
                          targets_);
  };
  const double slope =
      (std::log(capacity(1.02)) - std::log(capacity(0.98))) / (std::log(1.02) - std::log(0.98));
  EXPECT_NEAR(found.candidates[0].elasticity[kv], slope, 1e-9);
}

TEST_F(Factors, SpreadsAreThoseOfTheBand) {
  const FactorTable narrow = table(2.0, 5.0);
  const FactorTable wide = table(8.0, 20.0);
  const std::size_t gemm = index(narrow, "GEMM, h100");
  EXPECT_NEAR(wide.factors[index(wide, "GEMM, h100")].sd / narrow.factors[gemm].sd, 4.0, 0.02);
  // The KV blocks do not show in a token's time: no band speaks of them.
  const std::string blocks = "KV blocks of llama-3.1-8b, h100";
  EXPECT_EQ(wide.factors[index(wide, blocks)].sd, narrow.factors[index(narrow, blocks)].sd);
}

TEST_F(Factors, TogetherTheyMakeTheSpreadThatWasFound) {
  const FactorTable found = table(2.0, 5.0);
  for (const CandidateDoubt& candidate : found.candidates) {
    const Row row{.capacity_rps = 1.0, .elasticity = candidate.loading};
    EXPECT_NEAR(log_capacity(row, found.factors).sd, 0.1, 1e-12);
    EXPECT_EQ(candidate.own_sd, 0.0);
  }
  // Without a cause to share it, it is the candidate's own.
  EXPECT_EQ(factors_of({{.causes = {}, .known_sd = 0.25}}).candidates.front().own_sd, 0.25);
}

TEST_F(Factors, AServerOfEachCandidateCanBeMeasured) {
  const FactorTable found = table(2.0);
  ASSERT_EQ(found.measurements.size(), 6U);
  EXPECT_EQ(found.measurements[0].what, "first token of a lone prompt, h100 TP1");
  EXPECT_TRUE(found.measurements[0].command.starts_with("vllm bench serve --model meta-llama/"));
  EXPECT_EQ(found.measurements[5].what, "capacity of one replica, h200 TP1");
  EXPECT_EQ(found.measurements[5].loading, found.candidates[1].loading);
}

TEST_F(Factors, ADeploymentThatMeetsNothingHasNoDoubt) {
  targets_[1].limits[static_cast<std::size_t>(metrics::Metric::kTpot)] =
      core::Duration::microseconds(10);
  const FactorTable found = table(2.0);
  EXPECT_TRUE(found.factors.empty());
  EXPECT_TRUE(found.measurements.empty());
  EXPECT_EQ(found.candidates.size(), 2U);
}

}  // namespace
}  // namespace ridgeline::plan
