// Mooncake as Dynamo, AISimulate and AIPerf extended it. Two readers:
//
// mooncake-sessions: rows with a session_id. The first row of a session has a timestamp; a later
// one has a timestamp too, or a delay in milliseconds after the answer before. Without hash_ids a
// later prompt begins with the conversation so far; where prompts get shorter from row to row they
// hold only what is new (mooncake-delta), and the conversation is put in front.
//
// mooncake-agentic: rows with a request_id that may wait_for others, tool_wait_ms after the last of
// their answers.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/formats/mooncake.hpp"
#include "workload/traces/reading/conversation.hpp"
#include "workload/traces/reading/document_lines.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/grouping.hpp"
#include "workload/traces/reading/json_cursor.hpp"
#include "workload/traces/reading/row_tally.hpp"

namespace ridgeline::workload {
namespace {

/// What one line says, before anything is made of it.
struct MooncakeRow {
  std::optional<core::Duration> time;
  std::optional<core::Duration> delay;
  std::optional<core::Tokens> input;
  std::optional<core::Tokens> output;
  std::vector<domain::Segment> prompt;
  std::int32_t session = -1;
  std::int64_t name = -1;
  std::vector<std::int64_t> waits_for;
  std::int64_t priority = 0;
  std::int32_t slo_class = -1;
  bool prefix_reset = false;
  bool has_hash_ids = false;
  std::int64_t line = 0;
};

class MooncakeLines {
 public:
  explicit MooncakeLines(bool agentic) : agentic_(agentic) {}

  void read(const TraceLine& line, std::int64_t number) {
    MooncakeRow row;
    row.line = number;
    JsonCursor json(line);
    bool sound = true;
    std::string_view key;
    for (json.enter('{'); json.next_key(key);) {
      sound = member(json, key, row) && sound;
    }
    if (!json.at_end() || !sound) {
      return;
    }
    const auto need = [&](bool there, std::string_view name) {
      if (!there) {
        line.problem(name, line.text(), fmt::format("no '{}'", name), "it in every row");
        sound = false;
      }
    };
    need(row.input.has_value(), "input_length");
    need(row.output.has_value(), "output_length");
    need(!agentic_ || row.name >= 0, "request_id");
    if (sound && fit_hash_ids(line, *row.input, row.prompt)) {
      rows_.push_back(std::move(row));
    }
  }

  std::vector<MooncakeRow> take() { return std::move(rows_); }
  Labels take_labels() { return std::move(labels_); }

 private:
  bool member(JsonCursor& json, std::string_view key, MooncakeRow& row) {
    if (json.kind() == 'n') {
      return json.null();
    }
    if (key == "timestamp" || key == "created_time") {
      return json.time(key, kMillisecondsUnit, row.time.emplace());
    }
    if (key == "delay" || key == "delay_ms" || key == "tool_wait_ms") {
      return json.time(key, kMillisecondsUnit, row.delay.emplace());
    }
    if (key == "input_length" || key == "input_tokens") {
      return json.tokens(key, row.input.emplace());
    }
    if (key == "output_length" || key == "output_tokens") {
      return json.tokens(key, row.output.emplace());
    }
    if (key == "hash_ids") {
      row.has_hash_ids = true;
      return read_hash_ids(json, row.prompt);
    }
    if (key == "session_id") {
      return session(json, key, row);
    }
    if (key == "request_id") {
      return name(json, key, row.name);
    }
    if (key == "wait_for") {
      return wait_for(json, row);
    }
    if (key == "priority") {
      return json.integer(key, -kMostPriority, kMostPriority, row.priority);
    }
    if (key == "policy_class") {
      std::string_view raw;
      const bool sound = json.string(key, raw);
      row.slo_class = labels_.intern(unescaped(raw));
      return sound;
    }
    if (key == "prefix_reset") {
      return json.boolean(key, row.prefix_reset);
    }
    return json.skip();
  }

  bool session(JsonCursor& json, std::string_view key, MooncakeRow& row) {
    std::string_view raw;
    if (!json.scalar(key, raw)) {
      return false;
    }
    row.session = sessions_.intern(raw);
    return true;
  }
  bool name(JsonCursor& json, std::string_view key, std::int64_t& number) {
    std::string_view raw;
    if (!json.scalar(key, raw)) {
      return false;
    }
    number = names_.intern(raw);
    return true;
  }
  bool wait_for(JsonCursor& json, MooncakeRow& row) {
    if (json.kind() != '[') {
      row.waits_for.emplace_back();
      return name(json, "wait_for", row.waits_for.back());
    }
    for (json.enter('[', "wait_for"); json.next_item();) {
      row.waits_for.emplace_back();
      if (!name(json, "wait_for", row.waits_for.back())) {
        return false;
      }
    }
    return json.sound();
  }

  static constexpr std::int64_t kMostPriority = 1'000'000'000;

  bool agentic_;
  Labels sessions_;
  Labels names_;
  Labels labels_;
  std::vector<MooncakeRow> rows_;
};

/// A space of contents of its own.
constexpr std::uint64_t kSessionContents = 0x6D6F6F6E63616B65;

/// Where each session stands.
struct SessionState {
  std::int64_t last = -1;
  std::int32_t turns = 0;
  std::optional<Conversation> conversation;
};

/// A file is a delta where a prompt without hash ids is too short to hold the one before.
bool is_delta(const std::vector<MooncakeRow>& rows) {
  std::map<std::int32_t, core::Tokens> longest;
  for (const MooncakeRow& row : rows) {
    if (row.session < 0 || row.has_hash_ids || row.prefix_reset) {
      continue;
    }
    const auto [at, is_first] = longest.try_emplace(row.session, *row.input);
    if (!is_first && *row.input < at->second) {
      return true;
    }
    at->second = *row.input;
  }
  return false;
}

/// Fills the prompt of a turn from the conversation before it.
void continue_conversation(LooseItem& loose, SessionState& state, bool delta) {
  Conversation& context = *state.conversation;
  core::Tokens own = loose.item.input_tokens;
  if (delta) {
    loose.item.input_tokens += context.length();
  } else {
    context.cut(loose.item.input_tokens);
    own = loose.item.input_tokens - context.length();
  }
  context.add_own(own);
  loose.item.prompt = context.prompt();
}

core::Result<std::unique_ptr<ItemStream>> assemble(std::vector<MooncakeRow> rows,
                                                   Labels labels,
                                                   const TraceDocument& document,
                                                   RowTally& tally) {
  const bool delta = is_delta(rows);
  std::map<std::int32_t, SessionState> sessions;
  std::vector<LooseItem> loose;
  bool any_hash_ids = false;
  for (MooncakeRow& row : rows) {
    LooseItem next;
    const auto place = static_cast<std::int64_t>(loose.size());
    next.row = row.line;
    next.name = row.name;
    next.waits_for = std::move(row.waits_for);
    next.is_timed = row.time.has_value();
    next.item.arrival = row.time.value_or(core::Duration());
    next.item.delay = row.delay.value_or(core::Duration());
    next.item.input_tokens = *row.input;
    next.item.output_tokens = *row.output;
    next.item.prompt = std::move(row.prompt);
    next.item.priority = static_cast<std::int32_t>(row.priority);
    next.item.slo_class = row.slo_class;
    any_hash_ids = any_hash_ids || row.has_hash_ids;
    if (row.session >= 0) {
      SessionState& state = sessions[row.session];
      next.item.session = row.session;
      next.item.turn = state.turns++;
      next.follows = state.last;
      next.waits_for_previous = next.waits_for.empty() && state.last >= 0 && !row.time;
      if (!state.conversation || row.prefix_reset) {
        state.conversation.emplace(content_of(kSessionContents, static_cast<std::uint64_t>(place)));
      }
      if (!row.has_hash_ids) {
        continue_conversation(next, state, delta);
        state.conversation->add_answer(static_cast<std::uint32_t>(place), *row.output);
      }
      state.last = place;
    }
    loose.push_back(std::move(next));
  }
  ItemList list;
  list.warnings = sorting_warnings(loose);
  list.items = grouped(std::move(loose), document.path, tally);
  list.labels = std::move(labels);
  list.block_tokens = any_hash_ids ? kMooncakeBlock : core::Tokens(0);
  if (delta) {
    list.warnings.push_back(
        {.code = "W-mooncake-delta",
         .message = "prompts of later turns are shorter than those before them: they were taken "
                    "for what is new, and the conversation so far was put in front"});
  }
  return finish_document(std::move(list), document, tally);
}

core::Result<std::unique_ptr<ItemStream>> read_mooncake(const TraceDocument& document,
                                                        bool agentic) {
  RowTally tally(document.skip_bad_rows);
  MooncakeLines lines(agentic);
  for_each_line(
      document.text, document.path, tally, [&](const TraceLine& line, std::int64_t number) {
        lines.read(line, number);
      });
  return assemble(lines.take(), lines.take_labels(), document, tally);
}

/// Writes groups as sessions or as waiting requests. An item without a time of its own gets a
/// delay.
class MooncakeGroupWriter final : public TraceWriter {
 public:
  explicit MooncakeGroupWriter(bool agentic) : agentic_(agentic) {}

  void begin(std::ostream& out, const ItemStream& stream) override {
    static_cast<void>(out);
    stream_ = &stream;
  }
  void write(std::ostream& out, const Item& item) override {
    if (item.starts_group) {
      names_.clear();
    }
    const bool forgets = begins_anew(item);
    out << '{';
    if (agentic_) {
      out << fmt::format(R"("request_id": "r{}", )", count_);
    }
    if (item.session >= 0) {
      out << fmt::format(R"("session_id": "s{}", )", item.session);
    }
    if (item.parents.empty()) {
      out << fmt::format(R"("timestamp": {}, )", time_text(item.arrival, kMillisecondsUnit))
          << (agentic_ ? R"("wait_for": [], )" : "");
    } else {
      write_wait(out, item);
    }
    out << fmt::format(R"("input_length": {}, "output_length": {})",
                       item.input_tokens.value(),
                       item.output_tokens.value());
    if (item.priority != 0) {
      out << fmt::format(R"(, "priority": {})", item.priority);
    }
    out << (forgets ? ", \"prefix_reset\": true}\n" : "}\n");
    names_.push_back(count_++);
  }

 private:
  /// The last turn of a session.
  struct LastTurn {
    std::int64_t number = 0;
    core::Tokens input;
  };

  /// Whether a prompt states a content: searched from its end, where the last answer stands.
  static bool states(const domain::Prompt& prompt, std::uint64_t content) {
    for (std::size_t i = prompt.size(); i > 0; --i) {
      if (prompt[i - 1].content == content) {
        return true;
      }
    }
    return false;
  }

  /// Whether a later turn of a session does not hold the conversation so far, which readers would
  /// put in front of it unasked.
  bool begins_anew(const Item& item) {
    if (item.session < 0) {
      return false;
    }
    const auto [at, is_first] = last_turns_.try_emplace(item.session);
    LastTurn& last = at->second;
    const std::int64_t group = count_ - std::ssize(names_);
    const bool holds =
        !is_first && last.number >= group && item.input_tokens >= last.input &&
        states(item.prompt, output_of(static_cast<std::uint32_t>(last.number - group)));
    last = {.number = count_, .input = item.input_tokens};
    return !is_first && !holds;
  }

  void write_wait(std::ostream& out, const Item& item) {
    if (agentic_) {
      out << R"("wait_for": [)";
      for (const char* separator = ""; const std::uint32_t parent : item.parents) {
        out << separator << "\"r" << names_[parent] << '"';
        separator = ", ";
      }
      out << fmt::format(R"(], "tool_wait_ms": {}, )", time_text(item.delay, kMillisecondsUnit));
    } else {
      out << fmt::format(R"("delay": {}, )", time_text(item.delay, kMillisecondsUnit));
    }
  }

  bool agentic_;
  const ItemStream* stream_ = nullptr;
  std::int64_t count_ = 0;
  std::vector<std::int64_t> names_;  ///< Names of the group's items.
  std::unordered_map<std::int32_t, LastTurn> last_turns_;
};

}  // namespace

const TraceFormat kMooncakeSessions = {
    .name = "mooncake-sessions",
    .summary = "Mooncake with session_id, delay and shrinking prompts (delta)",
    .arrival_column = "timestamp",
    .detect =
        [](const TraceHead& head) {
          const bool lengths = head.has_key("input_length") || head.has_key("input_tokens");
          return head.is_object() && lengths && !head.has_key("ridgeline_workload") &&
                 !head.has_key("arrival_s") &&
                 (head.some_row_has_key("session_id") || head.some_row_has_key("delay") ||
                  head.some_row_has_key("delay_ms") || head.has_key("created_time"));
        },
    .open_document = [](TraceDocument document) { return read_mooncake(document, false); },
    .make_writer = []() -> std::unique_ptr<TraceWriter> {
      return std::make_unique<MooncakeGroupWriter>(false);
    },
    .carries = fields({Field::kArrival,
                       Field::kFineTime,
                       Field::kSession,
                       Field::kSessionChain,
                       Field::kPriority}),
};

const TraceFormat kMooncakeAgentic = {
    .name = "mooncake-agentic",
    .summary = "Mooncake with request_id, wait_for and tool_wait_ms",
    .arrival_column = "timestamp",
    .detect =
        [](const TraceHead& head) {
          return head.is_object() && head.has_key("request_id") &&
                 (head.some_row_has_key("wait_for") || head.some_row_has_key("tool_wait_ms") ||
                  head.has_key("branches") || head.has_key("request_kind")) &&
                 (head.has_key("input_length") || head.has_key("input_tokens"));
        },
    .open_document = [](TraceDocument document) { return read_mooncake(document, true); },
    .make_writer = []() -> std::unique_ptr<TraceWriter> {
      return std::make_unique<MooncakeGroupWriter>(true);
    },
    .carries = fields(
        {Field::kArrival, Field::kFineTime, Field::kSession, Field::kDependency, Field::kPriority}),
};

}  // namespace ridgeline::workload
