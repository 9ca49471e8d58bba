// The plain CSV: a header that names arrival_s, input_tokens and output_tokens in any order, then
// one row per request.
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <ostream>

#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/csv.hpp"
#include "workload/traces/reading/fields.hpp"

namespace ridgeline::workload {
namespace {

/// The columns in front; what `--requests-out` writes beside them is optional, and read over where
/// it is measured.
constexpr auto kRequestColumns = std::to_array<CsvColumn>({{"arrival_s"},
                                                           {"input_tokens"},
                                                           {"output_tokens"},
                                                           {"max_tokens", false},
                                                           {"session", false},
                                                           {"turn", false},
                                                           {"priority", false},
                                                           {"images", false},
                                                           {"slo_class", false},
                                                           {"tenant", false},
                                                           {"model", false},
                                                           {"adapter", false},
                                                           {"request_id", false},
                                                           {"cached_tokens", false},
                                                           {"preemptions", false},
                                                           {"outcome", false},
                                                           {"queue_time_ms", false},
                                                           {"ttft_ms", false},
                                                           {"tpot_ms", false},
                                                           {"e2e_ms", false},
                                                           {"server_ttft_ms", false},
                                                           {"server_e2e_ms", false},
                                                           {"instance", false},
                                                           {"num_attempts", false},
                                                           {"gateway_ms", false},
                                                           {"instance_queue_ms", false},
                                                           {"prefill_ms", false},
                                                           {"transfer_ms", false},
                                                           {"delivery_ms", false}});
constexpr std::int64_t kMostCount = std::numeric_limits<std::int32_t>::max() - 1;

class RequestCsvParser final : public CsvRowParser {
 public:
  RequestCsvParser() : CsvRowParser(kRequestColumns, true) {}

 private:
  RowStatus read(const TraceLine& line, Cells cells, TraceRow& row) override {
    const bool time_read = read_seconds(line, name(0), cells[0], row.arrival);
    const bool input_read = read_tokens(line, name(1), cells[1], row.input_tokens);
    // What was asked for is what is asked for again, whatever was generated.
    const std::size_t output = is_given(cells, 3) ? 3 : 2;
    const bool output_read = read_tokens(line, name(output), cells[output], row.output_tokens);
    bool sound = time_read && input_read && output_read;
    sound = read_count(line, cells, 4, {.otherwise = -1}, row.session) && sound;
    sound = read_count(line, cells, 5, {}, row.turn) && sound;
    sound = read_count(line, cells, 6, {.lowest = -kMostCount}, row.priority) && sound;
    sound = read_count(line, cells, 7, {}, row.images) && sound;
    row.slo_class = label_of(cells, 8);
    row.tenant = label_of(cells, 9);
    row.model = label_of(cells, 10);
    row.adapter = label_of(cells, 11);
    return sound ? RowStatus::kRow : RowStatus::kBad;
  }

  struct Count {
    std::int64_t lowest = 0;
    std::int32_t otherwise = 0;  ///< Where the cell is empty.
  };

  [[nodiscard]] bool is_given(Cells cells, std::size_t column) const {
    return has(column) && !cells[column].empty();
  }
  [[nodiscard]] bool read_count(const TraceLine& line,
                                Cells cells,
                                std::size_t column,
                                Count count,
                                std::int32_t& number) const {
    std::int64_t value = count.otherwise;
    const bool sound =
        !is_given(cells, column) ||
        read_integer(line, name(column), cells[column], count.lowest, kMostCount, value);
    number = static_cast<std::int32_t>(value);
    return sound;
  }
  [[nodiscard]] std::int32_t label_of(Cells cells, std::size_t column) {
    return has(column) ? labels_.intern(cells[column]) : -1;
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
