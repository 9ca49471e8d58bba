// Our own record of a measured server (`ridgeline observe`): JSON lines. The first has the key
// ridgeline_observed; each request has send_s, the time at which it was sent, and the lengths that
// the workload asked for and the server counted. Lines of metrics and the last line are no
// requests. Requests that failed, and those that only warmed the server up, are left out; of a
// request that was sent again in a second part, the last line counts. A prompt that quotes answers
// ([-1 - id, tokens], with the id of the request that was answered) puts the file into one group.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "domain/prompt.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/document_lines.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/json_cursor.hpp"
#include "workload/traces/reading/row_tally.hpp"
#include "workload/traces/reading/timed_items.hpp"

namespace ridgeline::workload {
namespace {

constexpr std::string_view kNeeded = "send_s, input_tokens, output_tokens and id";
constexpr std::int64_t kMostId = std::numeric_limits<std::int32_t>::max() - 1;

class ObservedReader {
 public:
  void read(const TraceLine& line) {
    Row row;
    JsonCursor json(line);
    std::string_view key;
    for (json.enter('{'); json.next_key(key);) {
      read_member(json, key, row);
    }
    if (!json.at_end() || row.is_no_request) {
      return;
    }
    if (row.failed || row.is_warm_up) {
      ++(row.failed ? failed_ : warm_up_);
      return;
    }
    if (row.id < 0 || !row.has_time || row.item.input_tokens.value() == 0 ||
        row.item.output_tokens.value() == 0) {
      line.problem("", line.text(), "a request that lacks one of its facts", kNeeded);
      return;
    }
    settle(row);
    const Name name =
        row.item.session >= 0 ? Name(row.item.session, row.item.turn) : Name(-1, row.id);
    if (const auto [place, is_new] = places_.emplace(name, rows_.size()); is_new) {
      rows_.push_back(std::move(row));
    } else {
      rows_[place->second] = std::move(row);
    }
  }

  [[nodiscard]] ItemList take() {
    std::ranges::stable_sort(
        rows_, [](const Row& a, const Row& b) { return a.item.arrival < b.item.arrival; });
    ItemList list;
    std::map<std::int64_t, std::uint32_t> place_of;
    for (Row& row : rows_) {
      const auto place = static_cast<std::uint32_t>(list.items.size());
      if (quotes_) {
        row.item.starts_group = place == 0;
        name_answers(row.item, place_of);
        place_of.emplace(row.id, place);
      }
      list.items.push_back(std::move(row.item));
    }
    if (failed_ > 0) {
      list.warnings.push_back(
          {.code = "W-failed-requests",
           .message = fmt::format(
               "{} {} that failed were left out", failed_, core::plural("request", failed_))});
    }
    if (warm_up_ > 0) {
      list.warnings.push_back(
          {.code = "W-warm-up",
           .message = fmt::format(
               "{} {} of the warm-up were left out", warm_up_, core::plural("request", warm_up_))});
    }
    settle_arrivals(list.items);
    return list;
  }

 private:
  using Name = std::pair<std::int64_t, std::int64_t>;  ///< Session and turn, or -1 and id.
  struct Row {
    Item item;
    std::int64_t id = -1;
    core::Tokens counted_input;  ///< By the server; zero: it did not say.
    core::Tokens counted_output;
    bool has_time = false;
    bool failed = false;
    bool is_warm_up = false;
    bool is_no_request = false;
  };

  void read_member(JsonCursor& json, std::string_view key, Row& row) {
    std::int64_t number = 0;
    std::string_view text;
    if (key == "id") {
      json.integer(key, 0, kMostId, row.id);
    } else if (key == "send_s") {
      row.has_time = json.time(key, kSecondsUnit, row.item.arrival);
    } else if (key == "input_tokens") {
      json.tokens(key, row.item.input_tokens);
    } else if (key == "output_tokens") {
      json.tokens(key, row.item.output_tokens);
    } else if (key == "prompt_tokens" && json.kind() == '0') {
      json.tokens(key, row.counted_input, 0);
    } else if (key == "completion_tokens") {
      json.tokens(key, row.counted_output, 0);
    } else if (key == "session" && json.integer(key, 0, kMostId, number)) {
      row.item.session = static_cast<std::int32_t>(number);
    } else if (key == "turn" && json.integer(key, 0, kMostId, number)) {
      row.item.turn = static_cast<std::int32_t>(number);
    } else if (key == "error" && json.string(key, text)) {
      row.failed = true;
    } else if (key == "warmup") {
      json.boolean(key, row.is_warm_up);
    } else if (key == "prompt") {
      read_prompt(json, key, row);
    } else {
      row.is_no_request = row.is_no_request || key == "ridgeline_observed" ||
                          key == "ridgeline_observed_end" || key == "scrape_s";
      json.skip();
    }
  }

  void read_prompt(JsonCursor& json, std::string_view key, Row& row) {
    for (json.enter('[', key); json.next_item();) {
      std::int64_t content = 0;
      domain::Segment segment;
      if (!json.enter('[', key) || !json.next_item() ||
          !json.integer(key, -1 - kMostId, static_cast<std::int64_t>(kContentLimit) - 1, content) ||
          !json.next_item() || !json.tokens(key, segment.length) || json.next_item()) {
        json.fail(key, "pairs of a content and a number of tokens");
        return;
      }
      quotes_ = quotes_ || content < 0;
      segment.content = content < 0 ? output_of(static_cast<std::uint32_t>(-1 - content))
                                    : static_cast<std::uint64_t>(content);
      row.item.prompt.push_back(segment);
    }
  }

  /// What the server counted is what it worked on.
  static void settle(Row& row) {
    std::int64_t held = 0;
    for (const auto& segment : row.item.prompt) {
      held += segment.length.value();
    }
    if (row.counted_input.value() > 0) {
      row.item.input_tokens = row.counted_input;
    }
    row.item.input_tokens = std::max(row.item.input_tokens, core::Tokens(held));
    if (row.counted_output.value() > 0) {
      row.item.output_tokens = row.counted_output;
    }
  }

  /// Answers by place in the group instead of by id. What quotes an answer that is not in the file
  /// shares nothing from there on.
  static void name_answers(Item& item, const std::map<std::int64_t, std::uint32_t>& place_of) {
    domain::Prompt named;
    for (const auto& segment : item.prompt) {
      domain::Segment next = segment;
      if (is_output(segment.content)) {
        const auto place =
            place_of.find(static_cast<std::int64_t>(segment.content & ~output_of(0)));
        if (place == place_of.end()) {
          break;
        }
        next.content = output_of(place->second);
      }
      named.push_back(next);
    }
    item.prompt = std::move(named);
  }

  std::vector<Row> rows_;
  std::map<Name, std::size_t> places_;
  bool quotes_ = false;
  std::int64_t failed_ = 0;
  std::int64_t warm_up_ = 0;
};

core::Result<std::unique_ptr<ItemStream>> read_observed(TraceDocument document) {
  RowTally tally(document.skip_bad_rows);
  ObservedReader reader;
  for_each_line(document.text, document.path, tally, [&](const TraceLine& line, std::int64_t) {
    reader.read(line);
  });
  return finish_document(reader.take(), document, tally);
}

}  // namespace

const TraceFormat kObserved = {
    .name = "observed",
    .summary = "the record of a server that `ridgeline observe` measured",
    .detect =
        [](const TraceHead& head) {
          return head.is_object() && head.has_key("ridgeline_observed");
        },
    .open_document = read_observed,
};

}  // namespace ridgeline::workload
