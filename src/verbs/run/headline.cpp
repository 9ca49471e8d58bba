#include "verbs/run/headline.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "document/catalogue.hpp"
#include "domain/step.hpp"
#include "engine/schedulers.hpp"
#include "latency/measured/table_notes.hpp"
#include "latency/step_time_model.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "report/format.hpp"
#include "scenario/length.hpp"
#include "scenario/options.hpp"
#include "scenario/pools.hpp"
#include "scenario/rank_share.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/simulation.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {

namespace {

/// The step-time model that a headline need not name.
constexpr std::string_view kUsualLatency = "kernel";

/// The network as it was asked for, and what its name does not say: which of the catalogue it is,
/// and formats other than 16 bits.
std::string network_text(const scenario::Deployment& deployment) {
  const model::ModelSpec& network = deployment.network;
  const std::string& asked = deployment.section.model;
  std::vector<std::string> notes;
  const auto says = [&](std::string_view word) {
    return core::lower_case(asked).find(word) != std::string::npos;
  };
  if (core::lower_case(asked) != core::lower_case(network.name)) {
    notes.push_back(network.name);
  }
  const std::string_view weights = model::name(network.precision.ffn);
  const bool is_plain =
      network.precision.ffn == model::DType::kBf16 || network.precision.ffn == model::DType::kFp16;
  // "fp8" of "fp8 in blocks" is as much as names say.
  if (!is_plain && !says(weights.substr(0, weights.find(' ')))) {
    notes.emplace_back(weights);
  }
  if (network.precision.kv == model::DType::kFp8) {
    notes.push_back(fmt::format("KV {}", model::name(network.precision.kv)));
  }
  return notes.empty() ? asked : fmt::format("{} ({})", asked, fmt::join(notes, ", "));
}

std::string arrivals_text(const scenario::WorkloadSection& workload) {
  if (!workload.request_rate) {
    return "all requests at once";
  }
  std::string kind = "constant";
  if (workload.arrivals != "constant") {
    const double burstiness = workload.burstiness.value_or(1.0);
    kind = burstiness == 1.0 ? "Poisson" : fmt::format("gamma, burstiness {}", burstiness);
  }
  return fmt::format("{} req/s ({})", *workload.request_rate, kind);
}

/// "512 in, 256 out", "128 + 512 in, 256 out" with a prefix; empty of a trace.
std::string lengths_text(const scenario::WorkloadSection& workload) {
  if (workload.trace || !workload.input_len || !workload.output_len) {
    return {};
  }
  const std::string prefix =
      workload.prefix_len.value_or(0) > 0 ? fmt::format("{} + ", *workload.prefix_len) : "";
  return fmt::format("{}{} in, {} out",
                     prefix,
                     scenario::short_text(*workload.input_len),
                     scenario::short_text(*workload.output_len));
}

std::string workload_text(const scenario::WorkloadSection& workload) {
  std::string text;
  if (workload.trace) {
    const double speed_up = workload.trace_speed_up.value_or(1.0);
    text = *workload.trace + (speed_up == 1.0 ? "" : fmt::format(" at {}x speed", speed_up));
    if (workload.request_rate || workload.arrivals == "at-once") {
      text += ", " + arrivals_text(workload);
    }
  } else if (workload.max_concurrency && !workload.request_rate) {
    return report::counted(*workload.max_concurrency, "client") + " in a closed loop";
  } else {
    text = arrivals_text(workload);
  }
  if (workload.max_concurrency) {
    text += fmt::format(", {} at most in flight", report::grouped(*workload.max_concurrency));
  }
  return text;
}

/// The engine, by the profile whose rules it follows; of all pools.
std::string engine_text(const scenario::Resolved& resolved) {
  std::vector<std::string> names;
  const auto add = [&](const scenario::Deployment& deployment) {
    const std::string& version = deployment.section.engine.version;
    const auto choice = engine::find_engine(version);
    const std::string& name = choice ? choice->profile : version;
    if (std::ranges::find(names, name) == names.end()) {
      names.push_back(name);
    }
  };
  if (resolved.pools.empty()) {
    add(*resolved.deployment);
  }
  for (const scenario::ResolvedPool& pool : resolved.pools) {
    add(*pool.deployment);
  }
  return fmt::format("{}", fmt::join(names, " and "));
}

}  // namespace

std::string deployment_text(const scenario::Deployment& deployment) {
  const model::Sharding& sharding = deployment.execution.sharding;
  std::string cut = fmt::format("TP{}", sharding.tensor_parallel_size);
  const auto add = [&cut](std::int64_t size, std::string_view name) {
    cut += size > 1 ? fmt::format(" {}{}", name, size) : std::string();
  };
  add(sharding.pipeline_parallel_size, "PP");
  add(sharding.data_parallel_size, "DP");
  add(sharding.prefill_context_parallel_size, "PCP");
  cut += sharding.expert_parallel ? " EP" : "";
  const std::string gpus =
      sharding.gpus() == 1 ? deployment.gpu.name
                           : fmt::format("{}x {} ({})", sharding.gpus(), deployment.gpu.name, cut);
  return fmt::format("{} on {}", network_text(deployment), gpus);
}

std::optional<Deployment> deployment_of(const scenario::Resolved& resolved,
                                        const sim::RunOutcome& outcome) {
  const scenario::RankShare share = resolved.workload.share();
  if (share.ranks() == 1) {
    return std::nullopt;
  }
  const metrics::Summary& summary = outcome.summary;
  const scenario::WorkloadSection& workload = resolved.workload.section;
  std::optional<std::int64_t> requests = workload.num_prompts;
  double times = share.times();
  if (workload.trace && summary.requests() > 0) {
    requests = summary.requests() + outcome.of_other_ranks;
    times = static_cast<double>(*requests) / static_cast<double>(summary.requests());
  }
  const auto of_all = [times](const std::optional<double>& rank) {
    return rank ? std::optional(*rank * times) : std::nullopt;
  };
  return Deployment{.data_parallel_size = share.ranks(),
                    .loaded_ranks = share.loaded_ranks(),
                    .request_rate = workload.request_rate,
                    .rank_request_rate = resolved.workload.of_rank().request_rate,
                    .requests = requests,
                    .rank_requests = summary.requests(),
                    .request_throughput = of_all(summary.request_throughput),
                    .output_throughput = of_all(summary.output_throughput),
                    .total_token_throughput = of_all(summary.total_token_throughput),
                    .goodput = of_all(summary.goodput)};
}

std::vector<std::string> headline(const scenario::Resolved& resolved,
                                  const sim::RunOutcome& outcome) {
  std::vector<std::string> pieces = {deployment_text(*resolved.deployment),
                                     engine_text(resolved),
                                     workload_text(resolved.workload.section)};
  if (std::string lengths = lengths_text(resolved.workload.section); !lengths.empty()) {
    pieces.push_back(std::move(lengths));
  }
  if (const std::string& model = resolved.deployment->section.latency.name;
      model != kUsualLatency) {
    pieces.front() += fmt::format(", step times by {}", model);
  }
  const auto deployment = deployment_of(resolved, outcome);
  const std::string requests = report::counted(outcome.summary.requests(), "request");
  if (!deployment) {
    pieces.push_back(requests);
  } else {
    if (deployment->requests) {
      pieces.push_back(report::counted(*deployment->requests, "request"));
    }
    const auto& rate = deployment->rank_request_rate;
    pieces.push_back(fmt::format("simulated: 1 of {} ranks, {}{}",
                                 deployment->data_parallel_size,
                                 rate ? fmt::format("{} req/s, ", *rate) : "",
                                 requests));
  }
  if (!resolved.workload.section.trace) {
    pieces.push_back(fmt::format("seed {}", resolved.run.seed));
  }
  return pieces;
}

std::string place_text(const core::Location& where) {
  if (where.file == "command line") {
    return {};
  }
  std::string text = where.file;
  if (where.line > 0) {
    text += fmt::format(":{}:{}", where.line, where.column);
  }
  return text;
}

/// The head shape of the network, and the files that price its steps: those of a step with a prompt
/// and a decode.
std::string chosen_tables_text(const scenario::Deployment& deployment) {
  const std::vector<core::Tokens> lengths = {core::Tokens(1)};
  const std::vector<domain::PrefillChunk> prefills = {{.past = {}, .new_tokens = core::Tokens(1)}};
  const auto explanation = deployment.latency->explain({.num_decodes = 1,
                                                        .decode_context = core::Tokens(1),
                                                        .shared_context = {},
                                                        .decode_lengths = lengths,
                                                        .prefills = prefills});
  constexpr std::string_view kEnding = ".csv";
  std::vector<std::string> files;
  for (const auto* const side : {&explanation.parts, &explanation.hidden}) {
    for (const latency::OperatorTime& part : *side) {
      const auto end = part.source.find(kEnding);
      const std::string file = end == std::string::npos
                                   ? ""
                                   : core::shown_path(part.source.substr(0, end + kEnding.size()));
      if (!file.empty() && std::ranges::find(files, file) == files.end()) {
        files.push_back(file);
      }
    }
  }
  const model::ModelSpec& network = deployment.network;
  const model::AttentionSpec& attention = network.layers.front().attention;
  return files.empty() ? ""
                       : fmt::format("{}, heads {}-{}-{}, reads {}\n",
                                     network.name,
                                     attention.heads,
                                     attention.kv_heads,
                                     attention.head_dim,
                                     fmt::join(files, ", "));
}

std::string provenance_text(const scenario::Resolved& resolved) {
  std::string text;
  const scenario::Scenario scenario = resolved.scenario();
  for (const auto& provenance : resolved.provenance) {
    if (provenance.origin == scenario::Provenance::Origin::kDefault) {
      continue;
    }
    const std::string place = place_text(provenance.where);
    const scenario::Option* option = scenario::find_option(provenance.path);
    text += fmt::format("{} = {} ({}{}{})\n",
                        provenance.path,
                        core::escaped(scenario::value_text(*option, scenario)),
                        scenario::name(provenance.origin),
                        place.empty() ? "" : ", ",
                        core::escaped(place));
  }
  if (const auto& tables = resolved.deployment->section.latency.bench_data) {
    text += latency::measured::loaded_text(*tables, resolved.deployment->gpu);
    text += chosen_tables_text(*resolved.deployment);
  }
  return text;
}

}  // namespace ridgeline::verbs
