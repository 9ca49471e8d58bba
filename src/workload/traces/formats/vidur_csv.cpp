// Vidur's processed traces (github.com/microsoft/vidur): arrived_at in seconds,
// num_prefill_tokens, num_decode_tokens; num_total_tokens and pd_ratio say nothing new.
#include <array>
#include <memory>
#include <ostream>

#include "core/text.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/csv.hpp"
#include "workload/traces/reading/fields.hpp"

namespace ridgeline::workload {
namespace {

constexpr auto kVidurColumns =
    std::to_array<CsvColumn>({{"arrived_at"}, {"num_prefill_tokens"}, {"num_decode_tokens"}});

class VidurCsvParser final : public CsvRowParser {
 public:
  VidurCsvParser() : CsvRowParser(kVidurColumns) {}

 private:
  RowStatus read(const TraceLine& line, Cells cells, TraceRow& row) override {
    const bool time_read = read_seconds(line, name(0), cells[0], row.arrival);
    const bool input_read = read_tokens(line, name(1), cells[1], row.input_tokens);
    const bool output_read = read_tokens(line, name(2), cells[2], row.output_tokens);
    return time_read && input_read && output_read ? RowStatus::kRow : RowStatus::kBad;
  }
};

class VidurCsvWriter final : public TraceWriter {
 public:
  void begin(std::ostream& out, const ItemStream& stream) override {
    static_cast<void>(stream);
    out << "arrived_at,num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n";
  }
  void write(std::ostream& out, const Item& item) override {
    const auto input = item.input_tokens.value();
    const auto output = item.output_tokens.value();
    out << seconds_text(item.arrival) << ',' << input << ',' << output << ',' << input + output
        << ',' << core::shortest(static_cast<double>(input) / static_cast<double>(output)) << '\n';
  }
};

}  // namespace

const TraceFormat kVidurCsv = {
    .name = "vidur-csv",
    .summary = "Vidur's traces: arrived_at,num_prefill_tokens,num_decode_tokens",
    .arrival_column = "arrived_at",
    .has_header = true,
    .detect =
        [](const TraceHead& head) {
          return head.has_column("num_prefill_tokens") || head.has_column("num_decode_tokens");
        },
    .make_parser = [] { return std::unique_ptr<RowParser>(std::make_unique<VidurCsvParser>()); },
    .make_writer = [] { return std::unique_ptr<TraceWriter>(std::make_unique<VidurCsvWriter>()); },
    .carries = fields({Field::kArrival, Field::kFineTime}),
};

}  // namespace ridgeline::workload
