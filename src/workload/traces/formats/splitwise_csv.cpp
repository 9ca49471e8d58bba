// Traces of splitwise-sim (github.com/Mutinifni/splitwise-sim): request_id, request_type,
// application_id, arrival_timestamp in seconds, batch_size, prompt_size, token_size.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>

#include <fmt/format.h>

#include "core/text.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/csv.hpp"
#include "workload/traces/reading/fields.hpp"

namespace ridgeline::workload {
namespace {

constexpr auto kSplitwiseColumns = std::to_array<CsvColumn>(
    {{"arrival_timestamp"}, {"prompt_size"}, {"token_size"}, {"application_id", false}});

class SplitwiseCsvParser final : public CsvRowParser {
 public:
  SplitwiseCsvParser() : CsvRowParser(kSplitwiseColumns) {}

 private:
  RowStatus read(const TraceLine& line, Cells cells, TraceRow& row) override {
    const bool time_read = read_seconds(line, name(0), cells[0], row.arrival);
    const bool input_read = read_tokens(line, name(1), cells[1], row.input_tokens);
    const bool output_read = read_tokens(line, name(2), cells[2], row.output_tokens);
    row.tenant = has(3) ? labels_.intern(cells[3]) : -1;
    return time_read && input_read && output_read ? RowStatus::kRow : RowStatus::kBad;
  }
};

class SplitwiseCsvWriter final : public TraceWriter {
 public:
  void begin(std::ostream& out, const ItemStream& stream) override {
    stream_ = &stream;
    out << "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,"
           "token_size\n";
  }
  void write(std::ostream& out, const Item& item) override {
    // Type 2 is what the simulator calls an LLM request.
    out << fmt::format("{},2,{},{},1,{},{}\n",
                       count_++,
                       item.tenant < 0 ? "0" : core::csv_cell(stream_->labels().name(item.tenant)),
                       seconds_text(item.arrival),
                       item.input_tokens.value(),
                       item.output_tokens.value());
  }

 private:
  const ItemStream* stream_ = nullptr;
  std::int64_t count_ = 0;
};

}  // namespace

const TraceFormat kSplitwiseCsv = {
    .name = "splitwise-csv",
    .summary = "splitwise-sim's traces: arrival_timestamp, prompt_size, token_size, ...",
    .arrival_column = "arrival_timestamp",
    .has_header = true,
    .detect =
        [](const TraceHead& head) {
          return head.has_column("prompt_size") && head.has_column("token_size");
        },
    .make_parser =
        [] { return std::unique_ptr<RowParser>(std::make_unique<SplitwiseCsvParser>()); },
    .make_writer =
        [] { return std::unique_ptr<TraceWriter>(std::make_unique<SplitwiseCsvWriter>()); },
    .carries = fields({Field::kArrival, Field::kFineTime, Field::kTenant}),
};

}  // namespace ridgeline::workload
