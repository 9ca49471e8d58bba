#include "scenario/scenario_rules.hpp"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/result.hpp"
#include "engine/schedulers.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/findings.hpp"
#include "scenario/options.hpp"
#include "scenario/requests.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/cluster.hpp"
#include "scenario/sections/router.hpp"
#include "scenario/sections/sections.hpp"
#include "scenario/structured_outputs.hpp"
#include "workload/options.hpp"

namespace ridgeline::scenario {

namespace {

class Rules {
 public:
  Rules(LoadedScenario& loaded, core::Errors& errors)
      : loaded_(loaded), errors_(errors), findings_(loaded, errors) {}

  void engine_name() {
    std::string& version = loaded_.scenario.deployment.engine.version;
    version = named_version(version);
  }

  void network_and_gpu() {
    if (loaded_.scenario.run.cluster.pools) {
      return;  // check_pools() looks at each.
    }
    if (loaded_.scenario.deployment.model.empty()) {
      missing("model", "--model llama-3.1-8b; `ridgeline list models` names the catalogue");
    }
    if (loaded_.scenario.deployment.gpu.empty()) {
      missing("gpu", "--gpu h100; `ridgeline list gpus` names the catalogue");
    }
  }

  /// num_gpu_blocks and gpu_memory_utilization say the same in two ways: the flag's wins over the
  /// file's. Both from one place are compared when the memory is known (resolve).
  void kv_capacity() {
    auto& engine = loaded_.scenario.deployment.engine;
    const auto blocks = loaded_.of("engine.num_gpu_blocks").origin;
    const auto share = loaded_.of("engine.gpu_memory_utilization").origin;
    if (blocks == Provenance::Origin::kFlag && share == Provenance::Origin::kFile) {
      engine.gpu_memory_utilization.reset();
      forget("engine.gpu_memory_utilization");
    } else if (share == Provenance::Origin::kFlag && blocks == Provenance::Origin::kFile) {
      engine.num_gpu_blocks.reset();
      forget("engine.num_gpu_blocks");
    }
  }

  void engine_settings() { check_engine_settings(findings_); }

  void cluster() {
    const auto& engine = loaded_.scenario.deployment.engine;
    ClusterSection& cluster = loaded_.scenario.run.cluster;
    const bool is_cluster = cluster.instances || cluster.kv_offload.has_tier();
    if (is_cluster && attention_ranks(engine).ranks > 1 && !cluster.router.name) {
      cluster.router.name = rank_router(engine);
    }
    for (const SectionEntry& section : cluster_sections()) {
      section.check(findings_);
    }
  }

  void cache_state() {
    constexpr std::string_view kCacheState = "cache_state";
    const Scenario& scenario = loaded_.scenario;
    if (!given(kCacheState)) {
      return;
    }
    if (const std::string why = why_no_cache_state(scenario); !why.empty()) {
      findings_.problem(kCacheState, why, "leave it out");
    }
  }

  void adapters() {
    if (given("engine.max_loras") && !loaded_.scenario.deployment.engine.enable_lora) {
      ignored("engine.max_loras", "enable_lora is off");
    }
  }

  void structured_outputs() {
    if (has_structured_outputs(loaded_.scenario.workload)) {
      return;
    }
    for (const std::string_view path : {"workload.structured_output_schemas",
                                        "serving.grammar_compile_time",
                                        "serving.grammar_mask_time"}) {
      if (given(path)) {
        ignored(path, "structured_output_ratio is 0: no request has a structured output");
      }
    }
  }

  /// Settings of a replay of agent traces, and those that it has instead of others.
  void agents() {
    const auto& workload = loaded_.scenario.workload;
    if (!workload.agent_scenario) {
      for (const std::string_view path : {"workload.trajectory_start_min_ratio",
                                          "workload.trajectory_start_max_ratio",
                                          "workload.warmup_requests_per_lane",
                                          "workload.trace_idle_gap_cap_seconds",
                                          "workload.system_idle_gap_cap_seconds",
                                          "workload.num_dataset_entries",
                                          "workload.max_context_length",
                                          "workload.random_seed"}) {
        if (given(path)) {
          ignored(path, "there is no agent_scenario");
        }
      }
      return;
    }
    for (const std::string_view path : {"workload.trace_start",
                                        "workload.trace_end",
                                        "workload.trace_tenant",
                                        "workload.trace_model",
                                        "workload.trace_speed_up",
                                        "workload.trace_sessions",
                                        "workload.skip_bad_rows",
                                        "workload.num_prompts",
                                        "workload.request_rate",
                                        "workload.arrivals",
                                        "workload.burstiness"}) {
      if (given(path)) {
        ignored(path, "lanes of the agent replay send when their turns are due");
      }
    }
    if (given("warmup")) {
      ignored("warmup", "the agent replay warms up by itself");
    }
    if (!workload.trace) {
      ignored("workload.agent_scenario", "there is no trace");
    } else if (!workload.max_concurrency) {
      missing("workload.max_concurrency", "--max-concurrency 16: lanes of the agent replay");
    }
    if (workload.trajectory_start_min_ratio && workload.trajectory_start_max_ratio &&
        *workload.trajectory_start_min_ratio > *workload.trajectory_start_max_ratio) {
      errors_.push_back({.field = "workload.trajectory_start_min_ratio",
                         .message = fmt::format("found {}, expected at most "
                                                "trajectory_start_max_ratio, {}",
                                                *workload.trajectory_start_min_ratio,
                                                *workload.trajectory_start_max_ratio)});
    }
  }

  void trace() {
    // What a trace brings itself.
    for (const std::string_view path : {"workload.input_len",
                                        "workload.output_len",
                                        "workload.prefix_len",
                                        "workload.num_prefixes",
                                        "workload.prefix_choice",
                                        "workload.prefix_zipf_exponent",
                                        "workload.think_time",
                                        "workload.think_time_distribution"}) {
      if (given(path)) {
        ignored(path, "a trace brings its own requests");
      }
    }
    const auto& workload = loaded_.scenario.workload;
    const bool drawn = workload.request_rate.has_value();
    const bool at_once = workload.arrivals == "at-once";
    depend({{"workload.arrivals",
             drawn || at_once,
             "the trace has times; --request-rate draws others"},
            {"workload.request_rate", !at_once, "all requests come at once"},
            {"workload.burstiness", drawn, "the trace has times; --request-rate draws others"},
            {"workload.burstiness",
             workload.arrivals.value_or("poisson") == "poisson",
             "only poisson arrivals have it"},
            {"workload.trace_speed_up",
             !drawn && !at_once,
             "the requests do not come at their times"}});
  }

  void synthetic(Purpose purpose) {
    const auto& workload = loaded_.scenario.workload;
    const bool closed = workload.max_concurrency.has_value() && !workload.request_rate;
    const bool at_once = workload.arrivals == "at-once";
    constexpr std::string_view kClosed =
        "with max_concurrency and no request_rate a client sends when it has its answer";
    const bool has_prefix = workload.prefix_len.value_or(0) > 0;
    for (const auto& option : options()) {
      const bool of_trace =
          option.path.starts_with("workload.trace_") || option.path == "workload.skip_bad_rows";
      if (of_trace && given(option.path)) {
        ignored(option.path, "there is no trace");
      }
    }
    depend({{"workload.arrivals", !closed || at_once, kClosed},
            {"workload.request_rate", !at_once, "all requests come at once"},
            {"workload.burstiness", !closed, kClosed},
            {"workload.burstiness",
             workload.arrivals.value_or("poisson") == "poisson",
             "only poisson arrivals have it"},
            {"workload.think_time",
             closed,
             "only clients of a closed loop think: max_concurrency without request_rate"},
            {"workload.think_time_distribution",
             workload.think_time.has_value(),
             "there is no think_time"},
            {"workload.num_prefixes", has_prefix, "prefix_len is 0"},
            {"workload.prefix_choice", has_prefix, "prefix_len is 0"},
            {"workload.prefix_zipf_exponent",
             workload.prefix_choice == "zipf",
             "prefix_choice is not zipf"}});
    if (purpose == Purpose::kReplay) {
      missing("workload.trace", "--trace FILE");
    } else if (purpose != Purpose::kLook) {
      requests_needed(closed, at_once);
    }
  }

 private:
  /// A setting that is of use only beside others.
  struct Dependency {
    std::string_view path;
    bool of_use;
    std::string_view why_not;
  };

  void depend(std::initializer_list<Dependency> dependencies) {
    for (const auto& [path, of_use, why_not] : dependencies) {
      if (given(path) && !of_use) {
        ignored(path, why_not);
      }
    }
  }
  [[nodiscard]] bool given(std::string_view path) const { return findings_.given(path); }
  void forget(std::string_view path) {
    *std::ranges::find(loaded_.provenance, path, &Provenance::path) = {.path = std::string(path)};
  }
  void requests_needed(bool closed, bool at_once) {
    const auto& workload = loaded_.scenario.workload;
    if (!workload.request_rate && !closed && !at_once) {
      missing("workload.request_rate",
              "--request-rate 8, --max-concurrency 16, --arrivals at-once, or --trace FILE");
    }
    if (!workload.input_len) {
      missing("workload.input_len", "--input-len 512");
    }
    if (!workload.output_len) {
      missing("workload.output_len", "--output-len 256");
    }
    if (!errors_.empty()) {
      return;
    }
    WorkloadSection filled = workload;
    fill_workload(filled);
    for (auto& error :
         workload::check_options(synthetic_options(filled, loaded_.scenario.run.seed))) {
      if (find_option(error.field) != nullptr) {
        error.where = loaded_.of(error.field).where;
      }
      errors_.push_back(std::move(error));
    }
  }
  void missing(std::string field, std::string hint) {
    errors_.push_back({.field = std::move(field), .message = "missing", .hint = std::move(hint)});
  }
  void ignored(std::string_view path, std::string_view why) { findings_.ignored(path, why); }

  LoadedScenario& loaded_;
  core::Errors& errors_;
  Findings findings_;
};

}  // namespace

std::string why_no_cache_state(const Scenario& scenario) {
  const ClusterSection& cluster = scenario.run.cluster;
  if (cluster.disaggregation.prefill_instances || cluster.autoscaling.name ||
      cluster.kv_offload.has_tier() || attention_ranks(scenario.deployment.engine).ranks > 1) {
    return "instances start cold where they come and go, where prefill and decode are apart, where "
           "KV is kept outside the GPUs, and where they are ranks of one engine";
  }
  if (!caches_prefixes(scenario.deployment.engine)) {
    const std::string key = own_key(scenario.deployment.engine, "enable_prefix_caching");
    return fmt::format(
        "would be ignored: {} is {}", key, key.starts_with("disable") ? "on" : "off");
  }
  return {};
}

void check_rules(LoadedScenario& loaded, Purpose purpose, core::Errors& errors) {
  Rules rules(loaded, errors);
  rules.engine_name();
  if (purpose != Purpose::kSend) {
    rules.network_and_gpu();
  }
  rules.kv_capacity();
  rules.cache_state();
  rules.adapters();
  rules.structured_outputs();
  rules.engine_settings();
  rules.cluster();
  rules.agents();
  if (loaded.scenario.workload.trace) {
    rules.trace();
  } else {
    rules.synthetic(purpose);
  }
}

void check_names(const LoadedScenario& loaded, core::Errors& errors) {
  const auto note = [&](core::Errors found, std::string_view field) {
    for (core::Error& error : found) {
      error.field = error.field.empty() ? std::string(field) : error.field;
      error.where = error.where.file.empty() ? loaded.of(field).where : error.where;
      errors.push_back(std::move(error));
    }
  };
  const DeploymentSection& deployment = loaded.scenario.deployment;
  if (auto network = model::find_model_document(deployment.model);
      !network && !deployment.model.empty()) {
    note(std::move(network.error()), "model");
  }
  if (auto gpu = hardware::find_gpu_document(deployment.gpu); !gpu && !deployment.gpu.empty()) {
    note(std::move(gpu.error()), "gpu");
  }
  if (auto version = engine::find_engine(deployment.engine.version); !version) {
    note(std::move(version.error()), "engine.version");
  }
}

}  // namespace ridgeline::scenario
