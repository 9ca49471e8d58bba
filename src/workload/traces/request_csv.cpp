// The plain CSV: a header that names arrival_s, input_tokens and output_tokens in any order, then
// one row per request.
#include <array>
#include <memory>
#include <ostream>

#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/csv.hpp"
#include "workload/traces/fields.hpp"
#include "workload/traces/format.hpp"

namespace ridgeline::workload {
namespace {

constexpr auto kRequestColumns = std::to_array<CsvColumn>({{"arrival_s", true, kArrivalSeconds},
                                                           {"input_tokens", true, kInputCount},
                                                           {"output_tokens", true, kOutputCount}});

class RequestCsvParser final : public CsvRowParser {
 public:
  RequestCsvParser() : CsvRowParser(kRequestColumns, true) {}

 private:
  RowStatus read(const TraceLine& line, Cells cells, TraceRow& row) override {
    const bool time_read = read_seconds(line, name(0), cells[0], row.arrival);
    const bool input_read = read_tokens(line, name(1), cells[1], row.input_tokens);
    const bool output_read = read_tokens(line, name(2), cells[2], row.output_tokens);
    return time_read && input_read && output_read ? RowStatus::kRow : RowStatus::kBad;
  }
};

/// Any line of names, so that a misspelt header gets an answer that names the columns.
bool detect_csv(const TraceHead& head) {
  const std::string_view line = head.first_line();
  const bool starts_with_name =
      !line.empty() && ((line[0] >= 'a' && line[0] <= 'z') || (line[0] >= 'A' && line[0] <= 'Z'));
  return starts_with_name && line.find(',') != std::string_view::npos;
}

class RequestCsvWriter final : public TraceWriter {
 public:
  void begin(std::ostream& out, const ItemStream& stream) override {
    static_cast<void>(stream);
    out << "arrival_s,input_tokens,output_tokens\n";
  }
  void write(std::ostream& out, const Item& item) override {
    out << seconds_text(item.arrival) << ',' << item.input_tokens.value() << ','
        << item.output_tokens.value() << '\n';
  }
};

}  // namespace

const TraceFormat kRequestCsv = {
    .name = "request-csv",
    .summary = "CSV with the columns arrival_s, input_tokens, output_tokens in any order",
    .arrival_column = "arrival_s",
    .has_header = true,
    .detect = detect_csv,
    .make_parser = [] { return std::unique_ptr<RowParser>(std::make_unique<RequestCsvParser>()); },
    .make_writer =
        [] { return std::unique_ptr<TraceWriter>(std::make_unique<RequestCsvWriter>()); },
    .carries = fields({Field::kArrival, Field::kFineTime}),
};

}  // namespace ridgeline::workload
