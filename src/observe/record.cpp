#include "observe/record.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/time.hpp"
#include "document/json_writer.hpp"
#include "domain/prompt.hpp"

namespace ridgeline::observe {
namespace {

using document::JsonWriter;

void add_text(JsonWriter& json, std::string_view key, const std::string& text) {
  if (!text.empty()) {
    json.member(key, text);
  }
}

template <class Number>
void add_number(JsonWriter& json, std::string_view key, const std::optional<Number>& number) {
  if (number) {
    json.member(key, *number);
  }
}

void add_pairs(JsonWriter& json,
               std::string_view key,
               const std::vector<std::pair<std::string, std::string>>& pairs) {
  json.key(key).begin_object();
  for (const auto& [name, text] : pairs) {
    json.member(name, text);
  }
  json.end_object();
}

void add_metrics(JsonWriter& json, const ServerMetrics& metrics) {
  add_number(json, "running", metrics.running);
  add_number(json, "waiting", metrics.waiting);
  add_number(json, "kv_use", metrics.kv_use);
  add_number(json, "preemptions", metrics.preemptions);
  add_number(json, "prefix_queries", metrics.prefix_queries);
  add_number(json, "prefix_hits", metrics.prefix_hits);
  add_number(json, "prompt_tokens", metrics.prompt_tokens);
  add_number(json, "generation_tokens", metrics.generation_tokens);
  add_number(json, "late_s", metrics.late_s);
  add_number(json, "late_steps", metrics.late_steps);
}

/// [[content, tokens], ...] as in request-jsonl; -1 - k is the answer to the request with id k.
void add_prompt(JsonWriter& json, const domain::Request& request) {
  json.key("prompt").begin_array();
  for (const auto& segment : request.prompt) {
    const auto number = static_cast<std::int64_t>(answered_request(segment.content));
    json.begin_array()
        .value(is_answer(segment.content) ? -1 - number : number)
        .value(segment.length.value())
        .end_array();
  }
  json.end_array();
}

void add_round_trip(JsonWriter& json, const std::optional<core::Duration>& round_trip) {
  if (round_trip) {
    json.member("round_trip_ms", round_trip->to_milliseconds());
  }
}

std::string finish(JsonWriter& json) {
  json.end_object();
  return json.text() + "\n";
}

}  // namespace

std::string utc_text(std::int64_t unix_ns) {
  using std::chrono::floor;
  const std::chrono::sys_time<std::chrono::nanoseconds> time{std::chrono::nanoseconds(unix_ns)};
  const auto day = floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(floor<std::chrono::seconds>(time - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
                     static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()),
                     clock.hours().count(),
                     clock.minutes().count(),
                     clock.seconds().count());
}

core::Duration Row::lag() const {
  if (!sent) {
    return {};
  }
  return std::max(core::Duration(), *sent - due - held - connect);
}

std::string head_line(const RecordHead& head) {
  JsonWriter json(JsonWriter::Layout::kOneLine);
  json.begin_object()
      .member("ridgeline_observed", kRecordVersion)
      .member("target", head.target)
      .member("started", head.started)
      .key("server")
      .begin_object();
  add_text(json, "version", head.server_version);
  json.key("models").begin_array();
  for (const auto& model : head.models) {
    json.value(model);
  }
  json.end_array();
  add_pairs(json, "cache_config", head.metrics.cache_config);
  json.key("metrics_before").begin_object();
  add_metrics(json, head.metrics);
  json.end_object().end_object().member("model", head.model);
  add_pairs(json, "deployment", head.deployment);
  json.member("workload_digest", head.workload_digest);
  add_pairs(json, "workload", head.workload);
  json.key("prompts")
      .begin_object()
      .member("endpoint", path_of(head.endpoint))
      .member("form", head.form == PromptForm::kTokens ? "tokens" : "words")
      .member("overhead", head.overhead.first)
      .member("overhead_each_message", head.overhead.each_message)
      .member("salt", static_cast<std::int64_t>(head.salt))
      .member("output", head.natural_output ? "natural" : "forced")
      .end_object()
      .key("client")
      .begin_object()
      .member("version", head.client_version);
  add_round_trip(json, head.round_trip);
  json.member("loopback", head.is_loopback);
  json.end_object();
  return finish(json);
}

std::string row_line(const Row& row) {
  const domain::Request& request = row.request;
  const Answer& answer = row.answer;
  JsonWriter json(JsonWriter::Layout::kOneLine);
  json.begin_object().member("id", request.id.value()).member("stage", row.stage);
  if (request.session.valid()) {
    json.member("session", request.session.value()).member("turn", request.turn);
  }
  json.member("due_s", row.due.to_seconds());
  const auto add_since_sent = [&](std::string_view key, const std::optional<core::SimTime>& time) {
    if (time && row.sent) {
      json.member(key, (*time - *row.sent).to_milliseconds());
    }
  };
  if (row.sent) {
    json.member("send_s", row.sent->to_seconds());
  }
  json.member("connect_ms", row.connect.to_milliseconds())
      .member("held_ms", row.held.to_milliseconds())
      .member("lag_ms", row.lag().to_milliseconds())
      .member("attempt", row.attempt)
      .member("status", row.status);
  add_text(json, "error", answer.error);
  json.member("ended", name(answer.ended)).member("input_tokens", request.prompt_tokens.value());
  add_number(json, "prompt_tokens", answer.prompt_tokens);
  json.member("output_tokens", std::min(request.output_tokens, request.max_tokens).value());
  add_number(json, "completion_tokens", answer.completion_tokens);
  add_number(json, "cached_tokens", answer.cached_tokens);
  add_since_sent("ttft_ms", answer.first_event);
  add_since_sent("first_text_ms", answer.first_text);
  add_since_sent("last_ms", answer.last_event);
  add_since_sent("end_ms", answer.end);
  json.member("events", answer.events).member("coalesced", answer.coalesced);
  json.key("gaps_us").begin_array();
  for (const core::Duration gap : answer.gaps) {
    json.value(std::llround(gap.to_microseconds()));
  }
  json.end_array();
  add_text(json, "finish_reason", answer.finish_reason);
  add_text(json, "request_id", answer.request_id);
  if (row.tells_prompt && !request.prompt.empty()) {
    add_prompt(json, request);
  }
  json.member("warmup", row.is_warm_up);
  return finish(json);
}

std::string scrape_line(core::SimTime time, const ServerMetrics& metrics) {
  JsonWriter json(JsonWriter::Layout::kOneLine);
  json.begin_object().member("scrape_s", time.to_seconds());
  add_metrics(json, metrics);
  return finish(json);
}

std::string tail_line(const RecordTail& tail) {
  JsonWriter json(JsonWriter::Layout::kOneLine);
  json.begin_object()
      .member("ridgeline_observed_end", kRecordVersion)
      .member("partial", tail.partial);
  add_text(json, "ended_by", tail.ended_by);
  json.member("sound", tail.unsound.empty()).key("unsound").begin_array();
  for (const auto& why : tail.unsound) {
    json.value(why);
  }
  json.end_array()
      .key("client")
      .begin_object()
      .member("duration_s", tail.duration_s)
      .member("sent", tail.sent)
      .member("unfinished", tail.unfinished)
      .member("held", tail.held)
      .key("lag_ms")
      .begin_object()
      .member("p50", tail.lag_p50_ms)
      .member("p99", tail.lag_p99_ms)
      .member("max", tail.lag_max_ms)
      .end_object()
      .member("cpu_share", tail.cpu_share);
  add_round_trip(json, tail.round_trip);
  json.end_object().key("metrics_after").begin_object();
  add_metrics(json, tail.metrics);
  json.end_object();
  return finish(json);
}

}  // namespace ridgeline::observe
