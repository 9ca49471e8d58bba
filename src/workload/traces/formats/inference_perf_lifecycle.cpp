// inference-perf's per_request_lifecycle_metrics.json (github.com/kubernetes-sigs/inference-perf):
// a list of {start_time, end_time, request, response, info{input_tokens, output_tokens}, error};
// from 0.7 on info has {request_metrics.text.input_tokens, response_metrics.output_tokens}.
// Requests with an error are left out.
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/document_lines.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/json_cursor.hpp"
#include "workload/traces/reading/json_records.hpp"
#include "workload/traces/reading/row_tally.hpp"

namespace ridgeline::workload {
namespace {

class LifecycleReader {
 public:
  LifecycleReader(const TraceLine& line, RowTally& tally) : line_(line), tally_(tally) {}

  bool read(JsonCursor& json) {
    for (json.enter('['); json.next_item() && tally_.goes_on();) {
      JsonRecord record;
      if (!record.read(json)) {
        return false;
      }
      add(record);
    }
    return tally_.errors().empty() && json.at_end();
  }
  [[nodiscard]] ItemList take() {
    if (failed_ > 0) {
      list_.warnings.push_back(
          {.code = "W-failed-requests",
           .message = fmt::format(
               "left out: {} {} with an error", failed_, core::plural("request", failed_))});
    }
    return std::move(list_);
  }

 private:
  void add(const JsonRecord& record) {
    if (record.find({"error", "error.error_type", "error.error_msg"})) {
      ++failed_;
      return;
    }
    Item item;
    const auto before = tally_.errors().size();
    const auto start = record.find({"start_time"});
    const bool sound =
        start && clock_.read(line_, "start_time", *start, kSecondsUnit, item.arrival) &&
        record.tokens(
            line_,
            {"info.input_tokens", "info.prompt_tokens", "info.request_metrics.text.input_tokens"},
            item.input_tokens) &&
        record.tokens(
            line_,
            {"info.output_tokens", "info.completion_tokens", "info.response_metrics.output_tokens"},
            item.output_tokens);
    if (!sound && tally_.errors().size() == before) {
      line_.problem("",
                    record.place(),
                    "a request without times or token counts",
                    "start_time, info.input_tokens and info.output_tokens");
    }
    if (!sound) {
      tally_.bad_row();
      return;
    }
    list_.items.push_back(item);
  }

  const TraceLine& line_;
  RowTally& tally_;
  EpochClock clock_;
  ItemList list_;
  std::int64_t failed_ = 0;
};

}  // namespace

const TraceFormat kInferencePerfLifecycle = {
    .name = "inference-perf-lifecycle",
    .summary = "inference-perf's per-request lifecycle metrics: the requests it sent",
    .detect =
        [](const TraceHead& head) {
          return head.is_list() && head.has_keys({"start_time", "end_time"}) &&
                 (head.has_key("info") || head.has_key("request"));
        },
    .open_document = read_run<LifecycleReader>,
};

}  // namespace ridgeline::workload
