#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "domain/record.hpp"
#include "metrics/agent_metrics.hpp"
#include "metrics/request_metrics.hpp"
#include "scenario/resolve.hpp"
#include "workload/agents/source.hpp"

namespace ridgeline::sim {

/// Keeps what agentx-harness records of each request of an agent replay.
class AgentLog final : public metrics::Listener {
 public:
  /// `source` outlives it.
  explicit AgentLog(const workload::agents::AgentSource& source) : source_(source) {}

  void on_request(const domain::RequestRecord& record,
                  const metrics::RequestMetrics& metrics) override;

  /// The lines of profile_export.jsonl, by the order in which requests were sent.
  [[nodiscard]] std::string records_text() const;
  /// The row of the scoreboard, with `predicted_by`: what is not known of it is null.
  [[nodiscard]] core::Result<document::Node> row(const scenario::Resolved& resolved) const;

 private:
  const workload::agents::AgentSource& source_;
  std::vector<metrics::AgentRecord> records_;  ///< By request.
};

}  // namespace ridgeline::sim
