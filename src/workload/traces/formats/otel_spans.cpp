// OpenTelemetry spans with the GenAI attributes (OTLP JSON as the collector writes it, a plain list
// of spans, or a span a line). Spans with token usage are requests. Within a trace, a request waits
// for those that had ended when it began and that no later one of them had already waited for; its
// delay is the time between.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/document_lines.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/grouping.hpp"
#include "workload/traces/reading/json_cursor.hpp"
#include "workload/traces/reading/json_records.hpp"
#include "workload/traces/reading/row_tally.hpp"
#include "workload/traces/reading/trace_clock.hpp"

namespace ridgeline::workload {
namespace {

struct GenAiSpan {
  Item item;
  core::Duration begin;
  core::Duration end;
  std::int32_t trace = -1;
};

class OtelReader {
 public:
  OtelReader(const TraceLine& line, RowTally& tally) : line_(line), tally_(tally) {}

  bool read(JsonCursor& json) {
    do {
      if (!walk(json, 0)) {
        return false;
      }
    } while (!json.rest().empty());
    return json.at_end();
  }

  ItemList take(const std::string& path) {
    std::ranges::stable_sort(spans_, {}, &GenAiSpan::begin);
    std::map<std::int32_t, std::vector<std::size_t>> traces;
    std::vector<LooseItem> loose;
    const core::Duration first = spans_.empty() ? core::Duration() : spans_.front().begin;
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      LooseItem next;
      next.item = std::move(spans_[i].item);
      next.item.arrival = spans_[i].begin - first;
      next.name = static_cast<std::int64_t>(i);
      next.row = static_cast<std::int64_t>(i) + 1;
      auto& earlier = traces[spans_[i].trace];
      next.item.session = spans_[i].trace;
      next.item.turn = static_cast<std::int32_t>(earlier.size());
      wait_for_ended(i, earlier, next);
      earlier.push_back(i);
      loose.push_back(std::move(next));
    }
    ItemList list;
    list.items = grouped(std::move(loose), path, tally_);
    list.labels = std::move(labels_);
    return list;
  }

 private:
  /// Takes a value: a span, or what holds spans.
  bool walk(JsonCursor& json, int depth) {
    constexpr int kDeepest = 12;
    if (depth > kDeepest) {
      return json.skip();
    }
    if (json.kind() == '[') {
      for (json.enter('['); json.next_item();) {
        if (!walk(json, depth + 1)) {
          return false;
        }
      }
      return json.sound();
    }
    if (json.kind() != '{') {
      return json.fail({}, "an object or a list of spans");
    }
    JsonRecord record;
    std::string_view key;
    for (json.enter('{'); json.next_key(key);) {
      const bool holds_spans = key == "resourceSpans" || key == "resource_spans" ||
                               key == "scopeSpans" || key == "scope_spans" || key == "spans" ||
                               key == "data" || key == "batches";
      const bool done = holds_spans && (json.kind() == '[' || json.kind() == '{')
                            ? walk(json, depth + 1)
                            : record.read_under(json, std::string(key));
      if (!done) {
        return false;
      }
    }
    return json.sound() && add(record);
  }

  bool add(const JsonRecord& record) {
    GenAiSpan span;
    const auto before = tally_.errors().size();
    const auto input = record.find({"attributes.gen_ai.usage.input_tokens",
                                    "attributes.gen_ai.usage.prompt_tokens",
                                    "attributes.llm.token_count.prompt",
                                    "attributes.llm.usage.prompt_tokens"});
    const auto output = record.find({"attributes.gen_ai.usage.output_tokens",
                                     "attributes.gen_ai.usage.completion_tokens",
                                     "attributes.llm.token_count.completion",
                                     "attributes.llm.usage.completion_tokens"});
    if (!input || !output) {
      return true;  // A span of something else.
    }
    read_tokens(line_, "gen_ai.usage.input_tokens", *input, span.item.input_tokens);
    read_tokens(line_, "gen_ai.usage.output_tokens", *output, span.item.output_tokens);
    read_instant(record, true, span.begin);
    read_instant(record, false, span.end);
    if (const auto model =
            record.find({"attributes.gen_ai.request.model", "attributes.gen_ai.response.model"})) {
      span.item.model = labels_.intern(unescaped(*model));
    }
    if (const auto trace =
            record.find({"traceId", "trace_id", "context.trace_id", "spanContext.traceId"})) {
      span.trace = traces_.intern(*trace);
    }
    if (tally_.errors().size() > before) {
      tally_.bad_row();
      return tally_.goes_on();
    }
    span.end = std::max(span.begin, span.end);
    spans_.push_back(std::move(span));
    return true;
  }

  void read_instant(const JsonRecord& record, bool begin, core::Duration& time) {
    const std::string_view name = begin ? "start_time" : "end_time";
    const auto nanoseconds = begin ? record.find({"startTimeUnixNano", "start_time_unix_nano"})
                                   : record.find({"endTimeUnixNano", "end_time_unix_nano"});
    if (nanoseconds) {
      epoch_.read(line_, name, *nanoseconds, kNanosecondsUnit, time);
      return;
    }
    const auto text =
        begin ? record.find({"start_time", "startTime"}) : record.find({"end_time", "endTime"});
    if (!text) {
      line_.problem(name, record.place(), "a span without it", "it in every span");
    } else if (parse_timestamp(*text)) {
      clock_.read(line_, name, *text, time);
    } else {
      epoch_.read(line_, name, *text, kSecondsUnit, time);
    }
  }

  void wait_for_ended(std::size_t i, const std::vector<std::size_t>& earlier, LooseItem& next) {
    if (spans_[i].trace < 0) {
      return;
    }
    // It waits for the span that began last of those that had ended, and for those that ended after
    // that began; that one waited for earlier ones.
    std::optional<std::size_t> last;
    for (const std::size_t other : earlier) {
      if (spans_[other].end <= spans_[i].begin) {
        last = other;
      }
    }
    core::Duration last_end;
    for (const std::size_t other : earlier) {
      if (last && spans_[other].end <= spans_[i].begin &&
          (other == *last || spans_[other].end > spans_[*last].begin)) {
        last_end =
            next.waits_for.empty() ? spans_[other].end : std::max(last_end, spans_[other].end);
        next.waits_for.push_back(static_cast<std::int64_t>(other));
      }
    }
    if (!next.waits_for.empty()) {
      next.is_timed = false;
      next.item.delay = std::max(spans_[i].begin - last_end, core::Duration());
    }
  }

  const TraceLine& line_;
  RowTally& tally_;
  EpochClock epoch_;
  TraceClock clock_;
  Labels labels_;
  Labels traces_;
  std::vector<GenAiSpan> spans_;
};

core::Result<std::unique_ptr<ItemStream>> read_otel(TraceDocument document) {
  RowTally tally(document.skip_bad_rows);
  const TraceLine line(document.text, document.path, 1, tally.errors());
  JsonCursor json(line);
  OtelReader reader(line, tally);
  if (!line.is_text() || !reader.read(json)) {
    return core::fail(tally.errors());
  }
  return finish_document(reader.take(document.path), document, tally);
}

}  // namespace

const TraceFormat kOtelSpans = {
    .name = "otel-spans",
    .summary = "OpenTelemetry spans with GenAI token usage: the calls of agents",
    .detect =
        [](const TraceHead& head) {
          const bool span =
              (head.has_key("span_id") || head.has_key("spanId") || head.has_key("context")) &&
              (head.has_key("start_time") || head.has_key("startTimeUnixNano") ||
               head.has_key("startTime") || head.has_key("start_time_unix_nano"));
          return span || head.has_key("resourceSpans") || head.has_key("resource_spans") ||
                 (head.is_object() && head.has_key("spans"));
        },
    .open_document = read_otel,
};

}  // namespace ridgeline::workload
