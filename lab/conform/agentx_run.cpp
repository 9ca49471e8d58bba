// Runs in real time, and rows of the scoreboard.
#include "lab/conform/agentx_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/reader.hpp"
#include "lab/conform/agentx.hpp"
#include "lab/conform/conform.hpp"
#include "lab/conform/node_compare.hpp"
#include "metrics/agent_metrics.hpp"
#include "workload/agents/conversations.hpp"
#include "workload/agents/options.hpp"
#include "workload/agents/replay.hpp"

namespace ridgeline::conform {
namespace {

namespace agents = workload::agents;
using document::MapBuilder;
using document::Node;
using metrics::AgentRecord;

constexpr double kStartNear = 250.0;  ///< Milliseconds: what a busy machine adds.
constexpr double kServerNear = 30.0;

Tolerance as_rows(std::string_view) {
  return {.absolute = 1.01e-5, .relative = 1e-5};
}
/// Records of runs carry three decimals.
Tolerance as_reports(std::string_view) {
  return {.absolute = 2e-3, .relative = 5e-3};
}

metrics::AgentEnvironment environment_of(const Node& map) {
  metrics::AgentEnvironment environment;
  for (const auto& [key, value, where] : map.members()) {
    environment[key] = value.is_string() ? value.as_string() : value.describe();
  }
  return environment;
}

std::optional<metrics::TheoreticalHits> hits_of(const Node* report) {
  const Node* hits = report == nullptr ? nullptr : report->find("theoretical_prefix_cache_hit");
  const Node* sum = hits == nullptr ? nullptr : hits->find("sum");
  const Node* count = hits == nullptr ? nullptr : hits->find("count");
  if (sum == nullptr || count == nullptr) {
    return std::nullopt;
  }
  return metrics::TheoreticalHits{.hits = std::llround(sum->as_real()),
                                  .blocks = std::llround(count->as_real())};
}

/// A row of the records of a run.
struct RunRow {
  AgentRecord record;
  std::string conversation;
  std::string session;
  double start_ms = 0.0;
};

std::vector<RunRow> read_rows(const Node& records, core::Errors& errors) {
  static const std::vector<std::string> kColumns = {"n",
                                                    "phase",
                                                    "conversation",
                                                    "turn",
                                                    "session",
                                                    "depth",
                                                    "start_ms",
                                                    "ack_ms",
                                                    "end_ms",
                                                    "isl",
                                                    "osl",
                                                    "ttft_ms",
                                                    "latency_ms",
                                                    "itl_ms",
                                                    "outcome"};
  document::ObjectReader reader(records, "expected.records", errors);
  const Node* columns = reader.node("columns");
  const Node* rows = reader.node("rows");
  reader.finish();
  std::vector<RunRow> read;
  if (columns == nullptr || rows == nullptr || !rows->is_list() ||
      columns->items().size() != kColumns.size() ||
      !std::ranges::equal(
          columns->items(), kColumns, {}, [](const Node& name) { return name.as_string(); })) {
    reader.problem("columns", fmt::format("expected the columns {}", fmt::join(kColumns, ", ")));
    return read;
  }
  for (const Node& row : rows->items()) {
    const auto& cells = row.items();
    const auto number = [&](std::size_t i) {
      return cells[i].is_number() ? std::optional(cells[i].as_real()) : std::nullopt;
    };
    const auto whole = [&](std::size_t i) {
      return cells[i].is_number() ? std::optional(std::llround(cells[i].as_real())) : std::nullopt;
    };
    RunRow one{.record = {},
               .conversation = cells[2].as_string(),
               .session = cells[4].describe(),
               .start_ms = *number(6)};
    AgentRecord& record = one.record;
    record.is_profiling = cells[1].as_string() == "profiling";
    record.error = cells[14].as_string() == "error" ? "error" : "";
    record.is_cancelled = cells[14].as_string() == "cancelled";
    record.turn = *whole(3);
    record.start = std::llround(one.start_ms * 1e6);
    record.end = std::llround(number(8).value_or(one.start_ms) * 1e6);
    record.input = whole(9);
    record.output = whole(10);
    record.ttft_ms = number(11);
    record.latency_ms = number(12);
    record.set_gaps();
    if (number(13)) {
      record.itl_ms = number(13);
    }
    read.push_back(std::move(one));
  }
  return read;
}

const agents::Turn& turn_of(const AgentxInput& input, const agents::Sent& sent) {
  return input.trees[static_cast<std::size_t>(sent.tree)]
      .conversations[static_cast<std::size_t>(sent.turn.conversation)]
      .turns[static_cast<std::size_t>(sent.turn.turn)];
}

/// Requests by session, each session in its order.
using Sessions = std::map<std::string, std::vector<std::size_t>>;

/// Whether a recorded session is one of ours: the same turns in the same order, at nearly the same
/// times.
std::optional<Difference> same_session(const std::vector<RunRow>& rows,
                                       const std::vector<std::size_t>& recorded,
                                       const AgentxInput& input,
                                       const ServedRun& run,
                                       const std::vector<std::size_t>& own,
                                       double zero) {
  if (recorded.size() != own.size()) {
    return Difference{.where = "turns",
                      .recorded = std::to_string(recorded.size()),
                      .ours = std::to_string(own.size())};
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    const RunRow& row = rows[recorded[i]];
    const ServedRequest& request = run.requests[own[i]];
    const agents::Turn& turn = turn_of(input, request.sent);
    const double start = request.sent.time.since_start().to_milliseconds() - zero;
    const bool is_profiling = request.sent.phase == agents::Phase::kProfiling;
    const bool has_failed = request.outcome == "error";
    const std::int64_t prompt = turn.input + agents::kMarkerCharacters;
    if (row.record.turn != request.sent.turn.turn || row.record.is_profiling != is_profiling ||
        !row.record.error.empty() != has_failed || std::abs(row.start_ms - start) > kStartNear ||
        std::abs(row.record.input.value_or(prompt) - prompt) > 3 ||
        row.record.output.value_or(request.sent.max_tokens) != request.sent.max_tokens) {
      return Difference{.where = fmt::format("turn {}", row.record.turn),
                        .recorded = fmt::format("turn {} at {} ms", row.record.turn, row.start_ms),
                        .ours = fmt::format("turn {} at {:.3f} ms", request.sent.turn.turn, start)};
    }
  }
  return std::nullopt;
}

std::optional<Difference> compare_records(const std::vector<RunRow>& rows,
                                          const AgentxInput& input,
                                          const ServedRun& run) {
  Sessions recorded;
  Sessions own;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    recorded[rows[i].conversation + " " + rows[i].session].push_back(i);
  }
  for (std::size_t i = 0; i < run.requests.size(); ++i) {
    const agents::Sent& sent = run.requests[i].sent;
    const std::string& id = input.trees[static_cast<std::size_t>(sent.tree)]
                                .conversations[static_cast<std::size_t>(sent.turn.conversation)]
                                .id;
    own[id + " " + std::to_string(sent.session)].push_back(i);
  }
  double zero = 0.0;
  for (const ServedRequest& request : run.requests) {
    if (request.sent.phase == agents::Phase::kProfiling) {
      zero = request.sent.time.since_start().to_milliseconds();
      break;
    }
  }
  for (const auto& [name, requests] : recorded) {
    const std::string conversation = rows[requests.front()].conversation + " ";
    std::optional<Difference> nearest =
        Difference{.where = "session", .recorded = "", .ours = "none"};
    for (auto one = own.begin(); one != own.end() && nearest; ++one) {
      if (!one->first.starts_with(conversation)) {
        continue;
      }
      nearest = same_session(rows, requests, input, run, one->second, zero);
      if (!nearest) {
        own.erase(one);
        break;
      }
    }
    if (nearest) {
      nearest->where = name + ": " + nearest->where;
      return nearest;
    }
  }
  return own.empty()
             ? std::nullopt
             : std::optional(Difference{
                   .where = "records", .recorded = "no session more", .ours = own.begin()->first});
}

/// Whether most answers took what the server takes: the others came at busy moments.
std::optional<Difference> compare_server(const std::vector<RunRow>& rows,
                                         const FixedServer& server) {
  std::size_t near = 0;
  std::size_t all = 0;
  for (const RunRow& row : rows) {
    if (!row.record.ttft_ms || !row.record.latency_ms) {
      continue;
    }
    const double first = server.first_token.to_milliseconds();
    const double whole = first + server.other_token.to_milliseconds() *
                                     static_cast<double>(row.record.output.value_or(1) - 1);
    ++all;
    if (std::abs(*row.record.ttft_ms - first) <= kServerNear &&
        std::abs(*row.record.latency_ms - whole) <= kServerNear) {
      ++near;
    }
  }
  return 2 * near > all ? std::nullopt
                        : std::optional(Difference{.where = "server",
                                                   .recorded = fmt::format("{} answers", all),
                                                   .ours = fmt::format("{} as fast", near)});
}

metrics::TheoreticalHits hits_of(const AgentxInput& input, const ServedRun& run, bool profiling) {
  metrics::TheoreticalHits hits;
  for (const ServedRequest& request : run.requests) {
    if ((request.sent.phase == agents::Phase::kProfiling) == profiling && request.outcome == "ok") {
      hits.hits += turn_of(input, request.sent).hit_blocks;
      hits.blocks += turn_of(input, request.sent).hash_blocks;
    }
  }
  return hits;
}

/// Parts of a report that need the times of single chunks, the harness's own clock, or its inner
/// state: records do not hold them.
bool is_beyond_records(std::string_view key, bool is_warm_up) {
  static const std::set<std::string_view> kChunks = {"time_to_second_token",
                                                     "effective_concurrency",
                                                     "effective_decode_throughput",
                                                     "effective_prefill_throughput",
                                                     "effective_total_throughput",
                                                     "tokens_in_flight",
                                                     "active_decode_throughput"};
  static const std::set<std::string_view> kPhase = {"request_throughput",
                                                    "output_token_throughput",
                                                    "input_token_throughput",
                                                    "total_token_throughput"};
  static const std::set<std::string_view> kState = {
      "metadata", "branch_stats", "schema_version", "warmup_metrics"};
  return kChunks.contains(key) || kState.contains(key) || (is_warm_up && kPhase.contains(key));
}

std::optional<Difference> compare_report(const Node& recorded,
                                         const std::vector<RunRow>& rows,
                                         const AgentxInput& input,
                                         const ServedRun& run,
                                         bool is_warm_up) {
  std::vector<AgentRecord> records;
  std::int64_t last = 0;
  std::int64_t failures = 0;
  for (const RunRow& row : rows) {
    if (row.record.is_profiling != is_warm_up) {
      records.push_back(row.record);
      records.back().is_profiling = true;
      last = std::max(last, row.record.end);
      failures += row.record.error.empty() ? 0 : 1;
    }
  }
  // An aborted run is observed until its last answer.
  std::int64_t last_answer = 0;
  for (const AgentRecord& record : records) {
    last_answer = record.counts() ? std::max(last_answer, record.end) : last_answer;
  }
  const double seconds =
      run.aborted ? static_cast<double>(last_answer) / 1e9
                  : std::max(input.options.duration.to_seconds(), static_cast<double>(last) / 1e9);
  const Node computed = metrics::agent_report(records, seconds, hits_of(input, run, !is_warm_up));
  MapBuilder own;
  for (const auto& [key, value, where] : computed.members()) {
    own.add(key, value);
  }
  // Answers are as long as was asked for (compared above), and no prompt is too long.
  for (const char* none : {"osl_mismatch_count", "context_overflow_count"}) {
    own.add(none, MapBuilder().add("unit", "requests").add("avg", 0.0));
  }
  own.add("was_cancelled", run.aborted.has_value());
  std::vector<Node> kinds;
  if (failures > 0) {
    kinds.push_back(MapBuilder().add("code", 500).add("count", failures));
  }
  own.add("errors", document::list_node(std::move(kinds)));
  std::vector<Node::Member> kept;
  for (const Node::Member& member : recorded.members()) {
    if (!is_beyond_records(member.key, is_warm_up)) {
      kept.push_back(member);
    }
  }
  return first_difference(Node::map(std::move(kept), {}),
                          own,
                          is_warm_up ? "report.warmup_metrics" : "report",
                          as_reports);
}

std::optional<Difference> compare_run_row(const Node& recorded,
                                          const Node& environment,
                                          const std::vector<RunRow>& rows,
                                          const AgentxInput& input,
                                          const ServedRun& run,
                                          core::Errors& errors) {
  std::vector<AgentRecord> records;
  for (const RunRow& row : rows) {
    records.push_back(row.record);
  }
  const auto row =
      metrics::agent_row(records, environment_of(environment), hits_of(input, run, true), {});
  if (!row) {
    errors.insert(errors.end(), row.error().begin(), row.error().end());
    return std::nullopt;
  }
  // Records of a run say that a request failed, not how.
  const Node* accounting = recorded.find("request_accounting");
  const Node* categories = accounting == nullptr ? nullptr : accounting->find("error_categories");
  MapBuilder own;
  for (const auto& [key, value, where] : row->members()) {
    if (key != "request_accounting" || categories == nullptr) {
      own.add(key, value);
      continue;
    }
    MapBuilder counts;
    for (const auto& [name, count, place] : value.members()) {
      counts.add(name, name == "error_categories" ? *categories : count);
    }
    own.add(key, counts);
  }
  return first_difference(recorded, own, "aggregate", as_reports);
}

}  // namespace

std::optional<Difference> compare_run(const Node& document,
                                      const AgentxInput& input,
                                      core::Errors& errors) {
  document::ObjectReader reader(*document.find("expected"), "expected", errors);
  const std::int64_t exit_code = reader.required_integer("exit_code");
  const Node* records = reader.node("records");
  const Node* report = reader.node("report");
  const Node* aggregate = reader.node("aggregate");
  const auto abort = reader.string("abort");
  reader.finish();
  const Node* environment = document.find("input")->find("aggregate_environment");
  if (records == nullptr || report == nullptr || aggregate == nullptr || environment == nullptr) {
    reader.problem("records", "expected records, report and aggregate, and an environment");
    return std::nullopt;
  }
  const ServedRun run = serve(input);
  const std::vector<RunRow> rows = read_rows(*records, errors);
  if (!errors.empty()) {
    return std::nullopt;
  }
  const std::string why =
      run.aborted
          ? fmt::format("failed_request_threshold: {}/{} = {:.3f} > {:.3f} (grace floor {})",
                        run.failures,
                        run.records,
                        static_cast<double>(run.failures) / static_cast<double>(run.records),
                        input.options.failed_share.value_or(0.0),
                        std::max<std::int64_t>(input.options.concurrency, 10))
          : "";
  if (abort.value_or("") != why || exit_code != (run.aborted ? 1 : 0)) {
    return Difference{.where = "abort", .recorded = abort.value_or("none"), .ours = why};
  }
  if (auto difference = compare_records(rows, input, run)) {
    return difference;
  }
  if (auto difference = compare_server(rows, input.server)) {
    return difference;
  }
  if (auto difference = compare_report(*report, rows, input, run, false)) {
    return difference;
  }
  if (const Node* warm_up = report->find("warmup_metrics")) {
    if (auto difference = compare_report(*warm_up, rows, input, run, true)) {
      return difference;
    }
  }
  return compare_run_row(*aggregate, *environment, rows, input, run, errors);
}

std::optional<Difference> compare_aggregate(const Node& document, core::Errors& errors) {
  document::ObjectReader reader(*document.find("input"), "input", errors);
  const Node* environment = reader.node("environment");
  const Node* lines = reader.node("profile_export_jsonl");
  const Node* report = reader.node("profile_export_aiperf");
  reader.finish();
  if (environment == nullptr || lines == nullptr || !lines->is_list()) {
    reader.problem("environment", "expected an environment and records");
    return std::nullopt;
  }
  std::vector<AgentRecord> records;
  for (const Node& line : lines->items()) {
    records.push_back(metrics::agent_record(line, errors));
  }
  const auto row = metrics::agent_row(records,
                                      environment_of(*environment),
                                      hits_of(report),
                                      {"server_metrics_export.json missing or empty"});
  if (!row) {
    errors.insert(errors.end(), row.error().begin(), row.error().end());
    return std::nullopt;
  }
  return first_difference(*document.find("expected"), *row, "", as_rows);
}

}  // namespace ridgeline::conform
