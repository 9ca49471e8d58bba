#include "observe/summary.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"
#include "document/json_writer.hpp"
#include "observe/record.hpp"
#include "observe/tally.hpp"

namespace ridgeline::observe {
namespace {

constexpr std::int64_t kSchemaVersion = 1;
using Figure = Tally::Figure;

struct Named {
  Figure figure;
  std::string_view key;
  std::string_view label;
};
constexpr auto kFigures = std::to_array<Named>({
    {Figure::kTtft, "ttft_ms", "TTFT"},
    {Figure::kTtftFromDue, "ttft_from_due_ms", "TTFT from due"},
    {Figure::kTpot, "tpot_ms", "TPOT"},
    {Figure::kItl, "itl_ms", "ITL"},
    {Figure::kE2e, "e2e_ms", "E2E"},
    {Figure::kE2eFromDue, "e2e_from_due_ms", "E2E from due"},
    {Figure::kLag, "lag_ms", "client's lag"},
    {Figure::kConnect, "connect_ms", "connecting"},
});

double per_second(std::int64_t count, const RecordTail& tail) {
  return tail.duration_s > 0.0 ? static_cast<double>(count) / tail.duration_s : 0.0;
}

std::int64_t completed(const Tally& tally) {
  return tally.done() - tally.failed();
}

void add_latencies(document::JsonWriter& json, const Tally& tally) {
  json.key("latencies").begin_object();
  for (const auto& [figure, key, label] : kFigures) {
    json.key(key);
    const auto spread = tally.spread(figure);
    if (!spread) {
      json.null();
      continue;
    }
    json.begin_object()
        .member("count", spread->count)
        .member("mean", spread->mean)
        .member("p50", spread->p50)
        .member("p90", spread->p90)
        .member("p99", spread->p99)
        .member("max", spread->max)
        .end_object();
  }
  json.end_object();
}

}  // namespace

std::string summary_table(const ObserveResult& result) {
  const RecordTail& tail = result.tail;
  const Tally& tally = result.tally;
  std::string text = fmt::format(
      "{}  {}\n\n{} requests sent in {:.1f} s: {} completed, {} failed, {} unfinished\n",
      core::escaped(result.head.target),
      core::escaped(result.head.model),
      tail.sent,
      tail.duration_s,
      completed(tally),
      tally.failed(),
      tail.unfinished);
  if (tally.warm_up() > 0) {
    text +=
        fmt::format("{} of them warmed the server up and are not counted below\n", tally.warm_up());
  }
  text += fmt::format(
      "{:.4g} requests/s, {:.4g} output tokens/s\n\n{:<14}{:>10}{:>10}{:>10}{:>10}"
      "{:>10}\n",
      per_second(completed(tally), tail),
      per_second(tally.output_tokens(), tail),
      "ms",
      "mean",
      "p50",
      "p90",
      "p99",
      "max");
  for (const auto& [figure, key, label] : kFigures) {
    if (const auto spread = tally.spread(figure)) {
      text += fmt::format("{:<14}{:>10.2f}{:>10.2f}{:>10.2f}{:>10.2f}{:>10.2f}\n",
                          label,
                          spread->mean,
                          spread->p50,
                          spread->p90,
                          spread->p99,
                          spread->max);
    }
  }
  for (const auto& [error, count] : tally.errors()) {
    text += fmt::format("\n{} x {}", count, core::escaped(error));
  }
  text += tally.errors().empty() ? "" : "\n";
  if (tail.partial) {
    text += fmt::format("\npartial: ended by {}\n", tail.ended_by);
  }
  for (const auto& why : tail.unsound) {
    text += fmt::format("\nunsound: {}\n", why);
  }
  return text;
}

std::string summary_json(const ObserveResult& result) {
  const RecordTail& tail = result.tail;
  const Tally& tally = result.tally;
  document::JsonWriter json;
  json.begin_object()
      .member("schema_version", kSchemaVersion)
      .member("target", result.head.target)
      .member("model", result.head.model)
      .member("started", result.head.started)
      .member("workload_digest", result.head.workload_digest)
      .member("partial", tail.partial)
      .member("ended_by", tail.ended_by)
      .member("sound", tail.unsound.empty())
      .key("unsound")
      .begin_array();
  for (const auto& why : tail.unsound) {
    json.value(why);
  }
  json.end_array()
      .member("duration_s", tail.duration_s)
      .member("sent", tail.sent)
      .member("completed", completed(tally))
      .member("failed", tally.failed())
      .member("unfinished", tail.unfinished)
      .member("warm_up", tally.warm_up())
      .member("held", tail.held)
      .member("input_tokens", tally.input_tokens())
      .member("output_tokens", tally.output_tokens())
      .member("cached_tokens", tally.cached_tokens())
      .member("requests_per_s", per_second(completed(tally), tail))
      .member("output_tokens_per_s", per_second(tally.output_tokens(), tail))
      .member("client_cpu_share", tail.cpu_share);
  add_latencies(json, tally);
  json.key("errors").begin_array();
  for (const auto& [error, count] : tally.errors()) {
    json.begin_object().member("error", error).member("count", count).end_object();
  }
  json.end_array().key("warnings").begin_array();
  for (const auto& warning : result.warnings) {
    json.begin_object()
        .member("code", warning.code)
        .member("message", warning.message)
        .member("hint", warning.hint)
        .end_object();
  }
  json.end_array().end_object();
  return json.text() + "\n";
}

}  // namespace ridgeline::observe
