#include "sim/logs/agent_log.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/version.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/node_json.hpp"
#include "domain/record.hpp"
#include "metrics/agent_metrics.hpp"
#include "metrics/request_metrics.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "sim/operations.hpp"
#include "workload/agents/replay.hpp"
#include "workload/agents/source.hpp"

namespace ridgeline::sim {
namespace {

constexpr std::int64_t kAgentTicks = 1000;  ///< Ticks of a nanosecond.

std::optional<double> in_ms(const std::optional<core::Duration>& time) {
  return time ? std::optional(time->to_milliseconds()) : std::nullopt;
}

/// GPUs whose work the records are: where one of several ranks is simulated, its part.
std::int64_t gpus_of_records(const scenario::Resolved& resolved) {
  const std::int64_t instances = std::max<std::int64_t>(num_places(resolved), 1);
  const std::int64_t gpus = resolved.deployment->execution.sharding.gpus() * instances;
  return std::max<std::int64_t>(gpus / std::max<std::int64_t>(resolved.workload.ranks, 1), 1);
}

metrics::AgentEnvironment agent_environment(const scenario::Resolved& resolved) {
  const scenario::Scenario scenario = resolved.scenario();
  return {{"RUNNER_TYPE", scenario.deployment.gpu},
          {"MODEL", scenario.deployment.model},
          {"CONC", std::to_string(resolved.workload.section.max_concurrency.value_or(0))},
          {"TP", std::to_string(gpus_of_records(resolved))}};
}

}  // namespace

void AgentLog::on_request(const domain::RequestRecord& record,
                          const metrics::RequestMetrics& metrics) {
  const std::size_t number = record.id.value();
  const workload::agents::Sent& sent = source_.sent().at(number);
  if (records_.size() <= number) {
    records_.resize(number + 1);
  }
  metrics::AgentRecord& one = records_[number];
  one.is_profiling = sent.phase == workload::agents::Phase::kProfiling;
  one.conversation = source_.trees()[static_cast<std::size_t>(sent.tree)]
                         .conversations[static_cast<std::size_t>(sent.turn.conversation)]
                         .id;
  one.session = fmt::format("s{}", sent.session);
  one.turn = sent.turn.turn;
  one.start = record.arrival.count() / kAgentTicks;
  one.issued = one.start;
  one.end = one.start;
  one.is_cancelled = record.outcome == domain::Outcome::kAborted;
  if (!metrics::completed(record.outcome)) {
    one.error = one.is_cancelled                               ? ""
                : record.outcome == domain::Outcome::kRejected ? "rejected"
                                                               : "failed";
    return;
  }
  one.input = record.prompt_tokens.value();
  one.output = record.output_tokens.value();
  one.ttft_ms = in_ms(metrics.ttft);
  one.latency_ms = in_ms(metrics.e2e);
  one.end += metrics.e2e.value_or(core::Duration()).count() / kAgentTicks;
  // What ends after the grace, the client has cancelled.
  one.is_cancelled = one.is_profiling && record.arrival + metrics.e2e.value_or(core::Duration()) >
                                             source_.replay().cancels_at();
  one.set_gaps();
}

std::string AgentLog::records_text() const {
  std::string text;
  for (const metrics::AgentRecord& record : records_) {
    text += document::json_line(metrics::agent_record_node(record));
  }
  return text;
}

core::Result<document::Node> AgentLog::row(const scenario::Resolved& resolved) const {
  metrics::TheoreticalHits hits;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    if (records_[i].counts()) {
      hits.hits += source_.turn_of(source_.sent()[i]).hit_blocks;
      hits.blocks += source_.turn_of(source_.sent()[i]).hash_blocks;
    }
  }
  auto row = metrics::agent_row(
      records_, agent_environment(resolved), hits, {"predicted: no server was measured"});
  if (!row) {
    return row;
  }
  document::MapBuilder predicted;
  predicted.add("predicted_by", fmt::format("ridgeline {}", core::version()));
  for (const auto& [key, value, where] : row->members()) {
    predicted.add(key, value);
  }
  return predicted;
}

}  // namespace ridgeline::sim
