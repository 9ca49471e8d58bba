#include "sim/scenario_rules.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/result.hpp"
#include "engine/profiles.hpp"
#include "hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "sim/options.hpp"
#include "sim/requests.hpp"
#include "sim/scenario.hpp"
#include "workload/options.hpp"

namespace ridgeline::sim {

namespace {

class Rules {
 public:
  Rules(LoadedScenario& loaded, core::Errors& errors) : loaded_(loaded), errors_(errors) {}

  void network_and_gpu() {
    if (loaded_.scenario.model.empty()) {
      missing("model", "--model llama-3.1-8b; `ridgeline list models` names the catalogue");
    }
    if (loaded_.scenario.gpu.empty()) {
      missing("gpu", "--gpu h100; `ridgeline list gpus` names the catalogue");
    }
  }

  /// num_gpu_blocks and gpu_memory_utilization say the same in two ways: the flag's wins over the
  /// file's. Both from one place are compared when the memory is known (resolve).
  void kv_capacity() {
    auto& engine = loaded_.scenario.engine;
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

  void trace() {
    for (const auto& option : options()) {
      const bool is_synthetic = option.section() == "workload" &&
                                !option.key().starts_with("trace") &&
                                option.key() != "num_prompts" && option.key() != "skip_bad_rows";
      if (is_synthetic && given(option.path)) {
        ignored(option.path, "a trace brings its own requests");
      }
    }
  }

  void synthetic(Purpose purpose) {
    const auto& workload = loaded_.scenario.workload;
    const bool closed = workload.max_concurrency.has_value();
    const bool at_once = workload.arrivals == "at-once";
    constexpr std::string_view kClosed =
        "with max_concurrency a client sends when it has its answer";
    struct Dependency {
      std::string_view path;
      bool of_use;
      std::string_view why_not;
    };
    const bool has_prefix = workload.prefix_len.value_or(0) > 0;
    for (const auto& [path, of_use, why_not] : {
             Dependency{"workload.trace_start", false, "there is no trace"},
             Dependency{"workload.trace_speed_up", false, "there is no trace"},
             Dependency{"workload.trace_sessions", false, "there is no trace"},
             Dependency{"workload.skip_bad_rows", false, "there is no trace"},
             Dependency{"workload.arrivals", !closed, kClosed},
             Dependency{"workload.request_rate", !closed, kClosed},
             Dependency{"workload.request_rate", !at_once, "all requests come at once"},
             Dependency{"workload.burstiness", !closed, kClosed},
             Dependency{"workload.burstiness",
                        workload.arrivals.value_or("poisson") == "poisson",
                        "only poisson arrivals have it"},
             Dependency{"workload.think_time",
                        closed,
                        "only clients of a closed loop (max_concurrency) think"},
             Dependency{"workload.think_time_distribution",
                        workload.think_time.has_value(),
                        "there is no think_time"},
             Dependency{"workload.num_prefixes", has_prefix, "prefix_len is 0"},
             Dependency{"workload.prefix_choice", has_prefix, "prefix_len is 0"},
             Dependency{"workload.prefix_zipf_exponent",
                        workload.prefix_choice == "zipf",
                        "prefix_choice is not zipf"},
         }) {
      if (given(path) && !of_use) {
        ignored(path, why_not);
      }
    }
    if (purpose == Purpose::kReplay) {
      missing("workload.trace", "--trace FILE");
    } else if (purpose == Purpose::kRun) {
      requests_needed(closed, at_once);
    }
  }

 private:
  [[nodiscard]] bool given(std::string_view path) const {
    return loaded_.of(path).origin != Provenance::Origin::kDefault;
  }
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
    Scenario filled = loaded_.scenario;
    fill_workload(filled.workload);
    for (auto& error : workload::check_options(synthetic_options(filled))) {
      if (find_option(error.field) != nullptr) {
        error.where = loaded_.of(error.field).where;
      }
      errors_.push_back(std::move(error));
    }
  }
  void missing(std::string field, std::string hint) {
    errors_.push_back({.field = std::move(field), .message = "missing", .hint = std::move(hint)});
  }
  void ignored(std::string_view path, std::string_view why) {
    errors_.push_back({.field = std::string(path),
                       .message = fmt::format("would be ignored: {}", why),
                       .where = loaded_.of(path).where,
                       .hint = "take it out, or what stands against it"});
  }

  LoadedScenario& loaded_;
  core::Errors& errors_;
};

}  // namespace

void check_rules(LoadedScenario& loaded, Purpose purpose, core::Errors& errors) {
  Rules rules(loaded, errors);
  rules.network_and_gpu();
  rules.kv_capacity();
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
  const Scenario& scenario = loaded.scenario;
  if (auto network = model::find_model_document(scenario.model);
      !network && !scenario.model.empty()) {
    note(std::move(network.error()), "model");
  }
  if (auto gpu = hardware::find_gpu_document(scenario.gpu); !gpu && !scenario.gpu.empty()) {
    note(std::move(gpu.error()), "gpu");
  }
  if (auto version = engine::find_profile(scenario.engine.version); !version) {
    note(std::move(version.error()), "engine.version");
  }
}

}  // namespace ridgeline::sim
