#include "lab/conform/agentx.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "document/node_json.hpp"
#include "document/reader.hpp"
#include "lab/conform/agentx_run.hpp"
#include "lab/conform/agentx_schedule.hpp"
#include "lab/conform/conform.hpp"
#include "workload/agents/conversations.hpp"
#include "workload/agents/options.hpp"
#include "workload/agents/replay.hpp"
#include "workload/agents/trace.hpp"
#include "workload/traces/reading/fields.hpp"

namespace ridgeline::conform {
namespace {

namespace agents = workload::agents;

core::Duration seconds_of(double seconds) {
  return core::Duration::from_seconds(seconds).value_or(core::Duration());
}

/// Sets an option that may be off: null turns it off, an absent key leaves it.
template <class T, class Convert>
void read_switch(document::ObjectReader& reader,
                 const char* key,
                 std::optional<T>& option,
                 Convert convert) {
  if (const document::Node* node = reader.node(key)) {
    option = node->is_number() ? std::optional<T>(convert(node->as_real())) : std::nullopt;
  }
}

void read_options(const document::Node& node,
                  agents::ReplayOptions& options,
                  agents::Selection& selection,
                  core::Errors& errors) {
  document::ObjectReader reader(node, "input.options", errors);
  const auto defaults = agents::scenario_options(reader.required_string("scenario"));
  if (!defaults) {
    errors.insert(errors.end(), defaults.error().begin(), defaults.error().end());
    return;
  }
  options = *defaults;
  options.seed = reader.integer("random_seed").value_or(options.seed);
  options.concurrency = static_cast<std::int64_t>(reader.required_real("concurrency", {1, 1e6}));
  if (const auto seconds = reader.real("benchmark_duration", {0, 1e6})) {
    options.duration = seconds_of(*seconds);
  }
  if (const auto seconds = reader.real("benchmark_grace_period_s", {0, 1e6})) {
    options.grace = seconds_of(*seconds);
  }
  options.start_min_ratio =
      reader.real("trajectory_start_min_ratio", {0, 1}).value_or(options.start_min_ratio);
  options.start_max_ratio =
      reader.real("trajectory_start_max_ratio", {0, 1}).value_or(options.start_max_ratio);
  read_switch(reader, "system_idle_gap_cap_s", options.system_idle_cap, seconds_of);
  read_switch(reader, "trace_idle_gap_cap_seconds", options.tree_idle_cap, seconds_of);
  read_switch(
      reader, "warmup_requests_per_lane", options.warmup_requests_per_lane, [](double value) {
        return static_cast<std::int64_t>(value);
      });
  options.burst = reader.boolean("burst_phase_starts").value_or(false);
  if (const auto entries = reader.real("num_dataset_entries", {1, 1e9})) {
    selection.num_dataset_entries = static_cast<std::int64_t>(*entries);
  }
  if (const auto tokens = reader.real("max_context_length", {1, 1e9})) {
    selection.max_context_length = static_cast<std::int64_t>(*tokens);
  }
  // How long the warm-up may drain: a server that answers never reaches it.
  reader.real("warmup_grace_period", {0, 1e6});
  reader.finish();
}

FixedServer read_server(const document::Node& node, core::Errors& errors) {
  document::ObjectReader reader(node, "input.server", errors);
  FixedServer server;
  server.first_token = seconds_of(reader.required_real("ttft_ms", {0, 1e6}) / 1000.0);
  server.other_token = seconds_of(reader.required_real("itl_ms", {0, 1e6}) / 1000.0);
  server.failing_requests =
      reader.integers("http_500_at_server_request").value_or(std::vector<std::int64_t>());
  if (const document::Node* list = reader.node("errors"); list != nullptr && list->is_list()) {
    for (const document::Node& one : list->items()) {
      document::ObjectReader error(one, "input.server.errors", errors);
      server.errors.push_back(
          {.conversation = error.required_string("conversation"),
           .turn = error.integer("turn"),
           .phase = error.required_string("phase") == "warmup" ? agents::Phase::kWarmUp
                                                               : agents::Phase::kProfiling,
           .is_overflow = agents::is_context_overflow(error.required_string("body"))});
      error.finish();
    }
  }
  reader.finish();
  return server;
}

void read_traces(const document::Node& list,
                 const std::string& file,
                 const agents::Selection& selection,
                 AgentxInput& input,
                 core::Errors& errors) {
  for (const document::Node& one : list.items()) {
    const std::string text = document::json_line(one);
    const workload::TraceLine line(
        std::string_view(text).substr(0, text.size() - 1), file, 1, errors);
    const auto trace = agents::read_trace(line);
    const bool is_full =
        static_cast<std::int64_t>(input.trees.size()) >= selection.num_dataset_entries;
    if (!trace || is_full || !selection.takes(*trace)) {
      continue;
    }
    auto tree = agents::conversations_of(*trace, &input.messages.emplace_back());
    if (!tree) {
      errors.insert(errors.end(), tree.error().begin(), tree.error().end());
      return;
    }
    input.trees.push_back(std::move(*tree));
  }
}

std::optional<agents::Outcome> fails(const FixedServer& server,
                                     const agents::SessionTree& tree,
                                     const agents::Sent& sent,
                                     std::size_t count) {
  if (std::ranges::count(server.failing_requests, static_cast<std::int64_t>(count)) > 0) {
    return agents::Outcome::kFailed;
  }
  const std::string& id = tree.conversations[static_cast<std::size_t>(sent.turn.conversation)].id;
  for (const FixedServer::Error& error : server.errors) {
    if (error.conversation == id && error.turn.value_or(sent.turn.turn) == sent.turn.turn &&
        error.phase == sent.phase) {
      return error.is_overflow ? agents::Outcome::kContextOverflow : agents::Outcome::kFailed;
    }
  }
  return std::nullopt;
}

}  // namespace

AgentxInput read_agentx_input(const document::Node& node,
                              const std::string& file,
                              core::Errors& errors) {
  AgentxInput input;
  agents::Selection selection;
  document::ObjectReader reader(node, "input", errors);
  const document::Node* traces = reader.node("traces");
  const document::Node* options = reader.node("options");
  const document::Node* server = reader.node("server");
  reader.node("aggregate_environment");  // Read with the row.
  reader.finish();
  if (traces == nullptr || !traces->is_list() || options == nullptr || server == nullptr) {
    errors.push_back({.field = "input", .message = "lacks traces, options or server"});
    return input;
  }
  read_options(*options, input.options, selection, errors);
  input.server = read_server(*server, errors);
  read_traces(*traces, file, selection, input, errors);
  if (errors.empty() && input.trees.empty()) {
    errors.push_back({.field = "input.traces", .message = "holds no trace that is taken"});
  }
  return input;
}

ServedRun serve(const AgentxInput& input) {
  struct End {
    core::SimTime time;
    std::uint32_t number = 0;
    agents::Outcome outcome = agents::Outcome::kAnswered;
    bool operator>(const End& other) const {
      return time != other.time ? time > other.time : number > other.number;
    }
  };
  agents::Replay replay(input.trees, input.options);
  ServedRun run;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  for (;;) {
    const auto next = replay.next_time();
    if (replay.aborted() || (!next && ends.empty())) {
      break;
    }
    if (!ends.empty() && (!next || ends.top().time <= *next)) {
      const End end = ends.top();
      ends.pop();
      const bool is_late = replay.is_profiling() && end.time > replay.cancels_at();
      const core::SimTime time = is_late ? replay.cancels_at() : end.time;
      ServedRequest& request = run.requests[end.number];
      request.end = time;
      request.outcome = is_late ? "cancelled" : request.outcome;
      replay.on_end(end.number, time, is_late ? agents::Outcome::kAnswered : end.outcome);
      continue;
    }
    const agents::Sent sent = replay.pop();
    const auto failure = fails(
        input.server, input.trees[static_cast<std::size_t>(sent.tree)], sent, run.requests.size());
    const core::SimTime first = sent.time + input.server.first_token;
    const core::SimTime end =
        failure ? first : first + input.server.other_token * (sent.max_tokens - 1);
    ends.push({.time = end,
               .number = static_cast<std::uint32_t>(run.requests.size()),
               .outcome = failure.value_or(agents::Outcome::kAnswered)});
    run.requests.push_back({.sent = sent,
                            .first_token = failure ? std::nullopt : std::optional(first),
                            .end = end,
                            .outcome = failure ? "error" : "ok"});
  }
  run.warm_up = replay.warm_up();
  run.profiling = replay.profiling();
  run.aborted = replay.aborted();
  run.records = replay.counts().records;
  run.failures = replay.counts().failures;
  run.start_points = replay.start_points();
  return run;
}

bool is_agentx(const document::Node& document) {
  return document.is_map() && document.find("case") != nullptr &&
         document.find("kind") != nullptr && document.find("expected") != nullptr;
}

core::Result<std::vector<ConformResult>> conform_agentx(const document::Node& document,
                                                        const std::string& file) {
  core::Errors errors;
  document::ObjectReader reader(document, "", errors);
  const std::string name = reader.required_string("case");
  const std::string title = reader.required_string("title");
  const std::string kind = reader.required_string("kind");
  reader.required_string("source");
  const document::Node* input = reader.node("input");
  const document::Node* expected = reader.node("expected");
  reader.finish();
  if (!errors.empty() || input == nullptr || expected == nullptr) {
    errors.push_back({.field = "input", .message = "expected input and expected of a case"});
    return core::fail(std::move(errors));
  }
  ConformResult result{.file = file,
                       .scenario = name + ": " + title,
                       .version = "agentx-harness 1.0.12",
                       .profile = kind,
                       .difference = {}};
  if (kind == "aggregate") {
    result.difference = compare_aggregate(document, errors);
  } else if (kind == "schedule" || kind == "run") {
    AgentxInput read = read_agentx_input(*input, file, errors);
    if (kind == "schedule") {
      read.options.failed_share.reset();  // Another part of the program counts failures.
    }
    if (errors.empty()) {
      result.difference = kind == "run" ? compare_run(document, read, errors)
                                        : compare_schedule(*expected, read, errors);
    }
  } else {
    errors.push_back(
        {.field = "kind",
         .message = fmt::format("found '{}', expected schedule, aggregate or run", kind)});
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return std::vector<ConformResult>{std::move(result)};
}

}  // namespace ridgeline::conform
