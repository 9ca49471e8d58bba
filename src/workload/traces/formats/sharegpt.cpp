// ShareGPT-like conversations, with the number of tokens of each turn (there is no tokenizer here):
// a list of {id, conversations: [{from, value, tokens}]}, human and gpt in turn. The count may be
// called tokens, num_tokens, token_count, n_tokens or length. A conversation is a session whose
// prompts hold everything before; all of them start at time zero, because nothing is said of when.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
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

constexpr std::uint64_t kShareGptSpace = 0x7368617265677074;

class ShareGptReader {
 public:
  ShareGptReader(const TraceLine& line, RowTally& tally) : line_(line), tally_(tally) {}

  bool read(JsonCursor& json) {
    for (json.enter('['); json.next_item() && tally_.goes_on();) {
      std::string_view key;
      for (json.enter('{'); json.next_key(key);) {
        const bool turns = key == "conversations" || key == "conversation" || key == "messages";
        if (turns && json.kind() == '[' ? !read_conversation(json) : !json.skip()) {
          return false;
        }
      }
    }
    return json.at_end();
  }
  [[nodiscard]] ItemList take() {
    list_.warnings.push_back({.code = "W-no-arrivals",
                              .message = "conversations have no times: all of them start at once",
                              .hint = "resample them at a rate in a workload description"});
    return std::move(list_);
  }

 private:
  struct Turn {
    bool is_answer = false;
    core::Tokens tokens;
  };

  bool read_conversation(JsonCursor& json) {
    const auto before = tally_.errors().size();
    std::vector<Turn> turns;
    for (json.enter('['); json.next_item();) {
      if (!read_turn(json, turns)) {
        return false;
      }
    }
    if (!json.sound()) {
      return false;  // The document is broken, not this conversation alone.
    }
    if (tally_.errors().size() > before) {
      tally_.bad_row();
    } else {
      add(turns);
    }
    return true;
  }

  bool read_turn(JsonCursor& json, std::vector<Turn>& turns) {
    const std::string_view at = json.rest();
    std::string_view from;
    std::optional<core::Tokens> tokens;
    std::string_view key;
    for (json.enter('{', "conversations"); json.next_key(key);) {
      if (key == "from" || key == "role") {
        json.string(key, from);
      } else if ((key == "tokens" || key == "num_tokens" || key == "token_count" ||
                  key == "n_tokens" || key == "length") &&
                 json.kind() == '0') {
        json.tokens(key, tokens.emplace(), 0);
      } else {
        json.skip();
      }
    }
    if (!json.sound()) {
      return false;
    }
    if (!tokens) {
      line_.problem("tokens",
                    at,
                    "a turn without its number of tokens",
                    "tokens, num_tokens, token_count, n_tokens or length (there is no tokenizer "
                    "here)");
      return true;
    }
    turns.push_back({.is_answer = from == "gpt" || from == "assistant" || from == "chatgpt" ||
                                  from == "bing" || from == "bard",
                     .tokens = *tokens});
    return true;
  }

  void add(const std::vector<Turn>& turns) {
    Conversation talk(content_of(kShareGptSpace, static_cast<std::uint64_t>(sessions_)));
    std::uint32_t place = 0;
    for (const Turn& turn : turns) {
      if (!turn.is_answer) {
        talk.add_own(turn.tokens);
        continue;
      }
      if (talk.length().value() == 0 || turn.tokens.value() == 0) {
        continue;  // An answer to nothing, or no answer.
      }
      Item item;
      item.starts_group = place == 0;
      item.input_tokens = talk.length();
      item.output_tokens = turn.tokens;
      item.prompt = talk.prompt();
      item.session = sessions_;
      item.turn = static_cast<std::int32_t>(place);
      if (place > 0) {
        item.parents = {place - 1};
      }
      talk.add_answer(place, turn.tokens);
      list_.items.push_back(std::move(item));
      ++place;
    }
    sessions_ += place > 0 ? 1 : 0;
  }

  const TraceLine& line_;
  RowTally& tally_;
  ItemList list_;
  std::int32_t sessions_ = 0;
};

core::Result<std::unique_ptr<ItemStream>> read_sharegpt(TraceDocument document) {
  RowTally tally(document.skip_bad_rows);
  const TraceLine line(document.text, document.path, 1, tally.errors());
  JsonCursor json(line);
  ShareGptReader reader(line, tally);
  if (!line.is_text() || !reader.read(json)) {
    return core::fail(tally.errors());
  }
  return finish_document(reader.take(), document, tally);
}

}  // namespace

const TraceFormat kShareGpt = {
    .name = "sharegpt",
    .summary = "ShareGPT conversations with token counts",
    .detect =
        [](const TraceHead& head) {
          return head.is_list() && (head.has_key("conversations") || head.has_key("conversation") ||
                                    head.has_key("messages"));
        },
    .open_document = read_sharegpt,
};

}  // namespace ridgeline::workload
