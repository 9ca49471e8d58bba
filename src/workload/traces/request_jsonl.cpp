// Our own format: one JSON object a line. arrival_s, input_tokens and output_tokens are enough; the
// other keys hold everything else that an item can. The numbers are read from their text, not
// through a double, so that 0.1 s is exactly 10^11 picoseconds.
//
// A first line with the key ridgeline_workload states what must be known before the first request:
// stages, and that requests stand in groups.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/json_writer.hpp"
#include "core/reader.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/limits.hpp"
#include "workload/traces/fields.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/json_cursor.hpp"
#include "workload/traces/json_layout.hpp"
#include "workload/traces/quick_row.hpp"

namespace ridgeline::workload {
namespace {

enum class JsonlKey : std::uint8_t {
  kArrival,
  kInputTokens,
  kOutputTokens,
  kGroup,
  kAfter,
  kDelay,
  kPrompt,
  kReasoning,
  kSession,
  kTurn,
  kPriority,
  kSloClass,
  kTenant,
  kModel,
  kAdapter,
  kImages,
  kAudios,
  kVideos,
  kImageTokens,
  kAudioTokens,
  kVideoTokens,
  kStage,
};
constexpr std::array<std::string_view, 22> kJsonlKeys = {
    "arrival_s",    "input_tokens", "output_tokens",    "group",        "after",
    "delay_s",      "prompt",       "reasoning_tokens", "session",      "turn",
    "priority",     "slo_class",    "tenant",           "model",        "adapter",
    "images",       "audios",       "videos",           "image_tokens", "audio_tokens",
    "video_tokens", "stage"};
constexpr std::string_view kNeededKeys = "arrival_s, input_tokens, output_tokens";
constexpr std::string_view kHeaderKey = "ridgeline_workload";
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
      if (line.text().find(kHeaderKey) != std::string_view::npos) {
        return read_settings(line) ? RowStatus::kGlobal : RowStatus::kBad;
      }
    }
    reset(row);
    layouts_.start(line);
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
    if (!needed_seen(line) || !sound) {
      return RowStatus::kBad;
    }
    layouts_.learn();
    return fits(line, row) ? RowStatus::kRow : RowStatus::kBad;
  }

  const char* quick_row(const char* at, const char* end, TraceRow& row) override {
    const State before = state_;
    const char* const next = layouts_.read(
        at,
        end,
        row,
        [&] { reset(row); },
        [&](JsonCursor& json, std::uint32_t key, std::string_view name) {
          return read_value(json, static_cast<JsonlKey>(key), name, row);
        });
    if (next == nullptr || fits(TraceLine({}, unnamed_, 0, unheard_), row)) [[likely]] {
      return next;
    }
    unheard_.clear();
    state_ = before;
    return nullptr;
  }

  [[nodiscard]] core::Tokens block_tokens() const override { return block_tokens_; }
  [[nodiscard]] const std::vector<Stage>& stages() const override { return stages_; }
  [[nodiscard]] bool waits_for_answers() const override { return waits_; }
  [[nodiscard]] bool is_flat() const override { return !groups_; }

 private:
  static constexpr std::uint32_t bit(JsonlKey key) { return 1U << static_cast<unsigned>(key); }

  void reset(TraceRow& row) {
    if (touched_) {
      row = TraceRow();
      touched_ = false;
    }
  }

  bool read_member(JsonCursor& json, std::string_view key, TraceRow& row) {
    const auto* const at = std::ranges::find(kJsonlKeys, key);
    if (at == kJsonlKeys.end()) {
      const std::vector<std::string> names(kJsonlKeys.begin(), kJsonlKeys.end());
      const auto meant = core::nearest(key, names);
      json.line().problem("",
                          key,
                          fmt::format("the unknown name {}", core::quote(key)),
                          kNeededKeys,
                          meant ? fmt::format("did you mean '{}'?", *meant) : std::string());
      return json.skip() && false;
    }
    const auto which = static_cast<JsonlKey>(at - kJsonlKeys.begin());
    if ((seen_ & bit(which)) != 0) {
      json.line().problem(*at, key, "this name twice", "it once");
      return json.skip() && false;
    }
    seen_ |= bit(which);
    const char* const begin = json.rest().data();
    const bool sound = read_value(json, which, *at, row);
    layouts_.member(
        static_cast<std::uint32_t>(which), *at, quick_value(which), begin, json.place());
    return sound;
  }

  static QuickValue quick_value(JsonlKey key) {
    return {.kind = key == JsonlKey::kArrival        ? QuickKind::kArrival
                    : key == JsonlKey::kInputTokens  ? QuickKind::kInputTokens
                    : key == JsonlKey::kOutputTokens ? QuickKind::kOutputTokens
                                                     : QuickKind::kOther};
  }

  bool read_value(JsonCursor& json, JsonlKey which, std::string_view key, TraceRow& row) {
    switch (which) {
      case JsonlKey::kArrival:
        return json.time(key, kSecondsUnit, row.arrival);
      case JsonlKey::kInputTokens:
        return json.tokens(key, row.input_tokens);
      case JsonlKey::kOutputTokens:
        return json.tokens(key, row.output_tokens);
      default:
        touched_ = true;
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
          json.integer(key, -kMostInGroup, static_cast<std::int64_t>(kContentLimit) - 1, content) &&
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

  bool needed_seen(const TraceLine& line) {
    bool all = true;
    for (std::size_t i = 0; i < 3; ++i) {
      const bool waits = i == 0 && (seen_ & bit(JsonlKey::kAfter)) != 0;
      if ((seen_ & (1U << i)) == 0 && !waits) {
        line.problem(
            kJsonlKeys[i], line.text(), fmt::format("no '{}'", kJsonlKeys[i]), kNeededKeys);
        all = false;
      }
    }
    return all;
  }

  /// The row keeps the rules of its group and of the first line.
  bool fits(const TraceLine& line, TraceRow& row) {
    if (!touched_) [[likely]] {
      state_.place = 0;
      return true;
    }
    state_.place = row.starts_group ? 0 : state_.place + 1;
    const auto refuse = [&](JsonlKey key, std::string_view found, std::string_view expected) {
      line.problem(kJsonlKeys[static_cast<std::size_t>(key)], line.text(), found, expected);
      return false;
    };
    if (!row.starts_group && !groups_) {
      return refuse(JsonlKey::kGroup, "a group", "a first line with \"groups\": true");
    }
    if (!row.parents.empty() && !waits_) {
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
          static_cast<std::int64_t>(segment.content & ~output_of(0)) >= state_.place) {
        return refuse(JsonlKey::kPrompt, "the answer of no earlier request", "one of the group");
      }
      if (held > row.input_tokens) {
        return refuse(
            JsonlKey::kPrompt, fmt::format("{} tokens", held.value()), "at most input_tokens");
      }
    }
    if (static_cast<std::size_t>(row.stage) >= stages_.size() || row.stage < state_.last_stage) {
      return refuse(
          JsonlKey::kStage, fmt::format("{}", row.stage), "stages of the first line in order");
    }
    state_.last_stage = row.stage;
    return true;
  }

  bool read_settings(const TraceLine& line) {
    JsonCursor json(line);
    bool sound = true;
    std::string_view key;
    std::int64_t version = 0;
    for (json.enter('{'); json.next_key(key);) {
      if (key == kHeaderKey) {
        sound = json.integer(key, 1, 1, version) && sound;
      } else if (key == "groups") {
        sound = json.boolean(key, groups_) && sound;
      } else if (key == "waits") {
        sound = json.boolean(key, waits_) && sound;
      } else if (key == "block_tokens") {
        sound = json.tokens(key, block_tokens_, 0) && sound;
      } else if (key == "stages") {
        stages_.clear();
        sound = read_stages(json) && sound;
      } else {
        json.line().problem("",
                            key,
                            fmt::format("the unknown name {}", core::quote(key)),
                            "ridgeline_workload, groups, waits, block_tokens, stages");
        sound = json.skip() && false;
      }
    }
    if (stages_.empty()) {
      line.problem("stages", line.text(), "no stage", "at least one");
      sound = false;
    }
    return json.at_end() && sound;
  }

  bool read_stages(JsonCursor& json) {
    bool sound = true;
    for (json.enter('[', "stages"); json.next_item();) {
      Stage stage;
      std::string_view key;
      for (json.enter('{', "stages"); json.next_key(key);) {
        if (key == "max_concurrency") {
          sound = json.integer(key, 0, kMaxRequests, stage.max_concurrency) && sound;
        } else if (key == "think_s") {
          sound = json.time(key, kSecondsUnit, stage.think) && sound;
        } else if (key == "after_previous") {
          sound = json.boolean(key, stage.after_previous) && sound;
        } else if (key == "pause_s") {
          sound = json.time(key, kSecondsUnit, stage.pause) && sound;
        } else {
          return json.fail(key, "max_concurrency, think_s, after_previous, pause_s");
        }
      }
      stages_.push_back(stage);
    }
    return json.sound() && sound;
  }

  /// What the rows so far say of the next one.
  struct State {
    std::int64_t place = 0;  ///< In its group.
    std::int32_t last_stage = 0;
  };

  JsonLayouts layouts_;
  bool first_ = true;
  bool touched_ = true;
  std::uint32_t seen_ = 0;
  State state_;
  std::string unnamed_;
  core::Errors unheard_;
  bool groups_ = false;
  bool waits_ = false;
  core::Tokens block_tokens_ = core::Tokens(0);
  std::vector<Stage> stages_ = {Stage{}};
};

/// Any object, so that misspelt keys get an answer that names them.
bool detect_request_jsonl(const TraceHead& head) {
  return head.is_object();
}

/// Text that is JSON by construction, so that times are exact decimals.
class RequestJsonlWriter final : public TraceWriter {
 public:
  void begin(std::ostream& out, const ItemStream& stream) override {
    stream_ = &stream;
    const bool plain = stream.is_flat() && !stream.waits_for_answers() &&
                       stream.block_tokens().value() == 0 && stream.stages().size() == 1 &&
                       stream.stages().front() == Stage{};
    if (plain) {
      return;
    }
    out << fmt::format(R"({{"{}":1,"groups":{},"waits":{},"block_tokens":{},"stages":[)",
                       kHeaderKey,
                       !stream.is_flat(),
                       stream.waits_for_answers(),
                       stream.block_tokens().value());
    const char* separator = "";
    for (const Stage& stage : stream.stages()) {
      out << separator
          << fmt::format(
                 R"({{"max_concurrency":{},"think_s":{},"after_previous":{},"pause_s":{}}})",
                 stage.max_concurrency,
                 seconds_text(stage.think),
                 stage.after_previous,
                 seconds_text(stage.pause));
      separator = ",";
    }
    out << "]}\n";
  }

  void write(std::ostream& out, const Item& item) override {
    place_ = item.starts_group ? 0 : place_ + 1;
    out << fmt::format(R"({{"arrival_s":{},"input_tokens":{},"output_tokens":{})",
                       seconds_text(item.arrival),
                       item.input_tokens.value(),
                       item.output_tokens.value());
    if (place_ > 0) {
      out << R"(,"group":)" << place_;
    }
    if (!item.parents.empty()) {
      out << fmt::format(
          R"(,"after":[{}],"delay_s":{})", fmt::join(item.parents, ","), seconds_text(item.delay));
    }
    write_prompt(out, item);
    write_counts(out, item);
    write_labels(out, item);
    out << "}\n";
  }

 private:
  static void write_prompt(std::ostream& out, const Item& item) {
    if (item.prompt.empty()) {
      return;
    }
    out << R"(,"prompt":)";
    char separator = '[';
    for (const auto& segment : item.prompt) {
      const std::int64_t content =
          is_output(segment.content)
              ? -1 - static_cast<std::int64_t>(segment.content & ~output_of(0))
              : static_cast<std::int64_t>(segment.content);
      out << separator << '[' << content << ',' << segment.length.value() << ']';
      separator = ',';
    }
    out << ']';
  }

  static void write_counts(std::ostream& out, const Item& item) {
    const auto count = [&](JsonlKey key, std::int64_t value, std::int64_t otherwise = 0) {
      if (value != otherwise) {
        out << ",\"" << kJsonlKeys[static_cast<std::size_t>(key)] << "\":" << value;
      }
    };
    count(JsonlKey::kReasoning, item.reasoning_tokens.value());
    count(JsonlKey::kSession, item.session, -1);
    count(JsonlKey::kTurn, item.turn);
    count(JsonlKey::kPriority, item.priority);
    count(JsonlKey::kImages, item.images);
    count(JsonlKey::kAudios, item.audios);
    count(JsonlKey::kVideos, item.videos);
    count(JsonlKey::kImageTokens, item.image_tokens.value());
    count(JsonlKey::kAudioTokens, item.audio_tokens.value());
    count(JsonlKey::kVideoTokens, item.video_tokens.value());
    count(JsonlKey::kStage, item.stage);
  }

  void write_labels(std::ostream& out, const Item& item) {
    const auto label = [&](JsonlKey key, std::int32_t number) {
      if (number >= 0) {
        core::JsonWriter json(core::JsonWriter::Layout::kOneLine);
        json.value(std::string_view(stream_->labels().name(number)));
        out << ",\"" << kJsonlKeys[static_cast<std::size_t>(key)] << "\":" << json.text();
      }
    };
    label(JsonlKey::kSloClass, item.slo_class);
    label(JsonlKey::kTenant, item.tenant);
    label(JsonlKey::kModel, item.model);
    label(JsonlKey::kAdapter, item.adapter);
  }

  const ItemStream* stream_ = nullptr;
  std::int64_t place_ = 0;
};

}  // namespace

const TraceFormat kRequestJsonl = {
    .name = "request-jsonl",
    .summary = "JSON lines with the keys arrival_s, input_tokens, output_tokens, and more",
    .arrival_column = "arrival_s",
    .detect = detect_request_jsonl,
    .make_parser =
        [] { return std::unique_ptr<RowParser>(std::make_unique<RequestJsonlParser>()); },
    .make_writer =
        [] { return std::unique_ptr<TraceWriter>(std::make_unique<RequestJsonlWriter>()); },
    .carries = ~Fields{0},
};

}  // namespace ridgeline::workload
