// Azure's public LLM inference traces (github.com/Azure/AzurePublicDataset): 2023 and 2024 with
// TIMESTAMP, ContextTokens and GeneratedTokens, the multimodal ones of 2025 with NumImages. Times
// of 2023 have seven decimals (ticks of 100 ns) and no zone, those of 2024 six and +00:00. They are
// read to the picosecond and counted from the first row. The published conversation trace of 2023
// has no row with zero tokens on either side, and a request always generates at least one, so a
// zero is a bad row.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>

#include <fmt/format.h>

#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/csv.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/trace_clock.hpp"

namespace ridgeline::workload {
namespace {

constexpr auto kAzureColumns = std::to_array<CsvColumn>(
    {{"TIMESTAMP"}, {"ContextTokens"}, {"GeneratedTokens"}, {"NumImages", false}});
constexpr std::int64_t kMostImages = 1'000'000;

class AzureCsvParser final : public CsvRowParser {
 public:
  AzureCsvParser() : CsvRowParser(kAzureColumns) {}

 private:
  RowStatus read(const TraceLine& line, Cells cells, TraceRow& row) override {
    const bool time_read = clock().read(line, name(0), cells[0], row.arrival);
    const bool input_read = read_tokens(line, name(1), cells[1], row.input_tokens);
    const bool output_read = read_tokens(line, name(2), cells[2], row.output_tokens);
    bool images_read = true;
    if (has(3)) {
      std::int64_t images = 0;
      images_read = read_integer(line, name(3), cells[3], 0, kMostImages, images);
      row.images = static_cast<std::int32_t>(images);
    }
    return time_read && input_read && output_read && images_read ? RowStatus::kRow
                                                                 : RowStatus::kBad;
  }
};

/// Any of the columns, so that a misspelt header gets an answer that names them.
bool detect_azure(const TraceHead& head) {
  return head.has_column("TIMESTAMP") || head.has_column("ContextTokens") ||
         head.has_column("GeneratedTokens");
}

/// Writes times as the files of 2023 do, from an instant of ours on.
class AzureCsvWriter final : public TraceWriter {
 public:
  explicit AzureCsvWriter(bool images) : images_(images) {}

  void begin(std::ostream& out, const ItemStream& stream) override {
    static_cast<void>(stream);
    out << (images_ ? "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n"
                    : "TIMESTAMP,ContextTokens,GeneratedTokens\n");
  }
  void write(std::ostream& out, const Item& item) override {
    first_ = first_.value_or(item.arrival);
    out << clock_text(item.arrival);
    if (images_) {
      out << ',' << item.images;
    }
    out << ',' << item.input_tokens.value() << ',' << item.output_tokens.value() << '\n';
  }
  [[nodiscard]] core::Warnings warnings() const override {
    if (first_.value_or(core::Duration()) == core::Duration()) {
      return {};
    }
    return {{.code = "W-lost-start",
             .message = fmt::format("this format counts time from its first row: the {} s before "
                                    "the first request are lost when it is read back",
                                    seconds_text(*first_)),
             .hint = "--to request-jsonl keeps them"}};
  }

 private:
  std::optional<core::Duration> first_;
  bool images_;
};

std::unique_ptr<RowParser> make_azure_parser() {
  return std::make_unique<AzureCsvParser>();
}

}  // namespace

const TraceFormat kAzureLlmCsv = {
    .name = "azure-llm-csv",
    .summary = "Azure LLM inference traces 2023, 2024: TIMESTAMP,ContextTokens,GeneratedTokens",
    .arrival_column = "TIMESTAMP",
    .has_header = true,
    .detect =
        [](const TraceHead& head) { return detect_azure(head) && !head.has_column("NumImages"); },
    .make_parser = make_azure_parser,
    .make_writer = []() -> std::unique_ptr<TraceWriter> {
      return std::make_unique<AzureCsvWriter>(false);
    },
    .carries = fields({Field::kArrival}),
};

const TraceFormat kAzureLmmCsv = {
    .name = "azure-lmm-csv",
    .summary = "Azure multimodal traces 2025: the same with NumImages",
    .arrival_column = "TIMESTAMP",
    .has_header = true,
    .detect =
        [](const TraceHead& head) { return detect_azure(head) && head.has_column("NumImages"); },
    .make_parser = make_azure_parser,
    .make_writer = []() -> std::unique_ptr<TraceWriter> {
      return std::make_unique<AzureCsvWriter>(true);
    },
    .carries = fields({Field::kArrival, Field::kImages}),
};

}  // namespace ridgeline::workload
