#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string_view>

#include <fmt/format.h>

#include "core/json_writer.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/fields.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/request_jsonl.hpp"

namespace ridgeline::workload {
namespace {

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
                       kJsonlHeaderKey,
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

std::unique_ptr<TraceWriter> make_request_jsonl_writer() {
  return std::make_unique<RequestJsonlWriter>();
}

}  // namespace ridgeline::workload
