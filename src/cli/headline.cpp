#include "cli/headline.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "metrics/summary.hpp"
#include "model/operators.hpp"
#include "report/format.hpp"
#include "sim/options.hpp"
#include "sim/resolve.hpp"
#include "sim/scenario.hpp"

namespace ridgeline::cli {

namespace {

std::string workload_text(const sim::WorkloadSection& workload) {
  if (workload.trace) {
    const double speed_up = workload.trace_speed_up.value_or(1.0);
    return *workload.trace + (speed_up == 1.0 ? "" : fmt::format(" at {}x speed", speed_up));
  }
  if (workload.max_concurrency) {
    return fmt::format("{} clients in a closed loop", report::grouped(*workload.max_concurrency));
  }
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

}  // namespace

std::string deployment_text(const sim::Resolved& resolved) {
  const model::Sharding& sharding = resolved.execution.sharding;
  std::string cut = fmt::format("TP{}", sharding.tensor_parallel_size);
  const auto add = [&cut](std::int64_t size, std::string_view name) {
    cut += size > 1 ? fmt::format(" {}{}", name, size) : std::string();
  };
  add(sharding.pipeline_parallel_size, "PP");
  add(sharding.data_parallel_size, "DP");
  add(sharding.prefill_context_parallel_size, "PCP");
  cut += sharding.expert_parallel ? " EP" : "";
  const std::string gpus =
      sharding.gpus() == 1 ? resolved.gpu.name
                           : fmt::format("{}x {} ({})", sharding.gpus(), resolved.gpu.name, cut);
  return fmt::format("{} on {}", resolved.network.name, gpus);
}

std::vector<std::string> headline(const sim::Resolved& resolved, const metrics::Summary& summary) {
  std::vector<std::string> pieces = {deployment_text(resolved),
                                     workload_text(resolved.scenario.workload)};
  pieces.push_back(fmt::format("{} requests", report::grouped(summary.requests())));
  if (!resolved.scenario.workload.trace) {
    pieces.push_back(fmt::format("seed {}", resolved.scenario.seed));
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

std::string provenance_text(const sim::Resolved& resolved) {
  std::string text;
  for (const auto& provenance : resolved.provenance) {
    if (provenance.origin == sim::Provenance::Origin::kDefault) {
      continue;
    }
    const std::string place = place_text(provenance.where);
    const sim::Option* option = sim::find_option(provenance.path);
    text += fmt::format("{} = {} ({}{}{})\n",
                        provenance.path,
                        sim::value_text(*option, resolved.scenario),
                        sim::name(provenance.origin),
                        place.empty() ? "" : ", ",
                        place);
  }
  return text;
}

}  // namespace ridgeline::cli
