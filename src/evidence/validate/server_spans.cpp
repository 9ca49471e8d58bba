#include "evidence/validate/server_spans.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "evidence/validate/client_load.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/loose_node.hpp"
#include "evidence/validate/result_document.hpp"

namespace ridgeline::evidence::validate {
namespace {

/// A request that waits for less waits for nothing: the clocks of two processes, and no time that a
/// prediction could be off by.
constexpr double kShortestMs = 1.0;

/// A number, or a text of one: whole numbers are texts in OpenTelemetry's JSON.
std::optional<double> number_or_text_at(const document::Node& node, std::string_view key) {
  const std::string text = text_at(node, key);
  double number = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && error == std::errc() && end == text.data() + text.size()
             ? std::optional(number)
             : std::nullopt;
}

/// An attribute's value: {"doubleValue": 1.5}.
std::optional<double> number_of(const document::Node& value) {
  const auto real = number_or_text_at(value, "doubleValue");
  return real ? real : number_or_text_at(value, "intValue");
}

void add_span(const document::Node& node, ServerSpans& spans) {
  constexpr auto kTimes =
      std::to_array<std::pair<std::string_view, std::optional<double> ServerSpan::*>>(
          {{"gen_ai.latency.time_to_first_token", &ServerSpan::ttft},
           {"gen_ai.latency.e2e", &ServerSpan::e2e},
           {"gen_ai.latency.time_in_queue", &ServerSpan::queue},
           {"gen_ai.latency.time_in_model_prefill", &ServerSpan::prefill},
           {"gen_ai.latency.time_in_model_decode", &ServerSpan::decode}});
  constexpr double kNanosecond = 1e-9;
  ServerSpan span;
  std::string id;
  span.start_s = number_or_text_at(node, "startTimeUnixNano").value_or(0.0) * kNanosecond;
  for (const auto& attribute : items_at(node, "attributes")) {
    const std::string key = text_at(attribute, "key");
    const document::Node* value = member_at(attribute, "value");
    if (value == nullptr) {
      continue;
    }
    if (key == "gen_ai.request.id") {
      id = text_at(*value, "stringValue");
    } else if (key == "gen_ai.usage.completion_tokens") {
      span.output_tokens = number_of(*value).value_or(0.0);
    }
    for (const auto& [name, slot] : kTimes) {
      const auto seconds = key == name ? number_of(*value) : std::nullopt;
      if (seconds && *seconds >= 0.0) {
        span.*slot = *seconds * kMillisecondsPerSecond;
      }
    }
  }
  if (!id.empty()) {
    spans.insert_or_assign(id.substr(0, id.rfind('-')), span);
  }
}

void add_export(const document::Node& document, ServerSpans& spans) {
  for (const auto& resource : items_at(document, "resourceSpans")) {
    for (const auto& scope : items_at(resource, "scopeSpans")) {
      for (const auto& span : items_at(scope, "spans")) {
        add_span(span, spans);
      }
    }
  }
}

}  // namespace

core::Result<ServerSpans> read_server_spans(const std::string& text, const std::string& path) {
  ServerSpans spans;
  if (const auto whole = document::parse_json(text, path)) {
    add_export(*whole, spans);
  } else {
    std::string_view rest = text;
    for (std::size_t number = 1; !rest.empty(); ++number) {
      const std::string_view line = next_line(rest);
      if (is_blank(line)) {
        continue;
      }
      const auto document = document::parse_json(line, path);
      if (!document) {
        return core::fail(core::Error{
            .message = fmt::format("line {}: expected JSON of OpenTelemetry's spans, found {}",
                                   number,
                                   document.error().front().message),
            .where = {.file = path}});
      }
      add_export(*document, spans);
    }
  }
  if (spans.empty()) {
    return core::fail(core::Error{
        .message = "holds no span with gen_ai.request.id, expected vLLM's spans llm_request",
        .where = {.file = path}});
  }
  return spans;
}

Figures figures_of_spans(const std::vector<const ServerSpan*>& spans) {
  Figures figures;
  const auto fill = [&](Figure figure, std::optional<double> ServerSpan::* time) {
    std::vector<double> all;
    for (const ServerSpan* span : spans) {
      if (span->*time) {
        all.push_back(*(span->*time));
      }
    }
    fill_times(figure, std::move(all), figures);
    for (auto& value : figures.values[static_cast<std::size_t>(figure)]) {
      value = value && *value >= kShortestMs ? value : std::nullopt;
    }
  };
  fill(Figure::kServerTtft, &ServerSpan::ttft);
  fill(Figure::kServerE2e, &ServerSpan::e2e);
  fill(Figure::kQueue, &ServerSpan::queue);
  fill(Figure::kPrefill, &ServerSpan::prefill);
  fill(Figure::kDecode, &ServerSpan::decode);
  double ms = 0.0;
  double tokens = 0.0;
  for (const ServerSpan* span : spans) {
    if (span->prefill && span->decode) {
      ms += *span->prefill + *span->decode;
      tokens += span->output_tokens;
    }
  }
  if (tokens > 0.0) {
    figures.at(Figure::kServerItl, Level::kMean) = ms / tokens;
  }
  return figures;
}

}  // namespace ridgeline::evidence::validate
