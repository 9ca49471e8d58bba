// LLMServingSim's data sets (github.com/casys-kaist/LLMServingSim): one JSON object a line with
// input_toks, output_toks, arrival_time_ns and the token ids, whose common beginnings are what
// prompts share, to blocks of 16 tokens. Its agentic lines hold a session: sub_requests, each sent
// when the one before is answered and tool_duration_ns later.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string_view>
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
#include "workload/traces/reading/document_lines.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/grouping.hpp"
#include "workload/traces/reading/json_cursor.hpp"
#include "workload/traces/reading/row_tally.hpp"

namespace ridgeline::workload {
namespace {

constexpr std::int64_t kTokenIdBlock = 16;
constexpr std::int64_t kMostTokenId = std::int64_t{1} << 40;
constexpr std::uint64_t kTokenIdSpace = 0x746F6B656E696473;

struct SimRequest {
  std::optional<core::Tokens> input;
  std::optional<core::Tokens> output;
  core::Duration arrival;
  core::Duration tool;
  std::vector<domain::Segment> prompt;
};

/// Reads token ids as blocks named by what they hold.
bool read_token_ids(JsonCursor& json, std::vector<domain::Segment>& prompt) {
  std::uint64_t name = 0;
  std::int64_t count = 0;
  for (json.enter('[', "input_tok_ids"); json.next_item();) {
    std::int64_t id = 0;
    if (!json.integer("input_tok_ids", 0, kMostTokenId, id)) {
      return false;
    }
    name = content_of(kTokenIdSpace + name, static_cast<std::uint64_t>(id));
    if (++count == kTokenIdBlock) {
      prompt.push_back({.content = name, .length = core::Tokens(count)});
      name = 0;
      count = 0;
    }
  }
  if (count > 0) {
    prompt.push_back({.content = name, .length = core::Tokens(count)});
  }
  return json.sound();
}

class LlmServingSimReader {
 public:
  void read(const TraceLine& line, std::int64_t number) {
    JsonCursor json(line);
    SimRequest request;
    std::vector<SimRequest> turns;
    bool sound = true;
    std::string_view key;
    for (json.enter('{'); json.next_key(key);) {
      if (key == "sub_requests" && json.kind() == '[') {
        for (json.enter('['); json.next_item();) {
          sound = read_request(json, turns.emplace_back()) && sound;
        }
      } else {
        sound = member(json, key, request) && sound;
      }
    }
    if (!json.at_end() || !sound) {
      return;
    }
    if (turns.empty()) {
      turns.push_back(std::move(request));
    } else {
      turns.front().arrival = request.arrival;
    }
    if (check(line, turns)) {
      add(std::move(turns), number);
    }
  }
  [[nodiscard]] std::vector<LooseItem> take() { return std::move(loose_); }

 private:
  static bool read_request(JsonCursor& json, SimRequest& request) {
    bool sound = true;
    std::string_view key;
    for (json.enter('{', "sub_requests"); json.next_key(key);) {
      sound = member(json, key, request) && sound;
    }
    return json.sound() && sound;
  }

  static bool member(JsonCursor& json, std::string_view key, SimRequest& request) {
    if (key == "input_toks") {
      return json.tokens(key, request.input.emplace());
    }
    if (key == "output_toks") {
      return json.tokens(key, request.output.emplace());
    }
    if (key == "arrival_time_ns") {
      return json.time(key, kNanosecondsUnit, request.arrival);
    }
    if (key == "tool_duration_ns") {
      return json.time(key, kNanosecondsUnit, request.tool);
    }
    return key == "input_tok_ids" && json.kind() == '[' ? read_token_ids(json, request.prompt)
                                                        : json.skip();
  }

  static bool check(const TraceLine& line, const std::vector<SimRequest>& turns) {
    for (const SimRequest& turn : turns) {
      if (!turn.input || !turn.output) {
        line.problem(turn.input ? "output_toks" : "input_toks",
                     line.text(),
                     "a request without it",
                     "input_toks and output_toks");
        return false;
      }
      core::Tokens held;
      for (const auto& segment : turn.prompt) {
        held += segment.length;
      }
      if (held > *turn.input) {
        line.problem("input_tok_ids",
                     line.text(),
                     fmt::format("{} ids", held.value()),
                     fmt::format("at most input_toks, {}", turn.input->value()));
        return false;
      }
    }
    return true;
  }

  void add(std::vector<SimRequest> turns, std::int64_t number) {
    const bool is_session = turns.size() > 1;
    const std::int32_t session = is_session ? sessions_++ : -1;
    core::Duration tool;
    for (std::size_t i = 0; i < turns.size(); ++i) {
      LooseItem next;
      next.row = number;
      next.item.input_tokens = *turns[i].input;
      next.item.output_tokens = *turns[i].output;
      next.item.prompt = std::move(turns[i].prompt);
      next.item.session = session;
      next.item.turn = static_cast<std::int32_t>(i);
      next.item.arrival = turns[i].arrival;
      if (i > 0) {
        next.follows = static_cast<std::int64_t>(loose_.size()) - 1;
        next.waits_for_previous = true;
        next.is_timed = false;
        next.item.arrival = core::Duration();
        next.item.delay = tool;
      }
      tool = turns[i].tool;
      loose_.push_back(std::move(next));
    }
  }

  std::vector<LooseItem> loose_;
  std::int32_t sessions_ = 0;
};

core::Result<std::unique_ptr<ItemStream>> read_llmservingsim(TraceDocument document) {
  RowTally tally(document.skip_bad_rows);
  LlmServingSimReader reader;
  for_each_line(
      document.text, document.path, tally, [&](const TraceLine& line, std::int64_t number) {
        reader.read(line, number);
      });
  ItemList list;
  auto loose = reader.take();
  list.warnings = sorting_warnings(loose);
  list.items = grouped(std::move(loose), document.path, tally);
  return finish_document(std::move(list), document, tally);
}

class LlmServingSimWriter final : public TraceWriter {
 public:
  void begin(std::ostream& out, const ItemStream& stream) override {
    static_cast<void>(out);
    static_cast<void>(stream);
  }
  void write(std::ostream& out, const Item& item) override {
    out << fmt::format("{{\"input_toks\": {}, \"output_toks\": {}, \"arrival_time_ns\": {}}}\n",
                       item.input_tokens.value(),
                       item.output_tokens.value(),
                       time_text(item.arrival, kNanosecondsUnit));
  }
};

}  // namespace

const TraceFormat kLlmServingSim = {
    .name = "llmservingsim",
    .summary = "LLMServingSim: input_toks, output_toks, arrival_time_ns, token ids, sub_requests",
    .detect =
        [](const TraceHead& head) {
          return head.is_object() && (head.has_key("input_toks") || head.has_key("sub_requests"));
        },
    .open_document = read_llmservingsim,
    .make_writer =
        [] { return std::unique_ptr<TraceWriter>(std::make_unique<LlmServingSimWriter>()); },
    .carries = fields({Field::kArrival, Field::kFineTime}),
};

}  // namespace ridgeline::workload
