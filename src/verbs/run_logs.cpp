#include "verbs/run_logs.hpp"

#include <functional>
#include <ostream>
#include <string>
#include <utility>

#include "scenario/resolve.hpp"
#include "sim/logs/decision_log.hpp"
#include "sim/logs/request_log.hpp"
#include "sim/logs/step_log.hpp"
#include "sim/simulation.hpp"
#include "verbs/clients/client_results.hpp"
#include "verbs/run/run_result.hpp"
#include "workload/agents/source.hpp"
#include "workload/source.hpp"

namespace ridgeline::verbs {

void RunLogs::log_requests(const scenario::Resolved& resolved,
                           const workload::Source& source,
                           sim::RequestLogFormat format,
                           std::ostream& out) {
  requests_ =
      sim::make_request_log(format, source, out, resolved.run.cluster.instances.has_value());
  if (format == sim::RequestLogFormat::kCsv) {
    prompts_.emplace();
  }
}

void RunLogs::log_steps(std::ostream& out) {
  steps_ = sim::make_step_log(out);
}

void RunLogs::log_lookups(std::function<void(const std::string& line)> say) {
  steps_ = sim::make_lookup_log(std::move(say), std::move(steps_));
}

void RunLogs::log_decisions(std::ostream& out) {
  decisions_ = sim::make_decision_log(out);
}

bool RunLogs::log_agents(const workload::Source& source) {
  const auto* const replay = dynamic_cast<const workload::agents::AgentSource*>(&source);
  if (replay != nullptr && !agents_) {
    agents_.emplace(*replay);
  }
  return replay != nullptr;
}

void RunLogs::listen(sim::RunControls& controls) {
  controls.steps = steps_.get();
  controls.decisions = decisions_.get();
  if (requests_) {
    listeners_.add(requests_.get());
    controls.stories = requests_.get();
  }
  const auto add = [this](auto& kept) {
    if (kept) {
      listeners_.add(&*kept);
    }
  };
  add(agents_);
  add(caches_);
  add(clients_);
  add(prompts_);
  add(trace_);
  controls.listener = listeners_.empty() ? nullptr : &listeners_;
}

void RunLogs::end() {
  if (clients_) {
    clients_->put_in_order();
  }
  if (trace_) {
    trace_->settle();
  }
  requests_.reset();
  steps_.reset();
  decisions_.reset();
}

RunLogs::Seen RunLogs::seen_by_clients(const scenario::Resolved& resolved,
                                       const RunResult& result) {
  if (result.deployment) {
    clients_->stand_for_all(resolved.workload.share(), result.deployment->requests);
  }
  if (const auto& warmup = resolved.run.warmup) {
    clients_->leave_out_before(warmup->to_seconds());
  }
  return {.result = seen_by_client(result, *clients_), .results = *clients_};
}

}  // namespace ridgeline::verbs
