#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "document/json_writer.hpp"
#include "domain/prompt.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/formats/request_jsonl.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/shared_text.hpp"

namespace ridgeline::workload {
namespace {

class RequestJsonlWriter final : public TraceWriter {
 public:
  void begin(std::ostream& out, const ItemStream& stream) override {
    stream_ = &stream;
    const bool plain = stream.is_flat() && !stream.waits_for_answers() &&
                       !stream.answers_are_absolute() && stream.block_tokens().value() == 0 &&
                       stream.stages().size() == 1 && stream.stages().front() == Stage{};
    if (plain) {
      return;
    }
    out << fmt::format(R"({{"{}":1,"groups":{},"waits":{},{}"block_tokens":{},"stages":[)",
                       kJsonlHeaderKey,
                       !stream.is_flat(),
                       stream.waits_for_answers(),
                       stream.answers_are_absolute() ? R"("answers":"absolute",)" : "",
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
    text_ = fmt::format(R"({{"arrival_s":{},"input_tokens":{},"output_tokens":{})",
                        seconds_text(item.arrival),
                        item.input_tokens.value(),
                        item.output_tokens.value());
    if (place_ > 0) {
      text_ += fmt::format(R"(,"group":{})", place_);
    }
    if (!item.parents.empty()) {
      text_ += fmt::format(
          R"(,"after":[{}],"delay_s":{})", fmt::join(item.parents, ","), seconds_text(item.delay));
    }
    if (item.patience != Item::kEndless) {
      text_ += fmt::format(R"(,"abort_s":{})", seconds_text(item.arrival + item.patience));
    }
    write_prompt(item.prompt);
    write_counts(item);
    write_labels(item);
    text_ += "}\n";
    out.write(text_.data(), static_cast<std::streamsize>(text_.size()));
  }

 private:
  void write_prompt(const domain::Prompt& prompt) {
    if (prompt.empty()) {
      return;
    }
    const auto write_segment = [&](std::size_t i, std::string& text) {
      const domain::Segment segment = prompt[i];
      const std::int64_t content =
          is_output(segment.content)
              ? -1 - static_cast<std::int64_t>(segment.content & ~output_of(0))
              : static_cast<std::int64_t>(segment.content);
      text += i > 0 ? ",[" : "[";
      text += fmt::format_int(content).c_str();
      text += ',';
      text += fmt::format_int(segment.length.value()).c_str();
      text += ']';
    };
    text_ += R"(,"prompt":[)";
    if (prompt.num_shared() > 0) {
      shared_text_.append(prompt.history(), prompt.num_shared(), text_, write_segment);
    }
    for (std::size_t i = prompt.num_shared(); i < prompt.size(); ++i) {
      write_segment(i, text_);
    }
    text_ += ']';
  }

  void write_counts(const Item& item) {
    const auto count = [&](JsonlKey key, std::int64_t value, std::int64_t otherwise = 0) {
      if (value != otherwise) {
        text_ += fmt::format(R"(,"{}":{})", kJsonlKeys[static_cast<std::size_t>(key)], value);
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
    count(JsonlKey::kLimit, item.limit_tokens.value());
    count(JsonlKey::kRank, item.rank, -1);
  }

  void write_labels(const Item& item) {
    const auto label = [&](JsonlKey key, std::int32_t number) {
      if (number >= 0) {
        document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
        json.value(std::string_view(stream_->labels().name(number)));
        text_ += fmt::format(R"(,"{}":{})", kJsonlKeys[static_cast<std::size_t>(key)], json.text());
      }
    };
    label(JsonlKey::kSloClass, item.slo_class);
    label(JsonlKey::kTenant, item.tenant);
    label(JsonlKey::kModel, item.model);
    label(JsonlKey::kAdapter, item.adapter);
  }

  const ItemStream* stream_ = nullptr;
  std::int64_t place_ = 0;
  SharedText shared_text_;
  std::string text_;  ///< Text of the line.
};

}  // namespace

std::unique_ptr<TraceWriter> make_request_jsonl_writer() {
  return std::make_unique<RequestJsonlWriter>();
}

}  // namespace ridgeline::workload
