// Mooncake's traces (github.com/kvcache-ai/Mooncake, FAST25-release): timestamp in milliseconds,
// input_length, output_length and hash_ids, one id for each block of 512 tokens, equal where the
// whole prefix up to the block's end is equal. The last block may be partial.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/chain.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/formats/mooncake.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/json_cursor.hpp"
#include "workload/traces/reading/json_rows.hpp"
#include "workload/traces/reading/shared_text.hpp"

namespace ridgeline::workload {
namespace {

constexpr std::array<std::string_view, 3> kMooncakeKeys = {
    "timestamp", "input_length", "output_length"};

class MooncakeParser final : public JsonRowParser {
 public:
  MooncakeParser(const TimeUnit& unit, core::Tokens block)
      : JsonRowParser(kMooncakeKeys), unit_(unit), block_(block) {}
  [[nodiscard]] core::Tokens block_tokens() const override { return block_; }

 private:
  bool member(JsonCursor& json, std::size_t key, TraceRow& row) override {
    switch (key) {
      case 0:
        return json.time(kMooncakeKeys[0], unit_, row.arrival);
      case 1:
        return json.tokens(kMooncakeKeys[1], row.input_tokens);
      default:
        return json.tokens(kMooncakeKeys[2], row.output_tokens);
    }
  }
  bool other(JsonCursor& json, std::string_view key, TraceRow& row) override {
    return key == "hash_ids" ? read_hash_ids(json, row.prompt.own(), block_) : json.skip();
  }
  bool finish(const TraceLine& line, TraceRow& row) override {
    return fit_hash_ids(line, row.input_tokens, row.prompt.own(), block_);
  }

  const TimeUnit& unit_;
  core::Tokens block_;
};

class MooncakeWriter final : public TraceWriter {
 public:
  void begin(std::ostream& out, const ItemStream& stream) override {
    static_cast<void>(out);
    static_cast<void>(stream);
  }
  void write(std::ostream& out, const Item& item) override {
    text_ =
        fmt::format(R"({{"timestamp": {}, "input_length": {}, "output_length": {}, "hash_ids": [)",
                    time_text(item.arrival, kMillisecondsUnit),
                    item.input_tokens.value(),
                    item.output_tokens.value());
    chain_.assign(
        item.prompt, item.input_tokens, core::LoraId(), content_of(kUnshared, count_++), 0);
    const std::int64_t block = kMooncakeBlock.value();
    const std::int64_t tokens = item.input_tokens.value();
    const auto write_id = [&](std::size_t i, std::string& text) {
      const std::int64_t end = std::min((static_cast<std::int64_t>(i) + 1) * block, tokens);
      // Numbered as they first appear, as in the published traces.
      const auto number = numbers_.try_emplace(chain_.key(end), numbers_.size()).first->second;
      text += i > 0 ? ", " : "";
      text += fmt::format_int(number).c_str();
    };
    // A block that is full in the history is the same in every prompt that shares it.
    const std::size_t shared = item.prompt.num_shared();
    std::size_t first = 0;
    if (shared > 0) {
      first = static_cast<std::size_t>(item.prompt.history()->begin_of(shared) / block);
      shared_text_.append(item.prompt.history(), first, text_, write_id);
    }
    for (std::size_t i = first; static_cast<std::int64_t>(i) * block < tokens; ++i) {
      write_id(i, text_);
    }
    text_ += "]}\n";
    out.write(text_.data(), static_cast<std::streamsize>(text_.size()));
  }

 private:
  /// A space of contents of its own: blocks that no other prompt holds.
  static constexpr std::uint64_t kUnshared = 0x756E736861726564;
  std::uint64_t count_ = 0;
  std::unordered_map<std::uint64_t, std::size_t> numbers_;  ///< By the key of a block's end.
  domain::Chain chain_;
  SharedText shared_text_;
  std::string text_;
};

}  // namespace

bool read_hash_ids(JsonCursor& json, std::vector<domain::Segment>& prompt, core::Tokens block) {
  bool sound = true;
  for (json.enter('[', "hash_ids"); json.next_item();) {
    std::int64_t id = 0;
    sound = json.integer("hash_ids", 0, static_cast<std::int64_t>(kContentLimit) - 1, id) && sound;
    prompt.push_back({.content = static_cast<std::uint64_t>(id), .length = block});
  }
  return json.sound() && sound;
}

bool fit_hash_ids(const TraceLine& line,
                  core::Tokens input_tokens,
                  std::vector<domain::Segment>& prompt,
                  core::Tokens block_tokens) {
  if (prompt.empty()) {
    return true;
  }
  const std::int64_t block = block_tokens.value();
  const std::int64_t most = (input_tokens.value() + block - 1) / block;
  const auto count = static_cast<std::int64_t>(prompt.size());
  if (count > most) {
    line.problem(
        "hash_ids",
        line.text(),
        fmt::format("{} ids", count),
        fmt::format("at most {} for {} tokens in blocks of {}", most, input_tokens.value(), block));
    return false;
  }
  if (count == most) {
    prompt.back().length = input_tokens - core::Tokens(block * (count - 1));
  }
  return true;
}

const TraceFormat kBailian = {
    .name = "bailian",
    .summary =
        "Alibaba's Qwen-Bailian: chat_id, parent_chat_id, timestamp (s), input_length, "
        "output_length, hash_ids",
    .arrival_column = kMooncakeKeys[0],
    .detect =
        [](const TraceHead& head) {
          return head.is_object() && head.has_keys({"chat_id", "parent_chat_id", "input_length"});
        },
    .make_parser =
        [] {
          return std::unique_ptr<RowParser>(
              std::make_unique<MooncakeParser>(kSecondsUnit, kBailianBlock));
        },
};

const TraceFormat kMooncake = {
    .name = "mooncake",
    .summary = "Mooncake: timestamp (ms), input_length, output_length, hash_ids",
    .arrival_column = kMooncakeKeys[0],
    .detect =
        [](const TraceHead& head) {
          return head.is_object() &&
                 (head.has_key("input_length") || head.has_key("output_length"));
        },
    .make_parser =
        [] {
          return std::unique_ptr<RowParser>(
              std::make_unique<MooncakeParser>(kMillisecondsUnit, kMooncakeBlock));
        },
    .make_writer = [] { return std::unique_ptr<TraceWriter>(std::make_unique<MooncakeWriter>()); },
    .carries = fields({Field::kArrival, Field::kFineTime, Field::kPrefix}),
};

}  // namespace ridgeline::workload
