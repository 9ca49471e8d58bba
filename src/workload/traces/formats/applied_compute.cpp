// Applied Compute's agentic sessions (github.com/Applied-Compute/trie), one a line: num_turns,
// input_prompt_length, assistant_response_length[], tool_call_output_length[], tool_call_latency[]
// in seconds, final_assistant_response_length. Each turn's prompt holds everything before it. All
// sessions start at time zero.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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
#include "workload/traces/reading/json_cursor.hpp"
#include "workload/traces/reading/row_tally.hpp"

namespace ridgeline::workload {
namespace {

constexpr std::uint64_t kTrieSpace = 0x74726965;

struct TrieSession {
  std::optional<core::Tokens> prompt;
  std::vector<core::Tokens> answers;
  std::vector<core::Tokens> tools;
  std::vector<core::Duration> waits;
  std::optional<core::Tokens> last_answer;
};

class TrieReader {
 public:
  void read(const TraceLine& line) {
    JsonCursor json(line);
    TrieSession session;
    bool sound = true;
    std::string_view key;
    for (json.enter('{'); json.next_key(key);) {
      sound = member(json, key, session) && sound;
    }
    if (!json.at_end() || !sound) {
      return;
    }
    const bool whole = session.prompt && session.tools.size() == session.answers.size() &&
                       session.waits.size() == session.answers.size() &&
                       (session.last_answer || !session.answers.empty());
    if (!whole) {
      line.problem("input_prompt_length",
                   line.text(),
                   fmt::format("{} answers, {} tool outputs and {} latencies",
                               session.answers.size(),
                               session.tools.size(),
                               session.waits.size()),
                   "a prompt, and as many of each");
      return;
    }
    add(session);
  }
  [[nodiscard]] ItemList take() {
    list_.warnings.push_back({.code = "W-no-arrivals",
                              .message = "sessions have no times: all of them start at once",
                              .hint = "resample them at a rate in a workload description"});
    return std::move(list_);
  }

 private:
  static bool lengths(JsonCursor& json, std::string_view key, std::vector<core::Tokens>& to) {
    for (json.enter('[', key); json.next_item();) {
      if (!json.tokens(key, to.emplace_back(), 0)) {
        return false;
      }
    }
    return json.sound();
  }
  static bool member(JsonCursor& json, std::string_view key, TrieSession& session) {
    if (key == "input_prompt_length") {
      return json.tokens(key, session.prompt.emplace());
    }
    if (key == "final_assistant_response_length" && json.kind() == '0') {
      return json.tokens(key, session.last_answer.emplace());
    }
    if (key == "assistant_response_length") {
      return lengths(json, key, session.answers);
    }
    if (key == "tool_call_output_length") {
      return lengths(json, key, session.tools);
    }
    if (key == "tool_call_latency") {
      for (json.enter('[', key); json.next_item();) {
        if (!json.time(key, kSecondsUnit, session.waits.emplace_back())) {
          return false;
        }
      }
      return json.sound();
    }
    return json.skip();
  }

  void add(const TrieSession& session) {
    Conversation talk(content_of(kTrieSpace, static_cast<std::uint64_t>(sessions_)));
    talk.add_own(*session.prompt);
    std::uint32_t place = 0;
    core::Duration wait;
    const auto turn = [&](core::Tokens answer) {
      Item item;
      item.starts_group = place == 0;
      item.input_tokens = talk.length();
      item.output_tokens = core::Tokens(std::max<std::int64_t>(answer.value(), 1));
      item.prompt = talk.prompt();
      item.session = sessions_;
      item.turn = static_cast<std::int32_t>(place);
      if (place > 0) {
        item.parents = {place - 1};
        item.delay = wait;
      }
      talk.add_answer(place++, item.output_tokens);
      list_.items.push_back(std::move(item));
    };
    for (std::size_t i = 0; i < session.answers.size(); ++i) {
      turn(session.answers[i]);
      talk.add_own(session.tools[i]);
      wait = session.waits[i];
    }
    if (session.last_answer) {
      turn(*session.last_answer);
    }
    ++sessions_;
  }

  ItemList list_;
  std::int32_t sessions_ = 0;
};

core::Result<std::unique_ptr<ItemStream>> read_applied_compute(TraceDocument document) {
  RowTally tally(document.skip_bad_rows);
  TrieReader reader;
  for_each_line(document.text, document.path, tally, [&](const TraceLine& line, std::int64_t) {
    reader.read(line);
  });
  return finish_document(reader.take(), document, tally);
}

}  // namespace

const TraceFormat kAppliedCompute = {
    .name = "applied-compute",
    .summary = "Applied Compute's agentic sessions: a prompt, answers, tool outputs and latencies",
    .detect =
        [](const TraceHead& head) {
          return head.is_object() &&
                 (head.has_key("input_prompt_length") || head.has_key("assistant_response_length"));
        },
    .open_document = read_applied_compute,
};

}  // namespace ridgeline::workload
