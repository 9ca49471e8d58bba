// APEX+ (github.com/microsoft/apex_plus): StartTimeOffset in nanoseconds, ContextTokens,
// GeneratedTokens; TotalTokens, RequestID and SynthesizedBody are read over.
#include <array>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string_view>

#include <fmt/format.h>

#include "core/time.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/json_cursor.hpp"
#include "workload/traces/reading/json_rows.hpp"

namespace ridgeline::workload {
namespace {

constexpr std::array<std::string_view, 3> kApexKeys = {
    "StartTimeOffset", "ContextTokens", "GeneratedTokens"};

class ApexParser final : public JsonRowParser {
 public:
  ApexParser() : JsonRowParser(kApexKeys) {}

 private:
  bool member(JsonCursor& json, std::size_t key, TraceRow& row) override {
    switch (key) {
      case 0:
        return json.time(kApexKeys[0], kNanosecondsUnit, row.arrival);
      case 1:
        return json.tokens(kApexKeys[1], row.input_tokens);
      default:
        return json.tokens(kApexKeys[2], row.output_tokens);
    }
  }
};

class ApexWriter final : public TraceWriter {
 public:
  void begin(std::ostream& out, const ItemStream& stream) override {
    static_cast<void>(out);
    static_cast<void>(stream);
  }
  void write(std::ostream& out, const Item& item) override {
    out << fmt::format(
        "{{\"ContextTokens\": {}, \"GeneratedTokens\": {}, \"StartTimeOffset\": {}, "
        "\"RequestID\": \"{}\", \"TotalTokens\": {}}}\n",
        item.input_tokens.value(),
        item.output_tokens.value(),
        time_text(item.arrival, kNanosecondsUnit),
        count_++,
        item.input_tokens.value() + item.output_tokens.value());
  }

 private:
  std::int64_t count_ = 0;
};

}  // namespace

const TraceFormat kApexJsonl = {
    .name = "apex-jsonl",
    .summary = "APEX+: StartTimeOffset (ns), ContextTokens, GeneratedTokens",
    .arrival_column = kApexKeys[0],
    .detect =
        [](const TraceHead& head) {
          return head.is_object() && (head.has_key(kApexKeys[0]) || head.has_key(kApexKeys[1]));
        },
    .make_parser = [] { return std::unique_ptr<RowParser>(std::make_unique<ApexParser>()); },
    .make_writer = [] { return std::unique_ptr<TraceWriter>(std::make_unique<ApexWriter>()); },
    .carries = fields({Field::kArrival, Field::kFineTime}),
};

}  // namespace ridgeline::workload
