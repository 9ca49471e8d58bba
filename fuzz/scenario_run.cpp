// Any bytes as a scenario of the catalogues' networks and GPUs, with parallel sizes, lengths, times
// and engine settings of all sizes: refused with a reason, or run by every engine, which all agree.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "choices.hpp"
#include "core/check.hpp"
#include "core/result.hpp"
#include "engine/profiles.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/simulation.hpp"

namespace {

using namespace ridgeline;  // NOLINT(google-build-using-namespace): a program of its own

using Overrides = std::vector<scenario::Override>;

void add_place(fuzz::Choices& choices, Overrides& all) {
  static const std::vector<std::string> kNetworks = model::catalogue_names();
  static const std::vector<std::string> kGpus = hardware::catalogue_names();
  static const std::vector<std::string> kSizes = {"1", "1", "2", "4", "8", "3", "16"};
  all.push_back({"model", choices.of(kNetworks)});
  all.push_back({"gpu", choices.of(kGpus)});
  all.push_back({"engine.tensor_parallel_size", choices.of(kSizes)});
  if (choices.one_in(3)) {
    all.push_back({"engine.pipeline_parallel_size", fmt::format("{}", 1 + choices.below(64))});
  }
  if (choices.one_in(3)) {
    all.push_back({"engine.enable_expert_parallel", "true"});
    all.push_back({"engine.data_parallel_size", choices.of(kSizes)});
  }
  if (choices.one_in(6)) {
    all.push_back({"engine.prefill_context_parallel_size", choices.of(kSizes)});
  }
  if (choices.one_in(2)) {  // Most networks do not fit on most GPUs.
    all.push_back({"set", "hardware.memory=4TiB"});
    all.push_back({"set", "hardware.usable_memory=4TiB"});
  }
  if (choices.one_in(4)) {
    all.push_back({"set",
                   "hardware.mem_bandwidth=" +
                       choices.of({"1B/s", "1kB/s", "1MB/s", "100MB/s", "1GB/s", "100TB/s"})});
  }
  if (choices.one_in(4)) {
    all.push_back({"set", "hardware.network_bandwidth=" + choices.of({"1B/s", "50GB/s"})});
  }
}

void add_engine(fuzz::Choices& choices, Overrides& all) {
  static const std::vector<std::string> kVersions = [] {
    std::vector<std::string> names;
    for (const engine::Profile& profile : engine::profiles()) {
      names.emplace_back(profile.name);
    }
    return names;
  }();
  static const std::vector<std::pair<std::string, std::vector<std::string>>> kSettings = {
      {"latency.name", {"kernel-vllm", "v1", "v2-final"}},
      {"engine.max_num_seqs", {"1", "2", "7", "65536"}},
      {"engine.max_num_batched_tokens", {"1", "2", "17", "512", "8192", "1000000"}},
      {"engine.max_model_len", {"1", "17", "400", "5000"}},
      {"engine.block_size", {"1", "8", "16", "64", "128"}},
      {"engine.gpu_memory_utilization", {"0.01", "0.5", "1"}},
      {"engine.enable_prefix_caching", {"true", "false"}},
      {"engine.enable_chunked_prefill", {"true", "false"}},
      {"engine.async_scheduling", {"true", "false"}},
      {"engine.long_prefill_token_threshold", {"1", "100"}},
      {"engine.enforce_eager", {"true"}},
      {"engine.kv_cache_dtype", {"fp8"}},
      {"engine.all2all_backend", {"deepep_high_throughput", "deepep_low_latency"}},
      {"engine.speculative_config",
       {"{method: mtp, num_speculative_tokens: 2, acceptance: 0.8}",
        "{method: ngram, num_speculative_tokens: 3, acceptance: 0.5}"}},
      {"percentiles", {"sketch"}},
      {"request_path", {"off"}},
  };
  all.push_back({"engine.version", choices.of(kVersions)});
  // Given, or a rack's memory for one layer in blocks of a token would be a pool of gigabytes here.
  all.push_back({"engine.num_gpu_blocks", choices.of({"2", "30", "1000", "100000"})});
  for (const auto& [path, values] : kSettings) {
    if (choices.one_in(5)) {
      all.push_back({path, choices.of(values)});
    }
  }
  for (const char* const time : {"network_in",
                                 "frontend_time",
                                 "frontend_token_time",
                                 "emit_time",
                                 "delivery_time",
                                 "close_time",
                                 "host_step_time",
                                 "host_sequence_time"}) {
    if (choices.one_in(12)) {
      all.push_back(
          {fmt::format("serving.{}", time), choices.of({"0s", "1ms", "10000s", "9000000s"})});
    }
  }
  if (choices.one_in(6)) {
    all.push_back({"workload.structured_output_ratio", choices.of({"0.5", "1"})});
    all.push_back({"workload.structured_output_schemas", choices.of({"1", "3"})});
    for (const char* const time : {"compile", "mask"}) {
      all.push_back({fmt::format("serving.grammar_{}_time", time),
                     choices.of({"0s", "40us", "20ms", "10000s", "9000000s"})});
    }
  }
}

/// A few requests, each of few tokens or of many that few steps compute.
void add_workload(fuzz::Choices& choices, Overrides& all) {
  all.push_back({"workload.num_prompts", fmt::format("{}", 1 + choices.below(8))});
  all.push_back({"workload.input_len", choices.of({"1", "15", "16", "300", "2048", "100000"})});
  all.push_back({"workload.output_len", choices.of({"1", "2", "9", "70"})});
  switch (choices.below(3)) {
    case 0:
      all.push_back({"workload.arrivals", "at-once"});
      break;
    case 1:
      all.push_back({"workload.request_rate", choices.of({"0.000001", "0.1", "8", "10000"})});
      break;
    default:
      all.push_back({"workload.max_concurrency", choices.of({"1", "3"})});
      if (choices.one_in(2)) {
        all.push_back({"workload.think_time", choices.of({"1s", "4000000s"})});
      }
      break;
  }
  if (choices.one_in(3)) {
    all.push_back({"workload.prefix_len", choices.of({"1", "16", "1000"})});
    all.push_back({"workload.num_prefixes", choices.of({"1", "2"})});
  }
}

/// The digest, or the errors; empty where it took more work than a fuzzer has time for.
std::string end_of(const scenario::Resolved& resolved, engine::EngineCore core, bool jump) {
  constexpr int kMostReports = 8;  // Each after a thousand steps (sim/simulation.cpp) or less.
  std::atomic<bool> interrupt = false;
  int reports = 0;
  auto source = resolved.workload.open();
  if (!source) {  // As where a rank's share of the rate leaves the range of simulated time.
    RIDGELINE_CHECK(!source.error().empty(), "a refusal without a reason");
    return core::to_string(source.error().front());
  }
  const auto outcome = sim::simulate(resolved,
                                     **source,
                                     {.core = core,
                                      .jump = jump,
                                      .interrupt = &interrupt,
                                      .progress = [&](const sim::Progress& /*progress*/) {
                                        interrupt = ++reports > kMostReports;
                                      }});
  if (!outcome) {
    RIDGELINE_CHECK(!outcome.error().empty(), "a refusal without a reason");
    return core::to_string(outcome.error().front());
  }
  return outcome->partial ? std::string() : outcome->digest;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Choices choices(data, size);
  Overrides all;
  add_place(choices, all);
  add_workload(choices, all);
  add_engine(choices, all);
  auto loaded = scenario::load_scenario(std::nullopt, all, scenario::Purpose::kRun);
  if (!loaded) {
    RIDGELINE_CHECK(!loaded.error().empty(), "a refusal without a reason");
    return 0;
  }
  const auto resolved = scenario::resolve(std::move(*loaded));
  if (!resolved) {
    RIDGELINE_CHECK(!resolved.error().empty(), "a refusal without a reason");
    return 0;
  }
  const std::string expected = end_of(*resolved, engine::EngineCore::kReference, true);
  const std::string stepping = end_of(*resolved, engine::EngineCore::kFast, false);
  const std::string jumping = end_of(*resolved, engine::EngineCore::kFast, true);
  RIDGELINE_CHECK(expected.empty() || stepping.empty() || expected == stepping, "twins differ");
  RIDGELINE_CHECK(expected.empty() || jumping.empty() || expected == jumping, "a jump differs");
  return 0;
}
