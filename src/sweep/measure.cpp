#include "sweep/measure.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "model/operators.hpp"
#include "scenario/accuracy_question.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "sim/fleet_pools.hpp"
#include "sim/operations.hpp"
#include "sim/simulation.hpp"

namespace ridgeline::sweep {
namespace {

using document::MapBuilder;

using metrics::Statistic;

/// Statistics of a distribution. The others of a result (std, max) say little of a deployment.
constexpr std::array kStatistics = {
    Statistic::kMean, Statistic::kP50, Statistic::kP90, Statistic::kP95, Statistic::kP99};

document::Node number(std::optional<double> value) {
  return value && std::isfinite(*value) ? document::Node::real(*value, {})
                                        : document::Node::null({});
}

document::Node truth(std::optional<bool> value) {
  return value ? document::Node::boolean(*value, {}) : document::Node::null({});
}

MapBuilder distribution(const std::optional<metrics::Distribution>& distribution) {
  MapBuilder map;
  for (const Statistic statistic : kStatistics) {
    map.add(metrics::kStatisticNames[static_cast<std::size_t>(statistic)],
            number(distribution ? std::optional(distribution->of(statistic)) : std::nullopt));
  }
  return map;
}

/// Whether every target is met; nothing without targets.
std::optional<bool> meets_targets(const metrics::Summary& summary) {
  if (summary.slo.empty()) {
    return std::nullopt;
  }
  bool met = true;
  for (const metrics::SloVerdict& verdict : summary.slo) {
    met = met && verdict.met.value_or(false);
  }
  return met;
}

document::Node codes(const core::Warnings& first, const core::Warnings& second) {
  std::vector<document::Node> found;
  for (const core::Warnings* warnings : {&first, &second}) {
    for (const core::Warning& warning : *warnings) {
      found.push_back(document::Node::string(warning.code, {}));
    }
  }
  return document::Node::list(std::move(found), {});
}

/// GPUs that the numbers are of: of data-parallel ranks, those of one.
std::int64_t gpus_of(const scenario::Resolved& resolved) {
  const auto of = [](const scenario::Deployment& deployment, std::int64_t places) {
    return deployment.execution.sharding.gpus_of_rank() * places;
  };
  if (resolved.pools.empty()) {
    return of(*resolved.deployment, std::max<std::int64_t>(sim::num_places(resolved), 1));
  }
  std::int64_t gpus = 0;
  for (const scenario::ResolvedPool& pool : resolved.pools) {
    gpus += of(*pool.deployment, sim::places_of_pool(resolved, pool.section));
  }
  return gpus;
}

/// Counts sessions, where requests are their turns.
class Sessions final : public metrics::Listener {
 public:
  void on_arrival(const domain::Request& request) override {
    begun_ += request.session.valid() && request.turn == 0 ? 1 : 0;
    has_turns_ = has_turns_ || request.turn > 0;
  }
  void on_request(const domain::RequestRecord& record,
                  const metrics::RequestMetrics& request) override {
    static_cast<void>(record);
    static_cast<void>(request);
  }
  [[nodiscard]] std::optional<std::int64_t> count() const {
    return has_turns_ ? std::optional(begun_) : std::nullopt;
  }

 private:
  std::int64_t begun_ = 0;
  bool has_turns_ = false;
};

document::Node result_of(const scenario::Resolved& resolved,
                         const sim::RunOutcome& outcome,
                         const std::optional<std::int64_t>& sessions) {
  const metrics::Summary& summary = outcome.summary;
  MapBuilder map;
  map.add("requests", summary.requests()).add("completed", summary.completed);
  if (sessions) {
    map.add("sessions", *sessions);
  }
  map.add("duration_s", number(summary.duration_s))
      .add("request_throughput", number(summary.request_throughput))
      .add("output_throughput", number(summary.output_throughput))
      .add("total_token_throughput", number(summary.total_token_throughput))
      .add("goodput", number(summary.goodput))
      .add("meets_slo", truth(meets_targets(summary)));
  for (std::size_t m = 0; m < metrics::kNumMetrics; ++m) {
    map.add(std::string(metrics::kMetricNames[m]) + "_ms",
            distribution(summary.client.by_metric[m]));
  }
  map.add("queue_time_ms", distribution(summary.queue_time_ms))
      .add("overloaded", summary.overload.has_value())
      .add("preemptions", summary.preemptions)
      .add("kv_cache_peak", number(summary.kv_cache.peak))
      .add("prefix_hit_rate", number(summary.kv_cache.prefix_hit_rate))
      .add("gpus", gpus_of(resolved))
      .add("basis", scenario::basis_words(resolved))
      .add("warnings", codes(resolved.warnings, outcome.warnings))
      .add("digest", outcome.digest);
  return map.build();
}

}  // namespace

Measure run_measure() {
  return {.name = "run",
          .settings = MapBuilder().add("measure", "run"),
          .find = [](const scenario::Resolved& resolved, const std::atomic<bool>& interrupt)
              -> core::Result<std::optional<document::Node>> {
            auto source = resolved.workload.open();
            if (!source) {
              return core::fail(std::move(source).error());
            }
            sim::RunControls controls;
            controls.interrupt = &interrupt;
            Sessions sessions;
            controls.listener = resolved.workload.section.trace ? &sessions : nullptr;
            const auto outcome = sim::simulate(resolved, **source, controls);
            if (!outcome) {
              return core::fail(outcome.error());
            }
            if (outcome->partial) {
              return std::nullopt;
            }
            return result_of(resolved, *outcome, sessions.count());
          }};
}

}  // namespace ridgeline::sweep
