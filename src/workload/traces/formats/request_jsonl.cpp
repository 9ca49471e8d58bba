// Our own format: one JSON object a line. arrival_s, input_tokens and output_tokens are enough; the
// other keys hold everything else that an item can. The numbers are read from their text, not
// through a double, so that 0.1 s is exactly 10^11 picoseconds.
//
// A first line with the key ridgeline_workload states what must be known before the first request:
// stages, and that requests stand in groups.
#include "workload/traces/formats/request_jsonl.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/reader.hpp"
#include "domain/request.hpp"
#include "workload/item.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/json_cursor.hpp"

namespace ridgeline::workload {
namespace {

constexpr std::int64_t kMostInGroup = 10'000'000;
constexpr std::int64_t kMostItems = std::numeric_limits<std::int32_t>::max();

class RequestJsonlParser final : public RowParser {
 public:
  RowStatus row(const TraceLine& line, TraceRow& row) override {
    if (line.text().empty()) {
      line.problem("", line.text(), "an empty line", "a JSON object");
      return RowStatus::kBad;
    }
    if (first_) {
      first_ = false;
      if (line.text().find(kJsonlHeaderKey) != std::string_view::npos) {
        return read_jsonl_settings(line, settings_) ? RowStatus::kGlobal : RowStatus::kBad;
      }
    }
    max_tokens_ = core::Tokens(0);
    aborted_.reset();
    JsonCursor json(line);
    seen_ = 0;
    bool sound = true;
    std::string_view key;
    for (json.enter('{'); json.next_key(key);) {
      sound = read_member(json, key, row) && sound;
    }
    if (!json.at_end()) {
      return RowStatus::kBad;
    }
    if (!needed_seen(line) || !sound || !take_max_tokens(line, row)) {
      return RowStatus::kBad;
    }
    return fits(line, row) ? RowStatus::kRow : RowStatus::kBad;
  }

  [[nodiscard]] core::Tokens block_tokens() const override { return settings_.block_tokens; }
  [[nodiscard]] const std::vector<Stage>& stages() const override { return settings_.stages; }
  [[nodiscard]] bool waits_for_answers() const override { return settings_.waits; }
  [[nodiscard]] bool is_flat() const override { return !settings_.groups; }
  [[nodiscard]] bool answers_are_absolute() const override {
    return settings_.answers_are_absolute;
  }

 private:
  static constexpr std::uint32_t bit(JsonlKey key) { return 1U << static_cast<unsigned>(key); }

  bool read_member(JsonCursor& json, std::string_view key, TraceRow& row) {
    const auto* const at = std::ranges::find(kJsonlKeys, key);
    if (at == kJsonlKeys.end()) {
      const bool is_measured = std::ranges::find(kMeasuredKeys, key) != kMeasuredKeys.end() ||
                               std::ranges::find(kClusterKeys, key) != kClusterKeys.end();
      return is_measured ? json.skip() : refuse(json, key);
    }
    const auto which = static_cast<JsonlKey>(at - kJsonlKeys.begin());
    if ((seen_ & bit(which)) != 0) {
      json.line().problem(*at, key, "this name twice", "it once");
      return json.skip() && false;
    }
    seen_ |= bit(which);
    return read_value(json, which, *at, row);
  }

  static bool refuse(JsonCursor& json, std::string_view key) {
    const std::vector<std::string> names(kJsonlKeys.begin(), kJsonlKeys.end());
    const auto meant = document::nearest(key, names);
    json.line().problem("",
                        key,
                        fmt::format("the unknown name {}", core::quote(key)),
                        kJsonlNeededKeys,
                        meant ? fmt::format("did you mean '{}'?", *meant) : std::string());
    return json.skip() && false;
  }

  bool read_value(JsonCursor& json, JsonlKey which, std::string_view key, TraceRow& row) {
    switch (which) {
      case JsonlKey::kArrival:
        return json.time(key, kSecondsUnit, row.arrival);
      case JsonlKey::kInputTokens:
        return json.tokens(key, row.input_tokens);
      case JsonlKey::kOutputTokens:
        return json.number(key, output_text_) &&
               read_tokens(json.line(), key, output_text_, row.output_tokens, 0);
      case JsonlKey::kMaxTokens:
        return json.tokens(key, max_tokens_);
      default:
        return read_rare(json, which, key, row);
    }
  }

  bool read_rare(JsonCursor& json, JsonlKey which, std::string_view key, TraceRow& row) {
    switch (which) {
      case JsonlKey::kGroup:
        return read_group(json, key, row);
      case JsonlKey::kAfter:
        return read_after(json, key, row);
      case JsonlKey::kDelay:
        return json.time(key, kSecondsUnit, row.delay);
      case JsonlKey::kLimit:
        return json.tokens(key, row.limit_tokens);
      case JsonlKey::kAbort:
        if (json.kind() == 'n') {
          return json.null();
        }
        aborted_.emplace();
        return json.time(key, kSecondsUnit, *aborted_);
      case JsonlKey::kPrompt:
        return read_prompt(json, key, row);
      case JsonlKey::kReasoning:
        return json.tokens(key, row.reasoning_tokens, 0);
      case JsonlKey::kImageTokens:
        return json.tokens(key, row.image_tokens, 0);
      case JsonlKey::kAudioTokens:
        return json.tokens(key, row.audio_tokens, 0);
      case JsonlKey::kVideoTokens:
        return json.tokens(key, row.video_tokens, 0);
      case JsonlKey::kSloClass:
        return read_label(json, key, row.slo_class);
      case JsonlKey::kTenant:
        return read_label(json, key, row.tenant);
      case JsonlKey::kModel:
        return read_label(json, key, row.model);
      case JsonlKey::kAdapter:
        return read_label(json, key, row.adapter);
      default:
        return read_count(json, which, key, row);
    }
  }

  static bool read_count(JsonCursor& json, JsonlKey which, std::string_view key, TraceRow& row) {
    std::int64_t value = 0;
    const std::int64_t lowest = which == JsonlKey::kPriority ? -kMostItems : 0;
    if (!json.integer(key, lowest, kMostItems - 1, value)) {
      return false;
    }
    const auto number = static_cast<std::int32_t>(value);
    (which == JsonlKey::kSession    ? row.session
     : which == JsonlKey::kTurn     ? row.turn
     : which == JsonlKey::kPriority ? row.priority
     : which == JsonlKey::kRank     ? row.rank
     : which == JsonlKey::kImages   ? row.images
     : which == JsonlKey::kAudios   ? row.audios
     : which == JsonlKey::kVideos   ? row.videos
                                    : row.stage) = number;
    return true;
  }

  bool read_label(JsonCursor& json, std::string_view key, std::int32_t& label) {
    std::string_view raw;
    if (!json.string(key, raw)) {
      return false;
    }
    label = labels_.intern(unescaped(raw));
    return true;
  }

  bool read_group(JsonCursor& json, std::string_view key, TraceRow& row) {
    const std::string_view at = json.rest();
    std::int64_t place = 0;
    if (!json.integer(key, 0, kMostInGroup, place)) {
      return false;
    }
    const std::int64_t next = place == 0 ? 0 : state_.place + 1;
    if (place != next) {
      json.line().problem(
          key, at, fmt::format("{}", place), fmt::format("0 or {}", state_.place + 1));
      return false;
    }
    row.starts_group = place == 0;
    return true;
  }

  static bool read_after(JsonCursor& json, std::string_view key, TraceRow& row) {
    bool sound = true;
    for (json.enter('[', key); json.next_item();) {
      std::int64_t parent = 0;
      sound = json.integer(key, 0, kMostInGroup, parent) && sound;
      row.parents.push_back(static_cast<std::uint32_t>(parent));
    }
    return json.sound() && sound;
  }

  /// [[content, tokens], ...]; -1 - k is the answer of the group's item k.
  static bool read_prompt(JsonCursor& json, std::string_view key, TraceRow& row) {
    for (json.enter('[', key); json.next_item();) {
      std::int64_t content = 0;
      domain::Segment segment;
      const bool sound =
          json.enter('[', key) && json.next_item() &&
          json.integer(key, -kMostItems, static_cast<std::int64_t>(kContentLimit) - 1, content) &&
          json.next_item() && json.tokens(key, segment.length) && !json.next_item();
      if (!sound) {
        return json.fail(key, "pairs of a content and a number of tokens");
      }
      segment.content = content < 0 ? output_of(static_cast<std::uint32_t>(-1 - content))
                                    : static_cast<std::uint64_t>(content);
      row.prompt.push_back(segment);
    }
    return json.sound();
  }

  /// What was asked for is what is asked for again, whatever was generated.
  bool take_max_tokens(const TraceLine& line, TraceRow& row) {
    if (max_tokens_.value() > 0) {
      row.output_tokens = max_tokens_;
      return true;
    }
    return row.output_tokens.value() > 0 ||
           read_tokens(line,
                       kJsonlKeys[static_cast<std::size_t>(JsonlKey::kOutputTokens)],
                       output_text_,
                       row.output_tokens);
  }

  bool needed_seen(const TraceLine& line) {
    bool all = true;
    for (std::size_t i = 0; i < 3; ++i) {
      const bool waits = i == 0 && (seen_ & bit(JsonlKey::kAfter)) != 0;
      if ((seen_ & (1U << i)) == 0 && !waits) {
        line.problem(
            kJsonlKeys[i], line.text(), fmt::format("no '{}'", kJsonlKeys[i]), kJsonlNeededKeys);
        all = false;
      }
    }
    return all;
  }

  /// The row keeps the rules of its group and of the first line.
  bool fits(const TraceLine& line, TraceRow& row) {
    state_.place = row.starts_group ? 0 : state_.place + 1;
    const std::int64_t answered = settings_.answers_are_absolute ? state_.rows : state_.place;
    ++state_.rows;
    const auto refuse = [&](JsonlKey key, std::string_view found, std::string_view expected) {
      line.problem(kJsonlKeys[static_cast<std::size_t>(key)], line.text(), found, expected);
      return false;
    };
    if (!row.starts_group && !settings_.groups) {
      return refuse(JsonlKey::kGroup, "a group", "a first line with \"groups\": true");
    }
    if (!row.parents.empty() && !settings_.waits) {
      return refuse(JsonlKey::kAfter, "a request that waits", "a first line with \"waits\": true");
    }
    for (const std::uint32_t parent : row.parents) {
      if (parent >= state_.place) {
        return refuse(JsonlKey::kAfter, fmt::format("{}", parent), "an earlier place of the group");
      }
    }
    core::Tokens held;
    for (const auto& segment : row.prompt) {
      held += segment.length;
      if (is_output(segment.content) &&
          static_cast<std::int64_t>(segment.content & ~output_of(0)) >= answered) {
        return refuse(JsonlKey::kPrompt,
                      "the answer of no earlier request",
                      settings_.answers_are_absolute ? "one of the file" : "one of the group");
      }
      if (held > row.input_tokens) {
        return refuse(
            JsonlKey::kPrompt, fmt::format("{} tokens", held.value()), "at most input_tokens");
      }
    }
    if (static_cast<std::size_t>(row.stage) >= settings_.stages.size() ||
        row.stage < state_.last_stage) {
      return refuse(
          JsonlKey::kStage, fmt::format("{}", row.stage), "stages of the first line in order");
    }
    state_.last_stage = row.stage;
    if (aborted_ && *aborted_ < row.arrival) {
      return refuse(JsonlKey::kAbort, "a time before arrival_s", "one not before it");
    }
    row.patience = aborted_ ? *aborted_ - row.arrival : Item::kEndless;
    return true;
  }

  /// What the rows so far say of the next one.
  struct State {
    std::int64_t place = 0;  ///< In its group.
    std::int64_t rows = 0;   ///< Before it.
    std::int32_t last_stage = 0;
  };

  bool first_ = true;
  std::uint32_t seen_ = 0;
  core::Tokens max_tokens_;
  std::optional<core::Duration> aborted_;
  std::string_view output_text_;  ///< The number of output_tokens, as it stands in the line.
  State state_;
  JsonlSettings settings_;
};

/// Any object on a line, so that misspelt keys get an answer that names them; not the first line of
/// a document.
bool detect_request_jsonl(const TraceHead& head) {
  return head.is_object() && !head.begins_document();
}

}  // namespace

const TraceFormat kRequestJsonl = {
    .name = "request-jsonl",
    .summary = "JSON lines with the keys arrival_s, input_tokens, output_tokens, and more",
    .arrival_column = "arrival_s",
    .detect = detect_request_jsonl,
    .make_parser =
        [] { return std::unique_ptr<RowParser>(std::make_unique<RequestJsonlParser>()); },
    .make_writer = make_request_jsonl_writer,
    .carries = ~Fields{0},
};

}  // namespace ridgeline::workload
