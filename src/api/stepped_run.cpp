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
#include "api/policies.hpp"
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
#include "metrics/request_metrics.hpp"
#include "metrics/summary.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/live/arrival_log.hpp"
#include "sim/live/session.hpp"
#include "sim/simulation.hpp"
#include "verbs/clock.hpp"
#include "verbs/request.hpp"
#include "verbs/run.hpp"
#include "verbs/run/make_result.hpp"

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
  row.add("id", static_cast<std::int64_t>(record.id.value()))
      .add("outcome", metrics::kOutcomeNames[outcome]);
  if (record.instance.valid()) {
    row.add("instance", static_cast<std::int64_t>(record.instance.value()));
  }
  return row.add("prompt_tokens", record.prompt_tokens.value())
      .add("output_tokens", record.output_tokens.value())
      .add("cached_tokens", record.cached_tokens.value())
      .add("preemptions", record.preemptions)
      .add("arrival_s", seconds_node(record.arrival))
      .add("first_token_s", seconds_node(record.first_token))
      .add("last_token_s", seconds_node(record.last_token))
      .add("queue_time_ms", milliseconds_node(metrics.queue_time))
      .add("ttft_ms", milliseconds_node(metrics.ttft))
      .add("tpot_ms", milliseconds_node(metrics.tpot))
      .add("e2e_ms", milliseconds_node(metrics.e2e))
      .build();
}

Answer answered_with(document::Node tree) {
  return answer_of(verbs::answer_of(std::move(tree)));
}

core::Error missing(std::string_view key) {
  return {.field = std::string(key), .message = "missing"};
}

}  // namespace

SteppedRun::SteppedRun(const Hooks& hooks,
                       const rl_hooks* policies,
                       verbs::Kept kept,
                       document::Node said)
    : hooks_(hooks), kept_(kept), said_(std::move(said)) {
  if (policies != nullptr) {
    policies_.emplace(*policies);
    if (!policies_->any()) {
      policies_.reset();
    }
  }
}

core::Result<std::unique_ptr<SteppedRun>> SteppedRun::open(verbs::Request& request,
                                                           const Hooks& hooks,
                                                           const rl_hooks* policies) {
  const verbs::Kept kept = verbs::take_kept(request);
  document::Node said = request.take("policies");
  auto loaded = request.load(scenario::Purpose::kLook);
  request.keep(loaded);
  if (loaded && verbs::has_workload(loaded->scenario.workload)) {
    request.add({.field = "workload",
                 .message = "found one, expected none: requests of a session are submitted"});
  }
  if (!request.errors().empty()) {
    return core::fail(request.errors());
  }
  auto resolved = scenario::resolve(std::move(*loaded));
  if (!resolved) {
    return core::fail(resolved.error());
  }
  std::unique_ptr<SteppedRun> run(new SteppedRun(hooks, policies, kept, std::move(said)));
  run->resolved_.emplace(std::move(*resolved));
  run->tables_ = std::make_shared<KeptTables>(run->kept_);
  run->listeners_.add(&run->ended_);
  if (run->kept_.any_rows()) {
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
  Outcome (SteppedRun::*call)(verbs::Request& request);
};

core::Result<Answer> SteppedRun::call(std::string_view verb, verbs::Request& request) {
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
  return (this->*found->call)(request);
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
  return answered_with(document::MapBuilder()
                           .add("now_s", seconds_node(now()))
                           .add("next_s", seconds_node(session_->next_instant()))
                           .add("steps", std::exchange(steps_, 0))
                           .add("tokens", std::exchange(tokens_, 0))
                           .add("ended", document::list_node(std::exchange(ended_.rows, {})))
                           .build());
}

SteppedRun::Outcome SteppedRun::submit(verbs::Request& request) {
  const std::int64_t prompt = request.take_count("prompt_tokens", 0, kMostTokensOfRequest);
  const std::int64_t output = request.take_count("output_tokens", 0, kMostTokensOfRequest);
  const std::int64_t most = request.take_count("max_tokens", output, kMostTokensOfRequest);
  const std::int64_t prefix = request.take_count("prefix_tokens", 0, kMostTokensOfRequest);
  const std::int64_t prefix_id = request.take_integer("prefix_id", 0, 0, kMostNames);
  const std::int64_t session = request.take_integer("session", -1, 0, kMostNames);
  const std::int64_t priority =
      request.take_integer("priority", 0, std::numeric_limits<std::int32_t>::min(), kMostNames);
  request.end();
  core::Errors errors = request.errors();
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
  domain::Request submitted;
  submitted.prompt_tokens = core::Tokens(prompt);
  submitted.output_tokens = core::Tokens(output);
  submitted.max_tokens = core::Tokens(most);
  submitted.priority = static_cast<std::int32_t>(priority);
  if (session >= 0) {
    submitted.session = core::SessionId(static_cast<core::SessionId::Rep>(session));
  }
  if (prefix > 0) {
    submitted.prompt = {
        {.content = static_cast<std::uint64_t>(prefix_id), .length = core::Tokens(prefix)}};
  }
  const core::RequestId id = session_->submit(std::move(submitted), now());
  return answered_with(document::MapBuilder()
                           .add("id", static_cast<std::int64_t>(id.value()))
                           .add("arrival_s", seconds_node(session_->last_stamp()))
                           .build());
}

SteppedRun::Outcome SteppedRun::abort(verbs::Request& request) {
  const std::int64_t id = request.take_integer("id", -1, 0, kMostNames);
  request.end();
  if (!request.errors().empty()) {
    return core::fail(request.errors());
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

SteppedRun::Outcome SteppedRun::step(verbs::Request& request) {
  request.end();
  if (!request.errors().empty()) {
    return core::fail(request.errors());
  }
  if (const core::SimTime next = session_->next_instant(); next != core::SimTime::never()) {
    go_to(next + kTick);
  }
  return happened();
}

SteppedRun::Outcome SteppedRun::run_until(verbs::Request& request) {
  const std::optional<double> until_s = request.take_number("until_s");
  const bool stops_at_end = request.take_bool("stop_at_request_end", false);
  request.end();
  if (!request.errors().empty()) {
    return core::fail(request.errors());
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
    reply->code = verbs::kInterrupted;
  }
  return reply;
}

SteppedRun::Outcome SteppedRun::observe(verbs::Request& request) {
  request.end();
  if (!request.errors().empty()) {
    return core::fail(request.errors());
  }
  const engine::InstanceState state = session_->state();
  const engine::EngineTotals totals = session_->totals();
  return answered_with(document::MapBuilder()
                           .add("now_s", seconds_node(now()))
                           .add("next_s", seconds_node(session_->next_instant()))
                           .add("requests", session_->num_requests())
                           .add("ended", ended_.count)
                           .add("running", state.running)
                           .add("waiting", state.waiting)
                           .add("queued_prompt_tokens", state.queued_prompt_tokens.value())
                           .add("used_blocks", state.used_blocks.value())
                           .add("free_blocks", state.free_blocks.value())
                           .add("steps", totals.steps)
                           .add("preemptions", totals.preemptions)
                           .build());
}

SteppedRun::Outcome SteppedRun::trace(verbs::Request& request) {
  request.end();
  if (!request.errors().empty()) {
    return core::fail(request.errors());
  }
  session_->flush_log();
  return answered_with(document::MapBuilder().add("trace", trace_).build());
}

SteppedRun::Outcome SteppedRun::finish(verbs::Request& request) {
  request.end();
  if (!request.errors().empty()) {
    return core::fail(request.errors());
  }
  is_finished_ = true;
  const verbs::StopWatch clock;
  auto outcome = session_->finish();
  if (policies_ && policies_->failure()) {
    return core::fail(*policies_->failure());
  }
  if (!outcome) {
    return core::fail(outcome.error());
  }
  auto result = verbs::run_result(
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
  return answer_of(verbs::run_reply(*resolved_, std::move(result), kept_, verbs::kInterrupted),
                   tables_);
}

}  // namespace ridgeline::api
