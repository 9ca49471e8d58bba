// The detailed result of `vllm bench serve` (and of SGLang's bench_serving, which writes one object
// a line): input_lens, output_lens and start_times of each request. Without start_times the
// requests come evenly at request_rate. Requests with no output failed, and are left out.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/limits.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/document_lines.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/json_cursor.hpp"
#include "workload/traces/reading/json_records.hpp"
#include "workload/traces/reading/row_tally.hpp"

namespace ridgeline::workload {
namespace {

class VllmBenchReader {
 public:
  VllmBenchReader(const TraceLine& line, RowTally& tally)
      : line_(line), tally_(tally), outputs_at_(line.text()) {}

  bool read(JsonCursor& json) {
    std::string_view key;
    for (json.enter('{'); json.next_key(key);) {
      if (key == "input_lens") {
        read_lengths(json, key, inputs_);
      } else if (key == "output_lens") {
        outputs_at_ = key;
        read_lengths(json, key, outputs_);
      } else if (key == "start_times") {
        read_starts(json);
      } else if (key == "request_rate") {
        json.scalar(key, rate_);
      } else if (key == "model_id") {
        json.scalar(key, model_);
      } else {
        json.skip();
      }
    }
    return json.at_end() && tally_.errors().empty() && check();
  }

  [[nodiscard]] ItemList take() {
    ItemList list;
    const std::int32_t model = list.labels.intern(unescaped(model_));
    std::int64_t failed = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (outputs_[i].value() == 0 || inputs_[i].value() == 0) {
        ++failed;
        continue;
      }
      Item item;
      item.arrival = starts_.empty() ? even_arrival(i) : starts_[i];
      item.input_tokens = inputs_[i];
      item.output_tokens = outputs_[i];
      item.model = model;
      list.items.push_back(item);
    }
    if (failed > 0) {
      list.warnings.push_back(
          {.code = "W-failed-requests",
           .message = fmt::format(
               "left out: {} {} without output", failed, core::plural("request", failed))});
    }
    if (starts_.empty()) {
      list.warnings.push_back(
          {.code = "W-no-start-times",
           .message =
               rate_.find("inf") != std::string_view::npos
                   ? "the result holds no start_times and no request_rate: all requests come "
                     "at once"
                   : "the result holds no start_times: requests come evenly at its "
                     "request_rate"});
    }
    return list;
  }

 private:
  static bool read_lengths(JsonCursor& json, std::string_view key, std::vector<core::Tokens>& to) {
    bool sound = true;
    for (json.enter('[', key); json.next_item();) {
      core::Tokens length;
      sound = json.tokens(key, length, 0) && sound;
      to.push_back(length);
    }
    return json.sound() && sound;
  }
  bool read_starts(JsonCursor& json) {
    for (json.enter('[', "start_times"); json.next_item();) {
      std::string_view text;
      core::Duration start;
      if (!json.number("start_times", text) ||
          !clock_.read(line_, "start_times", text, kSecondsUnit, start)) {
        continue;
      }
      starts_.push_back(start);
    }
    return json.sound();
  }

  bool check() {
    if (inputs_.empty()) {
      line_.problem("input_lens",
                    std::size_t{0},
                    "no lengths of single requests",
                    "the result of a run with --save-detailed");
      return false;
    }
    if (outputs_.size() != inputs_.size() ||
        (!starts_.empty() && starts_.size() != inputs_.size())) {
      line_.problem(
          "output_lens",
          outputs_at_,
          fmt::format(
              "lists of {}, {} and {} requests", inputs_.size(), outputs_.size(), starts_.size()),
          "as many input_lens as output_lens and start_times");
      return false;
    }
    return true;
  }

  [[nodiscard]] core::Duration even_arrival(std::size_t i) const {
    core::Duration gap;
    core::Errors unseen;
    const std::string no_file;
    const std::string text = fmt::format("{}", rate_);
    // request_rate is "inf" where everything was sent at once.
    core::Duration rate;
    if (!read_seconds(TraceLine(text, no_file, 1, unseen), {}, text, rate) || rate.count() == 0) {
      return gap;
    }
    return core::Duration::from_seconds(static_cast<double>(i) / rate.to_seconds())
        .value_or(kLatestArrival);
  }

  const TraceLine& line_;
  RowTally& tally_;
  EpochClock clock_;
  std::vector<core::Tokens> inputs_;
  std::vector<core::Tokens> outputs_;
  std::string_view outputs_at_;  ///< Where they stand.
  std::vector<core::Duration> starts_;
  std::string_view rate_ = "inf";
  std::string_view model_;
};

bool is_result(const TraceHead& head) {
  return head.is_object() && (head.has_key("input_lens") ||
                              (head.has_key("completed") && head.has_key("request_throughput")));
}

/// SGLang's own names of a mean; or what its `backend` begins with: what stands between that key
/// and the next one.
bool is_of_sglang(const TraceHead& head) {
  const auto& keys = head.keys();
  const auto backend = std::ranges::find(keys, std::string_view("backend"));
  if (backend != keys.end() && backend + 1 != keys.end()) {
    const char* const end = backend->data() + backend->size();
    const std::string_view value(end, static_cast<std::size_t>((backend + 1)->data() - end));
    if (value.find("\"sglang") != std::string_view::npos) {
      return true;
    }
  }
  return head.has_key("mean_e2e_latency_ms");
}

}  // namespace

const TraceFormat kSglangBench = {
    .name = "sglang-bench",
    .summary = "the detailed result of SGLang's bench_serving: the requests it sent",
    .detect = [](const TraceHead& head) { return is_result(head) && is_of_sglang(head); },
    .open_document = read_run<VllmBenchReader>,
};

const TraceFormat kVllmBench = {
    .name = "vllm-bench",
    .summary = "the detailed result of `vllm bench serve`: the requests it sent",
    .detect = is_result,
    .open_document = read_run<VllmBenchReader>,
};

}  // namespace ridgeline::workload
