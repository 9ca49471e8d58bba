// Slow hardware, slow hosts and long ways: a run either ends with one digest from every engine, or
// at the end of simulated time with one error.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/result.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/simulation.hpp"

namespace ridgeline::sim {
namespace {

using rc::gen::element;
using rc::gen::inRange;

std::vector<scenario::Override> random_scenario() {
  std::vector<scenario::Override> all = {
      {"model", *element<std::string>("llama-3.1-8b", "gpt-oss-20b")},
      {"gpu", "h100"},
      {"latency.name", *element<std::string>("kernel", "kernel-vllm")},
      {"engine.max_num_seqs", fmt::format("{}", *inRange(1, 6))},
      {"engine.num_gpu_blocks", "2000"},
      {"engine.max_model_len", "4096"},
      {"engine.async_scheduling", *element<std::string>("true", "false")},
      {"workload.num_prompts", fmt::format("{}", *inRange(1, 40))},
      {"workload.input_len", fmt::format("{}", *inRange(1, 600))},
      {"workload.output_len", fmt::format("{}", *inRange(1, 400))},
      // From 100 B/s, with which no step ends in time, to 100 MB/s, a thousandth of a slow GPU's.
      {"set",
       fmt::format("hardware.mem_bandwidth={}{}B/s",
                   *inRange(100, 1000),
                   *element<std::string>("", "k", "k", "M"))},
  };
  const auto loop = *element<std::string>("at-once", "poisson", "closed", "closed");
  if (loop == "at-once") {
    all.push_back({"workload.arrivals", loop});
  } else if (loop == "poisson") {
    all.push_back({"workload.request_rate", *element<std::string>("0.00001", "0.001", "10")});
  } else {
    all.push_back({"workload.max_concurrency", fmt::format("{}", *inRange(1, 4))});
  }
  std::vector<std::string> times = {"network_in",
                                    "frontend_time",
                                    "frontend_token_time",
                                    "emit_time",
                                    "delivery_time",
                                    "close_time",
                                    "host_step_time",
                                    "host_sequence_time"};
  if (*element(false, true)) {
    all.push_back({"workload.structured_output_ratio", "0.5"});
    times.insert(times.end(), {"grammar_compile_time", "grammar_mask_time"});
  }
  for (const std::string& time : times) {
    if (*inRange(0, 8) == 0) {
      all.push_back({"serving." + time, *element<std::string>("9000000s", "3000000s", "1000s")});
    }
  }
  return all;
}

/// The digest, or the error.
std::string end_of(const scenario::Resolved& resolved, engine::EngineCore core, bool jump) {
  auto source = resolved.workload.open();
  RC_ASSERT(source.has_value());
  const auto outcome = simulate(resolved, **source, {.core = core, .jump = jump});
  if (outcome) {
    return outcome->digest;
  }
  RC_ASSERT(outcome.error().size() == 1U);
  const core::Error& error = outcome.error().front();
  RC_ASSERT(error.code == core::ErrorCode::kInfeasible);
  RC_ASSERT(error.message.find("the range of simulated time") != std::string::npos);
  return core::to_string(error);
}

RC_GTEST_PROP(Horizon, EveryEngineEndsThereWithTheSameError, ()) {
  auto loaded = scenario::load_scenario(std::nullopt, random_scenario(), scenario::Purpose::kRun);
  RC_ASSERT(loaded.has_value());
  const auto resolved = scenario::resolve(std::move(*loaded));
  RC_ASSERT(resolved.has_value());
  const std::string expected = end_of(*resolved, engine::EngineCore::kReference, true);
  RC_CLASSIFY(expected.find("range") != std::string::npos, "past the range");
  RC_ASSERT(end_of(*resolved, engine::EngineCore::kFast, false) == expected);
  RC_ASSERT(end_of(*resolved, engine::EngineCore::kFast, true) == expected);
}

}  // namespace
}  // namespace ridgeline::sim
