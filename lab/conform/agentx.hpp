#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/conform/conform.hpp"
#include "workload/agents/conversations.hpp"
#include "workload/agents/options.hpp"
#include "workload/agents/replay.hpp"

namespace ridgeline::conform {

/// Whether a document is a case of the agent replay: a schedule, a result row or a whole run that
/// the load generator itself computed.
[[nodiscard]] bool is_agentx(const document::Node& document);

/// Holds what we compute from the input of such a case against what it expects. A key of the case
/// that is not read is refused.
[[nodiscard]] core::Result<std::vector<ConformResult>> conform_agentx(
    const document::Node& document, const std::string& file);

/// The server of a case: its first token comes after a fixed time, each other one after another.
struct FixedServer {
  struct Error {
    std::string conversation;
    std::optional<std::int64_t> turn;  ///< None: every turn.
    workload::agents::Phase phase = workload::agents::Phase::kProfiling;
    bool is_overflow = false;
  };
  core::Duration first_token;
  core::Duration other_token;
  std::vector<Error> errors;
  std::vector<std::int64_t> failing_requests;  ///< By the order in which they come, from 0.
};

/// The input of a case.
struct AgentxInput {
  std::vector<workload::agents::SessionTree> trees;
  /// What each turn says, by tree and conversation.
  std::vector<std::vector<std::vector<workload::agents::TurnMessages>>> messages;
  workload::agents::ReplayOptions options;
  FixedServer server;
};
[[nodiscard]] AgentxInput read_agentx_input(const document::Node& input,
                                            const std::string& file,
                                            core::Errors& errors);

/// A request of a replay against the server of a case.
struct ServedRequest {
  workload::agents::Sent sent;
  std::optional<core::SimTime> first_token;
  core::SimTime end;
  std::string outcome;  ///< "ok", "error", "cancelled".
};
struct ServedRun {
  std::vector<ServedRequest> requests;
  workload::agents::PhaseTimes warm_up;
  workload::agents::PhaseTimes profiling;
  std::optional<core::SimTime> aborted;
  std::int64_t records = 0;  ///< Profiling requests, and those that failed.
  std::int64_t failures = 0;
  std::vector<workload::agents::StartPoint> start_points;
};
[[nodiscard]] ServedRun serve(const AgentxInput& input);

}  // namespace ridgeline::conform
