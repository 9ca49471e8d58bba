// The plain CSV: a header that names arrival_s, input_tokens and output_tokens in any order, then
// one row per request.
#include <array>
#include <cstddef>
#include <memory>
#include <string_view>

#include "workload/traces/csv.hpp"
#include "workload/traces/fields.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/request_columns.hpp"

namespace ridgeline::workload {
namespace {

class RequestCsvParser final : public RowParser {
 public:
  bool header(const TraceLine& line) override {
    RequestColumns::Seen seen{};
    std::size_t position = 0;
    bool sound = true;
    for (const auto cell : split_csv(line.text())) {
      const auto column = RequestColumns::find(line, cell, seen);
      if (!column) {
        sound = false;
      } else if (position < kTraceColumns) {
        column_at_[position] = *column;
      }
      ++position;
    }
    return RequestColumns::all_seen(line, seen) && sound;
  }

  bool row(const TraceLine& line, TraceRow& row) override {
    CsvCells cells;
    if (!split_row(line, cells)) {
      return false;
    }
    bool sound = true;
    for (std::size_t i = 0; i < kTraceColumns; ++i) {
      sound = RequestColumns::read(line, column_at_[i], cells[i], row) && sound;
    }
    return sound;
  }

 private:
  std::array<RequestColumns::Column, kTraceColumns> column_at_{};
};

/// Any line of names, so that a misspelt header gets an answer that names the columns.
bool detect_csv(std::string_view head) {
  const std::string_view line = first_line(head);
  const bool starts_with_name =
      !line.empty() && ((line[0] >= 'a' && line[0] <= 'z') || (line[0] >= 'A' && line[0] <= 'Z'));
  return starts_with_name && line.find(',') != std::string_view::npos;
}

}  // namespace

const TraceFormat kRequestCsv = {
    .name = "request-csv",
    .summary = "CSV with the columns arrival_s, input_tokens, output_tokens in any order",
    .arrival_column = RequestColumns::kNames[0],
    .has_header = true,
    .detect = detect_csv,
    .make_parser = [] { return std::unique_ptr<RowParser>(std::make_unique<RequestCsvParser>()); },
};

}  // namespace ridgeline::workload
