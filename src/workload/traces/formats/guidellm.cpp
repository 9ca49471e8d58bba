// guidellm's reports (github.com/vllm-project/guidellm), versions 1 and 2: the successful requests
// of every benchmark, one benchmark after the other as they were run, with the times at which they
// were sent.
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/result.hpp"
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

class GuidellmReader {
 public:
  GuidellmReader(const TraceLine& line, RowTally& tally) : line_(line), tally_(tally) {}

  bool read(JsonCursor& json) {
    std::string_view key;
    for (json.enter('{'); json.next_key(key);) {
      key == "benchmarks" ? read_benchmarks(json) : json.skip();
    }
    return json.at_end();
  }
  [[nodiscard]] ItemList take() { return std::move(list_); }

 private:
  bool read_benchmarks(JsonCursor& json) {
    std::string_view key;
    for (json.enter('[', "benchmarks"); json.next_item();) {
      for (json.enter('{', "benchmarks"); json.next_key(key);) {
        key == "requests" && json.kind() == '{' ? read_requests(json) : json.skip();
      }
    }
    return json.sound();
  }

  bool read_requests(JsonCursor& json) {
    std::string_view key;
    for (json.enter('{'); json.next_key(key);) {
      if (key != "successful" || json.kind() != '[') {
        json.skip();
        continue;
      }
      for (json.enter('['); json.next_item();) {
        JsonRecord record;
        if (!record.read(json)) {
          return false;
        }
        add(record);
        if (!tally_.goes_on()) {
          return false;
        }
      }
    }
    return json.sound();
  }

  void add(const JsonRecord& record) {
    Item item;
    const auto before = tally_.errors().size();
    const auto start = record.find({"info.timings.request_start",
                                    "info.timings.resolve_start",
                                    "info.timings.targeted_start",
                                    "request_start_time",
                                    "start_time"});
    if (!start) {
      line_.problem("info.timings.request_start", record.place(), "no time", "it in every request");
    } else {
      clock_.read(line_, "info.timings.request_start", *start, kSecondsUnit, item.arrival);
    }
    const bool lengths =
        record.tokens(line_,
                      {"input_metrics.total_tokens", "input_metrics.text_tokens", "prompt_tokens"},
                      item.input_tokens) &&
        record.tokens(
            line_,
            {"output_metrics.total_tokens", "output_metrics.text_tokens", "output_tokens"},
            item.output_tokens);
    if (!lengths && tally_.errors().size() == before) {
      line_.problem(
          "input_metrics.text_tokens", record.place(), "no token counts", "them in every request");
    }
    if (tally_.errors().size() > before) {
      tally_.bad_row();
      return;
    }
    list_.items.push_back(item);
  }

  const TraceLine& line_;
  RowTally& tally_;
  EpochClock clock_;
  ItemList list_;
};

}  // namespace

const TraceFormat kGuidellm = {
    .name = "guidellm",
    .summary = "guidellm's report: the requests it sent",
    .detect = [](const TraceHead& head) { return head.is_object() && head.has_key("benchmarks"); },
    .open_document = read_run<GuidellmReader>,
};

}  // namespace ridgeline::workload
