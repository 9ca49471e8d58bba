#include "api/stepped_run.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/call.hpp"
#include "api/call_document.hpp"
#include "api/clock.hpp"
#include "api/live_run.hpp"
#include "api/policies.hpp"
#include "api/run_reply.hpp"
#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "domain/prompt.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/token_sink.hpp"
#include "engine/server.hpp"
#include "live/arrival_log.hpp"
#include "live/session.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/summary.hpp"
#include "report/results/run.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/simulation.hpp"

namespace ridgeline::api {
namespace {

constexpr core::Duration kTick = core::Duration::ticks(1);
/// Tokens of one request, and numbers of sessions and prefixes.
constexpr std::int64_t kMostTokensOfRequest = 1'000'000'000;
constexpr std::int64_t kMostNames = std::numeric_limits<std::int32_t>::max();
/// Between two looks at the host's interrupt: so many instants are some 100 us.
constexpr std::int64_t kInstantsPerLook = 64;

/// The arrival log of a session in memory.
class TextLog final : public live::LogFile {
 public:
  explicit TextLog(std::string& text) : text_(text) {}
  bool append(std::string_view text) override {
    text_ += text;
    return true;
  }
  bool overwrite(std::int64_t at, std::string_view text) override {
    text_.replace(static_cast<std::size_t>(at), text.size(), text);
    return true;
  }

 private:
  std::string& text_;
};

document::Node seconds_node(core::SimTime time) {
  return document::number_node(time == core::SimTime::never() ? std::nullopt
                                                              : std::optional(time.to_seconds()));
}

document::Node milliseconds_node(const std::optional<core::Duration>& duration) {
  return document::number_node(duration ? std::optional(duration->to_milliseconds())
                                        : std::nullopt);
}

document::Node row_of(const domain::RequestRecord& record, const metrics::RequestMetrics& metrics) {
  const auto outcome = static_cast<std::size_t>(record.outcome);
  document::MapBuilder row;
  row.add("id", document::integer_node(static_cast<std::int64_t>(record.id.value())))
      .add("outcome", document::text_node(metrics::kOutcomeNames[outcome]));
  if (record.instance.valid()) {
    row.add("instance", document::integer_node(static_cast<std::int64_t>(record.instance.value())));
  }
  return row.add("prompt_tokens", document::integer_node(record.prompt_tokens.value()))
      .add("output_tokens", document::integer_node(record.output_tokens.value()))
      .add("cached_tokens", document::integer_node(record.cached_tokens.value()))
      .add("preemptions", document::integer_node(record.preemptions))
      .add("arrival_s", seconds_node(record.arrival))
      .add("first_token_s", seconds_node(record.first_token))
      .add("last_token_s", seconds_node(record.last_token))
      .add("queue_time_ms", milliseconds_node(metrics.queue_time))
      .add("ttft_ms", milliseconds_node(metrics.ttft))
      .add("tpot_ms", milliseconds_node(metrics.tpot))
      .add("e2e_ms", milliseconds_node(metrics.e2e))
      .build();
}

core::Error missing(std::string_view key) {
  return {.field = std::string(key), .message = "missing"};
}

}  // namespace

SteppedRun::SteppedRun(const CallHost& host, Kept kept, document::Node said)
    : hooks_(host.hooks), kept_(kept), said_(std::move(said)) {
  if (host.policies != nullptr) {
    policies_.emplace(*host.policies);
    if (!policies_->any()) {
      policies_.reset();
    }
  }
}

core::Result<std::unique_ptr<SteppedRun>> SteppedRun::open(CallDocument& document,
                                                           const CallHost& host) {
  core::Errors errors;
  Kept kept = take_kept(document, errors);
  document::Node said = document.take("policies");
  errors.insert(errors.end(), document.errors().begin(), document.errors().end());
  auto loaded = scenario::read_scenario(document.scenario(), {}, scenario::Purpose::kLook);
  if (!loaded) {
    errors.insert(errors.end(), loaded.error().begin(), loaded.error().end());
  } else if (has_workload(loaded->scenario.workload)) {
    errors.push_back({.field = "workload",
                      .message = "found one, expected none: requests of a session are submitted"});
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  auto resolved = scenario::resolve(std::move(*loaded));
  if (!resolved) {
    return core::fail(resolved.error());
  }
  std::unique_ptr<SteppedRun> run(new SteppedRun(host, kept, std::move(said)));
  run->resolved_.emplace(std::move(*resolved));
  run->tables_ = std::make_shared<KeptTables>(run->kept_.tables);
  run->listeners_.add(&run->ended_);
  if (run->kept_.tables.any()) {
    run->listeners_.add(run->tables_.get());
  }
  sim::RunControls controls;
  controls.listener = &run->listeners_;
  controls.series_windows = run->kept_.series_windows;
  if (run->policies_) {
    controls.host_parts = run->policies_->parts();
  }
  auto session = live::Session::open(
      *run->resolved_,
      run->clock_,
      *run,
      std::make_unique<live::ArrivalLog>(std::make_unique<TextLog>(run->trace_)),
      std::move(controls));
  if (!session) {
    return core::fail(session.error());
  }
  run->session_ = std::move(*session);
  return run;
}

struct SteppedRun::Verb {
  std::string_view name;
  Outcome (SteppedRun::*call)(CallDocument& document);
};

core::Result<Reply> SteppedRun::call(std::string_view verb, CallDocument& document) {
  static constexpr auto kVerbs = std::to_array<Verb>({{"submit", &SteppedRun::submit},
                                                      {"abort", &SteppedRun::abort},
                                                      {"step", &SteppedRun::step},
                                                      {"run_until", &SteppedRun::run_until},
                                                      {"observe", &SteppedRun::observe},
                                                      {"trace", &SteppedRun::trace},
                                                      {"finish", &SteppedRun::finish}});
  const auto* const found = std::ranges::find(kVerbs, verb, &Verb::name);
  if (found == kVerbs.end()) {
    std::vector<std::string_view> names;
    for (const Verb& known : kVerbs) {
      names.push_back(known.name);
    }
    return core::fail(core::Error{
        .field = "verb",
        .message = fmt::format("found \"{}\", expected one of: {}", verb, fmt::join(names, ", "))});
  }
  if (is_finished_ && verb != "trace") {
    return core::fail(core::Error{.field = "session", .message = "is finished"});
  }
  return (this->*found->call)(document);
}

void SteppedRun::on_tokens(core::SimTime /*end*/, std::span<const domain::TokenEvent> events) {
  tokens_ += static_cast<std::int64_t>(events.size());
}
void SteppedRun::on_end(const domain::RequestRecord& /*record*/) {}
void SteppedRun::on_steps(const domain::StepRecord& record) {
  steps_ += record.steps;
}
void SteppedRun::Ended::on_request(const domain::RequestRecord& record,
                                   const metrics::RequestMetrics& metrics) {
  ++count;
  rows.push_back(row_of(record, metrics));
}

core::SimTime SteppedRun::now() {
  return std::max(clock_.now(), session_->last_stamp());
}

void SteppedRun::go_to(core::SimTime time) {
  clock_.set(std::max(time, now()));
  session_->advance();
  session_->hand_over();
}

bool SteppedRun::is_stopped() {
  return (policies_ && policies_->failure()) || (hooks_.interrupted && hooks_.interrupted());
}

SteppedRun::Outcome SteppedRun::happened() {
  if (policies_ && policies_->failure()) {
    return core::fail(*policies_->failure());
  }
  return answered(document::MapBuilder()
                      .add("now_s", seconds_node(now()))
                      .add("next_s", seconds_node(session_->next_instant()))
                      .add("steps", document::integer_node(std::exchange(steps_, 0)))
                      .add("tokens", document::integer_node(std::exchange(tokens_, 0)))
                      .add("ended", document::list_node(std::exchange(ended_.rows, {})))
                      .build());
}

SteppedRun::Outcome SteppedRun::submit(CallDocument& document) {
  const std::int64_t prompt = document.take_count("prompt_tokens", 0, kMostTokensOfRequest);
  const std::int64_t output = document.take_count("output_tokens", 0, kMostTokensOfRequest);
  const std::int64_t most = document.take_count("max_tokens", output, kMostTokensOfRequest);
  const std::int64_t prefix = document.take_count("prefix_tokens", 0, kMostTokensOfRequest);
  const std::int64_t prefix_id = document.take_integer("prefix_id", 0, 0, kMostNames);
  const std::int64_t session = document.take_integer("session", -1, 0, kMostNames);
  const std::int64_t priority =
      document.take_integer("priority", 0, std::numeric_limits<std::int32_t>::min(), kMostNames);
  document.end();
  core::Errors errors = document.errors();
  const auto has_error = [&](std::string_view key) {
    return std::ranges::any_of(errors,
                               [&](const core::Error& error) { return error.field == key; });
  };
  if (prompt == 0 && !has_error("prompt_tokens")) {
    errors.push_back(missing("prompt_tokens"));
  }
  if (output == 0 && !has_error("output_tokens")) {
    errors.push_back(missing("output_tokens"));
  }
  if (prompt > 0 && prefix > prompt) {
    errors.push_back(
        {.field = "prefix_tokens",
         .message = fmt::format("found {}, expected at most prompt_tokens, {}", prefix, prompt)});
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  if (session_->num_requests() > kMostNames) {
    return core::fail(core::Error{.field = "session", .message = "has as many requests as it can"});
  }
  domain::Request request;
  request.prompt_tokens = core::Tokens(prompt);
  request.output_tokens = core::Tokens(output);
  request.max_tokens = core::Tokens(most);
  request.priority = static_cast<std::int32_t>(priority);
  if (session >= 0) {
    request.session = core::SessionId(static_cast<core::SessionId::Rep>(session));
  }
  if (prefix > 0) {
    request.prompt = {
        {.content = static_cast<std::uint64_t>(prefix_id), .length = core::Tokens(prefix)}};
  }
  const core::RequestId id = session_->submit(std::move(request), now());
  return answered(document::MapBuilder()
                      .add("id", document::integer_node(static_cast<std::int64_t>(id.value())))
                      .add("arrival_s", seconds_node(session_->last_stamp()))
                      .build());
}

SteppedRun::Outcome SteppedRun::abort(CallDocument& document) {
  const std::int64_t id = document.take_integer("id", -1, 0, kMostNames);
  document.end();
  if (!document.errors().empty()) {
    return core::fail(document.errors());
  }
  if (id < 0 || id >= session_->num_requests()) {
    return core::fail(core::Error{
        .field = "id",
        .message = fmt::format("found {}, expected the number of a request: there are {}",
                               id,
                               session_->num_requests())});
  }
  session_->abort(core::RequestId(static_cast<core::RequestId::Rep>(id)));
  session_->hand_over();
  return happened();
}

SteppedRun::Outcome SteppedRun::step(CallDocument& document) {
  document.end();
  if (!document.errors().empty()) {
    return core::fail(document.errors());
  }
  if (const core::SimTime next = session_->next_instant(); next != core::SimTime::never()) {
    go_to(next + kTick);
  }
  return happened();
}

SteppedRun::Outcome SteppedRun::run_until(CallDocument& document) {
  const std::optional<double> until_s = document.take_number("until_s");
  const bool stops_at_end = document.take_bool("stop_at_request_end", false);
  document.end();
  if (!document.errors().empty()) {
    return core::fail(document.errors());
  }
  const auto given = until_s ? core::Duration::from_seconds(*until_s) : std::nullopt;
  const core::SimTime limit = given ? core::SimTime::at(*given) : core::SimTime::never();
  if (until_s && (!given || limit < now() || limit > core::SimTime::last())) {
    return core::fail(
        core::Error{.field = "until_s",
                    .message = fmt::format("found {}, expected seconds from now, {}, to {}",
                                           *until_s,
                                           now().to_seconds(),
                                           core::SimTime::last().to_seconds())});
  }
  bool is_whole = true;
  for (std::int64_t i = 0; !(stops_at_end && !ended_.rows.empty()); ++i) {
    if (i % kInstantsPerLook == 0 && is_stopped()) {
      is_whole = false;
      break;
    }
    const core::SimTime next = session_->next_instant();
    // A fleet reads its gauges for ever: without a limit the last request is the end.
    const bool is_done = !until_s && ended_.count == session_->num_requests();
    if (is_done || next >= limit || next == core::SimTime::never()) {
      if (until_s) {
        go_to(limit);
      }
      break;
    }
    go_to(next + kTick);
  }
  auto reply = happened();
  if (reply && !is_whole) {
    reply->code = kInterrupted;
  }
  return reply;
}

SteppedRun::Outcome SteppedRun::observe(CallDocument& document) {
  document.end();
  if (!document.errors().empty()) {
    return core::fail(document.errors());
  }
  const engine::InstanceState state = session_->state();
  const engine::EngineTotals totals = session_->totals();
  return answered(
      document::MapBuilder()
          .add("now_s", seconds_node(now()))
          .add("next_s", seconds_node(session_->next_instant()))
          .add("requests", document::integer_node(session_->num_requests()))
          .add("ended", document::integer_node(ended_.count))
          .add("running", document::integer_node(state.running))
          .add("waiting", document::integer_node(state.waiting))
          .add("queued_prompt_tokens", document::integer_node(state.queued_prompt_tokens.value()))
          .add("used_blocks", document::integer_node(state.used_blocks.value()))
          .add("free_blocks", document::integer_node(state.free_blocks.value()))
          .add("steps", document::integer_node(totals.steps))
          .add("preemptions", document::integer_node(totals.preemptions))
          .build());
}

SteppedRun::Outcome SteppedRun::trace(CallDocument& document) {
  document.end();
  if (!document.errors().empty()) {
    return core::fail(document.errors());
  }
  session_->flush_log();
  return answered(document::MapBuilder().add("trace", document::text_node(trace_)).build());
}

SteppedRun::Outcome SteppedRun::finish(CallDocument& document) {
  document.end();
  if (!document.errors().empty()) {
    return core::fail(document.errors());
  }
  is_finished_ = true;
  const StopWatch clock;
  auto outcome = session_->finish();
  if (policies_ && policies_->failure()) {
    return core::fail(*policies_->failure());
  }
  if (!outcome) {
    return core::fail(outcome.error());
  }
  auto result = report::run_result(
      *resolved_,
      *std::move(outcome),
      {.wall_time_s = clock.seconds(), .host = std::nullopt, .engine_core = "fast"});
  // The words for a scenario without a workload are not those for requests of a host.
  std::ranges::replace(result.headline, "all requests at once", "requests of a session");
  if (constexpr std::string_view kRun = "ridgeline run"; result.command.starts_with(kRun)) {
    result.command.replace(0, kRun.size(), "ridgeline replay --trace session.jsonl");
  }
  result.expected_errors.clear();  // Which band holds depends on whether its clients wait.
  result.warnings.push_back({.code = "W-session",
                             .message = "its requests were submitted by the host's code, which "
                                        "`config` does not hold",
                             .hint = "replay the session's trace, which holds them"});
  if (policies_) {
    policies_->tell(said_, result);
  }
  return run_reply(*resolved_, std::move(result), kept_, tables_);
}

}  // namespace ridgeline::api
