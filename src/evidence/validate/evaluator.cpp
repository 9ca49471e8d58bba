#include "evidence/validate/evaluator.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "evidence/validate/client_load.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/loose_node.hpp"
#include "evidence/validate/strict_map.hpp"
#include "scenario/options.hpp"

namespace ridgeline::evidence::validate {
namespace {

/// Without bounds guidellm draws within so many deviations of the mean.
constexpr double kDeviations = 5.0;
constexpr double kRequestsPerPoint = 1000.0;

TokenCounts read_counts(StrictMap& data, const std::string& name, double prefix) {
  const double mean = static_cast<double>(data.count(name).value_or(0));
  const auto std = data.number(name + "_stdev");
  const double reach = kDeviations * std.value_or(0.0);
  const auto bound = [&](const char* end, double otherwise) {
    const auto stated = data.count(name + end);
    return stated ? static_cast<double>(*stated) : otherwise;
  };
  const double lowest = bound("_min", std::max(0.0, mean - reach));
  const double highest = bound("_max", mean + reach);
  if (mean < 1.0) {
    data.refuse(name, "a number of tokens, 1 or more");
  } else if (lowest > highest) {
    data.refuse(name + "_min", fmt::format("{}_max, {}, or less", name, highest));
  }
  using Law = TokenCounts::Law;
  const bool is_fixed = lowest == highest;
  const Law law = is_fixed ? Law::kFixed : std.value_or(0.0) > 0.0 ? Law::kNormal : Law::kUniform;
  const double centre = is_fixed ? lowest : law == Law::kUniform ? (lowest + highest) / 2.0 : mean;
  return {.law = law,
          .mean = prefix + centre,
          .std = law == Law::kNormal ? *std : 0.0,
          .lowest = prefix + lowest,
          .highest = prefix + highest};
}

/// What `rate_type` says of the arrivals at one point's rate; nothing for a word that guidellm does
/// not have.
std::optional<StageLoad> load_at(const std::string& rate_type,
                                 double rate,
                                 double requests,
                                 const std::optional<double>& clients) {
  if (rate_type == "sweep" || rate_type == "constant" || rate_type == "poisson") {
    return open_load(requests,
                     requests / rate,
                     rate_type == "poisson" ? StageLoad::Kind::kRandom : StageLoad::Kind::kEven);
  }
  if (rate_type == "synchronous" || rate_type == "concurrent") {
    return closed_load(requests, rate_type == "concurrent" ? clients.value_or(1.0) : 1.0);
  }
  if (rate_type == "throughput") {
    return open_load(requests, 0.0, StageLoad::Kind::kAtOnce);
  }
  return std::nullopt;
}

/// The load of `workload_config`, but for a point's rate.
struct Workload {
  std::string rate_type;
  std::optional<double> clients;
  std::optional<std::int64_t> requests;
  std::optional<double> seconds;
};

Workload read_workload(StrictMap& section, Evidence& evidence) {
  Workload load;
  load.rate_type = section.text("rate_type");
  // A list of rates, a sweep's number of them, or a number of clients.
  section.pass_over("rate");
  load.requests = section.count("max_requests");
  load.seconds = section.number("max_seconds");
  if (load.rate_type == "concurrent") {
    load.clients = section.number("rate");
  }
  for (const char* unneeded : {"target", "random_seed", "random-seed"}) {
    section.pass_over(unneeded);
  }
  StrictMap data(section.map("data"), "workload_config.data");
  read_synthetic_data(data, evidence);
  return load;
}

void take_problems(const StrictMap& section, Evidence& evidence) {
  if (evidence.problem.empty()) {
    evidence.problem = section.problem();
  }
  for (std::string& line : section.unread()) {
    evidence.doubts.push_back(fmt::format("{}: {}", evidence.id, std::move(line)));
  }
}

void read_point(StrictMap& point, Evidence& evidence) {
  constexpr auto kKeys = std::to_array<std::pair<Figure, std::string_view>>(
      {{Figure::kTtft, "ttft"}, {Figure::kItl, "itl"}, {Figure::kE2e, "e2e"}});
  constexpr auto kEnds = std::to_array<std::pair<Level, std::string_view>>(
      {{Level::kMean, "mean"}, {Level::kP50, "p50"}, {Level::kP90, "p90"}, {Level::kP99, "p99"}});
  for (const auto& [figure, name] : kKeys) {
    for (const auto& [level, end] : kEnds) {
      const std::string key = fmt::format("{}_{}_ms", name, end);
      const auto value = point.number(key);
      if (value && *value > 0.0) {
        evidence.measured.at(figure, level) = value;
      }
    }
  }
  // The server's own time per token is one number over all requests.
  for (const Level level : {Level::kP50, Level::kP90, Level::kP99}) {
    if (evidence.measured.at(Figure::kItl, level)) {
      evidence.measured.at(Figure::kItl, level).reset();
      evidence.doubts.push_back(fmt::format("{}: of itl the mean alone is compared", evidence.id));
    }
  }
}

void set_load(const Workload& load, double rate, Evidence& evidence) {
  double requests = static_cast<double>(load.requests.value_or(0));
  if (!load.requests && load.seconds && rate > 0.0) {
    requests = *load.seconds * rate;
  } else if (!load.requests) {
    requests = kRequestsPerPoint;
    evidence.assumed.emplace_back("1000 requests at each rate: the file states no max_requests");
  }
  std::string rate_type = load.rate_type;
  if (rate_type.empty()) {
    rate_type = "constant";
    evidence.assumed.emplace_back("evenly spaced arrivals: the file states no rate_type");
  }
  auto stage = load_at(rate_type, rate, requests, load.clients);
  if (!stage) {
    evidence.problem = fmt::format(
        "workload_config.rate_type: found \"{}\", expected sweep, constant, poisson, concurrent, "
        "synchronous or throughput",
        rate_type);
    return;
  }
  const bool is_open = stage->concurrency == 0 && stage->duration_s > 0.0;
  evidence.strategy = rate_type == "sweep" ? "constant" : rate_type;
  evidence.closed_loop = stage->concurrency > 0;
  if (is_open) {
    evidence.offered_per_s = rate;
  }
  if (rate_type == "sweep") {
    evidence.assumed.emplace_back(
        "evenly spaced arrivals at each rate of a sweep, as guidellm sends them");
  }
  // A sweep's stages before its rates have sent the prefix already.
  stage->name = evidence.stage;
  evidence.stages.push_back(std::move(*stage));
}

Evidence read_sweep_point(const document::Node& node, std::size_t place, std::size_t number) {
  Evidence evidence;
  evidence.family = kEvaluatorFamily;
  evidence.generator = "guidellm";
  evidence.server_clock = true;
  evidence.itl_of_server = true;
  evidence.usual_gpu = kEvaluatorGpu;
  StrictMap experiment(&node, fmt::format("experiments[{}]", place));
  std::string name = experiment.text("experiment_name");
  if (name.empty()) {
    name = fmt::format("experiment {}", place);
  }
  // 0 and 1 were the synchronous and the throughput run of a sweep.
  evidence.stage = fmt::format("{}", number + 2);
  evidence.model = experiment.text("model");
  const document::Node* sweeps = experiment.list("qps_sweeps");
  StrictMap point(sweeps == nullptr ? nullptr : &sweeps->items()[number],
                  fmt::format("qps_sweeps[{}]", number));
  const double rate = point.number("qps").value_or(0.0);
  evidence.id = fmt::format("{} at {:.4g}/s", name, rate);
  StrictMap server(experiment.map("vllm_config"), "vllm_config");
  read_server_section(server, evidence);
  evidence.server.num_gpu_blocks = experiment.count("total_kv_blocks");
  StrictMap load(experiment.map("workload_config"), "workload_config");
  if (evidence.model.empty()) {
    experiment.refuse("model", "the network's name");
  }
  const Workload workload = read_workload(load, evidence);
  read_point(point, evidence);
  if (rate <= 0.0) {
    point.refuse("qps", "a number above 0");
  } else {
    set_load(workload, rate, evidence);
  }
  for (const StrictMap* section : {&experiment, &server, &load, &point}) {
    take_problems(*section, evidence);
  }
  evidence.sources = {"vllm_config: the deployment",
                      "workload_config: arrivals, lengths and what all prompts begin with",
                      "qps_sweeps: the server's times"};
  if (evidence.server.num_gpu_blocks) {
    evidence.sources.push_back(
        fmt::format("total_kv_blocks: {} KV blocks", *evidence.server.num_gpu_blocks));
  }
  evidence.assumed.emplace_back(
      "TTFT and E2E are the server's, and itl is (prefill + decode time) / output tokens, as the "
      "evaluator aggregates them");
  require_load(evidence);
  return evidence;
}

}  // namespace

void read_server_section(StrictMap& section, Evidence& evidence) {
  if (std::string model = section.text("model"); evidence.model.empty()) {
    evidence.model = std::move(model);
  }
  const auto ranks = section.count("tensor_parallelism");
  if (!ranks) {
    evidence.assumed.emplace_back("tensor parallelism 1: the file states no tensor_parallelism");
  }
  evidence.tensor_parallel = std::max<std::int64_t>(1, ranks.value_or(1));
  evidence.server.max_model_len = section.count("max_model_len");
  evidence.server.max_num_batched_tokens = section.count("max_num_batched_tokens");
  evidence.server.max_num_seqs = section.count("max_num_seqs");
  evidence.workload = section.text("app");
  // Any other setting of the engine goes by the engine's own name.
  for (const std::string& key : section.rest()) {
    if (scenario::find_option("engine." + key) == nullptr) {
      continue;
    }
    if (std::string text = section.flag(key); !text.empty()) {
      evidence.stated.emplace_back("engine." + key, std::move(text));
    }
  }
}

void read_synthetic_data(StrictMap& data, Evidence& evidence) {
  const std::int64_t prefix = data.count("prefix_tokens").value_or(0);
  data.pass_over("source");  // Which text the tokens are of.
  evidence.sharing.shared_prefix = prefix;
  evidence.input = read_counts(data, "prompt_tokens", static_cast<double>(prefix));
  evidence.output = read_counts(data, "output_tokens", 0.0);
  if (evidence.problem.empty()) {
    evidence.problem = data.problem();
  }
  for (std::string& line : data.unread()) {
    evidence.doubts.push_back(std::move(line));
  }
}

std::vector<Evidence> read_evaluator(const document::Node& document) {
  std::vector<Evidence> all;
  const auto experiments = items_at(document, "experiments");
  for (std::size_t i = 0; i < experiments.size(); ++i) {
    const std::size_t points =
        std::max<std::size_t>(1, items_at(experiments[i], "qps_sweeps").size());
    for (std::size_t j = 0; j < points; ++j) {
      all.push_back(read_sweep_point(experiments[i], i, j));
    }
  }
  return all;
}

}  // namespace ridgeline::evidence::validate
