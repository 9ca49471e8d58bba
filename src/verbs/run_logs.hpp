#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "cluster/decision.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "metrics/listeners.hpp"
#include "metrics/request_metrics.hpp"
#include "scenario/resolve.hpp"
#include "sim/cache_state.hpp"
#include "sim/logs/agent_log.hpp"
#include "sim/logs/perfetto.hpp"
#include "sim/logs/request_log.hpp"
#include "sim/simulation.hpp"
#include "sim/step_watch.hpp"
#include "verbs/clients/client_results.hpp"
#include "verbs/run/run_result.hpp"
#include "workload/source.hpp"

namespace ridgeline::verbs {

/// Counts prompts that say which tokens they hold.
class PromptCount final : public metrics::Listener {
 public:
  void on_arrival(const domain::Request& request) override {
    ++requests_;
    with_prompt_ += request.prompt.empty() ? 0 : 1;
  }
  void on_request(const domain::RequestRecord& record,
                  const metrics::RequestMetrics& metrics) override {
    static_cast<void>(record);
    static_cast<void>(metrics);
  }
  [[nodiscard]] std::int64_t requests() const { return requests_; }
  [[nodiscard]] std::int64_t with_prompt() const { return with_prompt_; }

 private:
  std::int64_t requests_ = 0;
  std::int64_t with_prompt_ = 0;
};

/// Everything that listens to a run beside its result. Streams outlive it.
class RunLogs {
 public:
  void log_requests(const scenario::Resolved& resolved,
                    const workload::Source& source,
                    sim::RequestLogFormat format,
                    std::ostream& out);
  void log_steps(std::ostream& out);
  /// Behind log_steps(), where both are wanted.
  void log_lookups(std::function<void(const std::string& line)> say);
  void log_decisions(std::ostream& out);
  void keep_caches(const scenario::Resolved& resolved) { caches_.emplace(resolved); }
  void keep_trace(const sim::PerfettoOptions& options) { trace_.emplace(options); }
  void keep_clients() { clients_.emplace(); }
  /// False where the requests are no replay of agent traces.
  [[nodiscard]] bool log_agents(const workload::Source& source);

  /// Lets the run feed them.
  void listen(sim::RunControls& controls);
  /// After the run: nothing is fed any more, and what logs have buffered is written.
  void end();

  /// Those of a table of requests, which has no place for the tokens that prompts share.
  [[nodiscard]] const std::optional<PromptCount>& prompts() const { return prompts_; }
  [[nodiscard]] const std::optional<sim::CacheStateKeeper>& caches() const { return caches_; }
  [[nodiscard]] const std::optional<sim::PerfettoTrace>& trace() const { return trace_; }
  [[nodiscard]] const std::optional<sim::AgentLog>& agents() const { return agents_; }

  /// The run as clients see it: all ranks of a deployment, without its warm-up.
  struct Seen {
    RunResult result;
    const ClientResults& results;
  };
  /// Requires keep_clients().
  [[nodiscard]] Seen seen_by_clients(const scenario::Resolved& resolved, const RunResult& result);

 private:
  metrics::Listeners listeners_;
  std::unique_ptr<sim::RequestLog> requests_;
  std::optional<PromptCount> prompts_;
  std::unique_ptr<sim::StepListener> steps_;
  std::unique_ptr<cluster::DecisionSink> decisions_;
  std::optional<sim::CacheStateKeeper> caches_;
  std::optional<sim::PerfettoTrace> trace_;
  std::optional<ClientResults> clients_;
  std::optional<sim::AgentLog> agents_;
};

}  // namespace ridgeline::verbs
