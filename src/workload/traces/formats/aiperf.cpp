// AIPerf's profile_export.jsonl (github.com/ai-dynamo/aiperf), and the agent harness made of it: a
// line per request with metadata {request_start_ns, request_end_ns, benchmark_phase, was_cancelled,
// conversation_id, x_correlation_id} and metrics {input_sequence_length{value},
// output_sequence_length{value}}. Requests with an error, cancelled ones and those of other phases
// than "profiling" are left out.
//
// x_correlation_id names a session: one client that goes through a conversation, whose turns'
// prompts are all that was said before and the next question (input_sequence_length counts the
// whole of what was sent). conversation_id names what the client says: two sessions of one
// conversation ask alike.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/conversation.hpp"
#include "workload/traces/reading/document_lines.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/grouping.hpp"
#include "workload/traces/reading/json_cursor.hpp"
#include "workload/traces/reading/json_records.hpp"
#include "workload/traces/reading/row_tally.hpp"
#include "workload/traces/reading/timed_items.hpp"

namespace ridgeline::workload {
namespace {

/// Space of the contents of its conversations.
constexpr std::uint64_t kAiperfSpace = 0x61697065;  // "aipe"

class AiperfReader {
 public:
  void read(const TraceLine& line, std::int64_t number) {
    JsonCursor json(line);
    JsonRecord record;
    if (!record.read(json) || !json.at_end()) {
      return;
    }
    if (is_left_out(record)) {
      return;
    }
    Row row;
    row.number = number;
    Item& item = row.item;
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
    if (!clock_.read(line, "request_start_ns", *start, kNanosecondsUnit, item.arrival) ||
        !record.tokens(line, {"metrics.input_sequence_length.value"}, item.input_tokens) ||
        !record.tokens(line, {"metrics.output_sequence_length.value"}, item.output_tokens)) {
      return;
    }
    const auto end = record.find({"metadata.request_end_ns"});
    row.end = item.arrival;
    if (end && !clock_.read(line, "request_end_ns", *end, kNanosecondsUnit, row.end)) {
      return;
    }
    const std::string_view conversation = record.find({"metadata.conversation_id"}).value_or("");
    row.conversation = number_of(conversations_, conversation);
    row.session =
        number_of(sessions_, record.find({"metadata.x_correlation_id"}).value_or(conversation));
    says_again_ = says_again_ || (row.conversation >= 0 && !seen_.insert(row.conversation).second);
    rows_.push_back(std::move(row));
  }

  [[nodiscard]] ItemList take(const TraceDocument& document, RowTally& tally) {
    std::ranges::stable_sort(
        rows_, [](const Row& a, const Row& b) { return a.item.arrival < b.item.arrival; });
    if (says_again_) {
      list_.items = grouped(turns(document.session_times), document.path, tally);
    } else {
      // Each request is a conversation of its own: nothing says what prompts have in common.
      for (Row& row : rows_) {
        list_.items.push_back(std::move(row.item));
      }
      settle_arrivals(list_.items);
    }
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
    if (document.session_times == SessionTimes::kAnswered && !says_again_) {
      list_.warnings.push_back(no_turns_to_wait("no conversation of the file has a second turn"));
    }
    return std::move(list_);
  }

 private:
  struct Row {
    Item item;
    core::Duration end;  ///< When the client had its answer.
    std::int32_t conversation = -1;
    std::int32_t session = -1;
    std::int64_t number = 0;  ///< Number of its line.
  };
  /// A session, as far as it has come.
  struct Talk {
    Conversation prompt;  ///< Prompt of the last turn.
    core::Tokens answer = {};
    std::int64_t last = -1;  ///< Its place.
    core::Duration end = {};
    std::int32_t turn = -1;
  };

  static std::int32_t number_of(std::map<std::string, std::int32_t, std::less<>>& numbers,
                                std::string_view name) {
    if (name.empty()) {
      return -1;
    }
    const auto known = numbers.find(name);
    return known != numbers.end()
               ? known->second
               : numbers.emplace(name, static_cast<std::int32_t>(numbers.size())).first->second;
  }

  /// The rows as turns of their sessions, in order of arrival from time zero.
  [[nodiscard]] std::vector<LooseItem> turns(SessionTimes times) {
    std::map<std::int32_t, Talk> talks;
    std::vector<LooseItem> loose;
    const core::Duration first = rows_.empty() ? core::Duration() : rows_.front().item.arrival;
    for (Row& row : rows_) {
      LooseItem next;
      next.row = row.number;
      next.item = std::move(row.item);
      next.item.arrival -= first;
      const auto place = static_cast<std::uint32_t>(loose.size());
      if (row.session >= 0) {
        const auto space =
            content_of(kAiperfSpace, static_cast<std::uint64_t>(std::max(row.conversation, 0)));
        Talk& talk =
            talks.try_emplace(row.session, Talk{.prompt = Conversation(space)}).first->second;
        add_prompt(next.item, talk);
        next.item.session = row.session;
        next.item.turn = ++talk.turn;
        next.follows = talk.last;
        if (talk.last >= 0 && times == SessionTimes::kAnswered) {
          next.waits_for_previous = true;
          next.is_timed = false;
          next.item.delay = std::max(next.item.arrival + first - talk.end, core::Duration());
        }
        talk.answer = next.item.output_tokens;
        talk.last = place;
        talk.end = row.end;
      }
      loose.push_back(std::move(next));
    }
    return loose;
  }

  /// A prompt that has no room for all that was said holds the last prompt without its answer
  /// (which may have been thoughts), or else has been started anew.
  static void add_prompt(Item& item, Talk& talk) {
    if (item.input_tokens < talk.prompt.length()) {
      talk.prompt.clear();
    } else if (talk.last >= 0 && talk.prompt.length() + talk.answer <= item.input_tokens) {
      talk.prompt.add_answer(static_cast<std::uint32_t>(talk.last), talk.answer);
    }
    talk.prompt.add_own(item.input_tokens - talk.prompt.length());
    item.prompt = talk.prompt.prompt();
  }

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
  std::vector<Row> rows_;
  std::map<std::string, std::int32_t, std::less<>> conversations_;
  std::map<std::string, std::int32_t, std::less<>> sessions_;
  std::set<std::int32_t> seen_;  ///< Conversations.
  bool says_again_ = false;      ///< Some conversation has more than one request.
  ItemList list_;
  std::int64_t failed_ = 0;
  std::int64_t other_phases_ = 0;
};

core::Result<std::unique_ptr<ItemStream>> read_aiperf(TraceDocument document) {
  RowTally tally(document.skip_bad_rows);
  AiperfReader reader;
  for_each_line(
      document.text, document.path, tally, [&](const TraceLine& line, std::int64_t number) {
        reader.read(line, number);
      });
  ItemList list = reader.take(document, tally);
  return finish_document(std::move(list), document, tally);
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
    .heeds_session_times = true,
};

}  // namespace ridgeline::workload
