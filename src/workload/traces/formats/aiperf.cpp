// AIPerf's profile_export.jsonl (github.com/ai-dynamo/aiperf): a line per request with metadata
// {request_start_ns, benchmark_phase, was_cancelled} and metrics {input_sequence_length{value},
// output_sequence_length{value}}. Requests with an error, cancelled ones and those of other phases
// than "profiling" are left out.
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/result.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/document_lines.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/json_cursor.hpp"
#include "workload/traces/reading/json_records.hpp"
#include "workload/traces/reading/row_ledger.hpp"
#include "workload/traces/reading/timed_items.hpp"

namespace ridgeline::workload {
namespace {

class AiperfReader {
 public:
  void read(const TraceLine& line) {
    JsonCursor json(line);
    JsonRecord record;
    if (!record.read(json) || !json.at_end()) {
      return;
    }
    if (is_left_out(record)) {
      return;
    }
    Item item;
    const auto start = record.find({"metadata.request_start_ns"});
    if (!start || !record.find({"metrics.input_sequence_length.value"}) ||
        !record.find({"metrics.output_sequence_length.value"})) {
      line.problem("",
                   record.place(),
                   "a request without time or token counts",
                   "metadata.request_start_ns, metrics.input_sequence_length and "
                   "metrics.output_sequence_length");
      return;
    }
    if (clock_.read(line, "request_start_ns", *start, kNanosecondsUnit, item.arrival) &&
        record.tokens(line, {"metrics.input_sequence_length.value"}, item.input_tokens) &&
        record.tokens(line, {"metrics.output_sequence_length.value"}, item.output_tokens)) {
      list_.items.push_back(item);
    }
  }

  [[nodiscard]] ItemList take() {
    if (failed_ > 0) {
      list_.warnings.push_back(
          {.code = "W-failed-requests",
           .message = fmt::format("{} requests with an error were left out", failed_)});
    }
    if (other_phases_ > 0) {
      list_.warnings.push_back(
          {.code = "W-warm-up",
           .message = fmt::format("{} requests before the phase \"profiling\" were left out",
                                  other_phases_)});
    }
    settle_arrivals(list_.items);
    return std::move(list_);
  }

 private:
  bool is_left_out(const JsonRecord& record) {
    if (record.find({"metadata.benchmark_phase"}).value_or("profiling") != "profiling") {
      ++other_phases_;
      return true;
    }
    if (record.find({"error", "error.type", "error.message", "error.code"}) ||
        record.find({"metadata.was_cancelled"}).value_or("false") == "true") {
      ++failed_;
      return true;
    }
    return false;
  }

  EpochClock clock_;
  ItemList list_;
  std::int64_t failed_ = 0;
  std::int64_t other_phases_ = 0;
};

core::Result<std::unique_ptr<ItemStream>> read_aiperf(TraceDocument document) {
  RowLedger ledger(document.skip_bad_rows);
  AiperfReader reader;
  for_each_line(document.text, document.path, ledger, [&](const TraceLine& line, std::int64_t) {
    reader.read(line);
  });
  return finish_document(reader.take(), document, ledger);
}

}  // namespace

const TraceFormat kAiperf = {
    .name = "aiperf",
    .summary = "AIPerf's profile_export.jsonl: the requests it sent",
    .detect =
        [](const TraceHead& head) {
          return head.is_object() && head.has_keys({"metadata", "metrics"});
        },
    .open_document = read_aiperf,
};

}  // namespace ridgeline::workload
