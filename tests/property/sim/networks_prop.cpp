// Every network of the catalogue runs however its GPUs share it: every tensor, pipeline and expert
// parallel size that is not refused.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/result.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/simulation.hpp"

namespace ridgeline::sim {
namespace {

struct Case {
  std::string network;
  model::Sharding sharding;
};

/// All that check_sharding lets pass, up to what the options take.
std::vector<Case> legal_cases() {
  constexpr std::int64_t kMostStages = 64;
  std::vector<Case> all;
  for (const std::string& name : model::catalogue_names()) {
    const auto spec = model::find_model(name);
    EXPECT_TRUE(spec) << name;
    for (std::int64_t ranks = 1; ranks <= 64; ranks *= 2) {
      for (std::int64_t stages = 1; stages <= kMostStages; ++stages) {
        for (const bool experts : {false, true}) {
          const model::Sharding sharding{.tensor_parallel_size = ranks,
                                         .pipeline_parallel_size = stages,
                                         .expert_parallel = experts};
          if (spec && model::check_sharding(*spec, sharding)) {
            all.push_back({.network = name, .sharding = sharding});
          }
        }
      }
    }
  }
  return all;
}

/// Two requests on GPUs of a rack that has memory enough; what went wrong, or nothing.
std::string run(const Case& one) {
  auto loaded = scenario::load_scenario(
      std::nullopt,
      {{"model", one.network},
       {"gpu", "gb200"},
       {"set", "hardware.memory=100TiB"},
       {"set", "hardware.usable_memory=100TiB"},
       {"engine.tensor_parallel_size", fmt::format("{}", one.sharding.tensor_parallel_size)},
       {"engine.pipeline_parallel_size", fmt::format("{}", one.sharding.pipeline_parallel_size)},
       {"engine.enable_expert_parallel", one.sharding.expert_parallel ? "true" : "false"},
       {"engine.max_model_len", "1000"},
       {"engine.num_gpu_blocks", "1000"},
       {"workload.arrivals", "at-once"},
       {"workload.num_prompts", "2"},
       {"workload.input_len", "100"},
       {"workload.output_len", "3"}},
      scenario::Purpose::kRun);
  if (!loaded) {
    return core::to_string(loaded.error().front());
  }
  const auto resolved = scenario::resolve(std::move(*loaded));
  if (!resolved) {
    return core::to_string(resolved.error().front());
  }
  auto source = resolved->workload.open();
  if (!source) {
    return core::to_string(source.error().front());
  }
  const auto outcome = simulate(*resolved, **source, {});
  if (!outcome) {
    return core::to_string(outcome.error().front());
  }
  return outcome->summary.completed == 2 ? "" : "not all requests were answered";
}

TEST(Networks, RunHoweverTheyAreShared) {
  // ./dev properties runs all, in minutes; other runs a part of them, in seconds: a prime, so that
  // all sizes come up.
  constexpr std::size_t kPart = 397;
  const std::size_t step = std::getenv("RIDGELINE_ALL_SHARDINGS") == nullptr ? kPart : 1;
  const std::vector<Case> all = legal_cases();
  std::size_t ran = 0;
  for (std::size_t i = 0; i < all.size(); i += step) {
    const Case& one = all[i];
    ++ran;
    EXPECT_EQ(run(one), "") << one.network << " TP " << one.sharding.tensor_parallel_size << " PP "
                            << one.sharding.pipeline_parallel_size << " EP "
                            << one.sharding.expert_parallel;
  }
  RecordProperty("cases", static_cast<int>(ran));
}

}  // namespace
}  // namespace ridgeline::sim
