// BurstGPT (github.com/HPMLL/BurstGPT): Timestamp in seconds, Session ID, Elapsed time, Model,
// Request tokens, Response tokens, Total tokens, Log Type. Release 1.0 lacks Session ID and
// Elapsed time. A request with no response tokens failed, and is left out. What a conversation's
// later request shares with the earlier ones is not recorded, so that prompts are unique.
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/csv.hpp"
#include "workload/traces/reading/fields.hpp"

namespace ridgeline::workload {
namespace {

constexpr auto kBurstColumns = std::to_array<CsvColumn>({{"Timestamp"},
                                                         {"Model", false},
                                                         {"Request tokens"},
                                                         {"Response tokens"},
                                                         {"Session ID", false},
                                                         {"Log Type", false}});

class BurstGptParser final : public CsvRowParser {
 public:
  BurstGptParser() : CsvRowParser(kBurstColumns) {}

  [[nodiscard]] core::Warnings warnings() const override {
    if (failed_ == 0) {
      return {};
    }
    return {{.code = "W-failed-requests",
             .message = fmt::format(
                 "left out: {} {} of the file with 0 response tokens, a failed request each",
                 failed_,
                 core::plural("row", failed_))}};
  }

 private:
  RowStatus read(const TraceLine& line, Cells cells, TraceRow& row) override {
    core::Tokens output;
    const bool time_read = read_seconds(line, name(0), cells[0], row.arrival);
    const bool output_read = read_tokens(line, name(3), cells[3], output, 0);
    if (time_read && output_read && output.value() == 0) {
      ++failed_;
      return RowStatus::kLeftOut;
    }
    row.output_tokens = output;
    const bool input_read = read_tokens(line, name(2), cells[2], row.input_tokens);
    row.model = has(1) ? labels_.intern(cells[1]) : -1;
    row.tenant = has(5) ? labels_.intern(cells[5]) : -1;
    row.session = -1;
    row.turn = 0;
    if (has(4) && !cells[4].empty() && cells[4] != "-") {
      const auto next = static_cast<std::int32_t>(sessions_.size());
      auto& [number, turns] =
          sessions_.try_emplace(std::string(cells[4]), std::pair(next, 0)).first->second;
      row.session = number;
      row.turn = turns++;
    }
    return time_read && input_read && output_read ? RowStatus::kRow : RowStatus::kBad;
  }

  std::int64_t failed_ = 0;
  /// Number and turns so far.
  std::map<std::string, std::pair<std::int32_t, std::int32_t>, std::less<>> sessions_;
};

class BurstGptWriter final : public TraceWriter {
 public:
  void begin(std::ostream& out, const ItemStream& stream) override {
    stream_ = &stream;
    out << "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,"
           "Log Type\n";
  }
  void write(std::ostream& out, const Item& item) override {
    const auto label = [&](std::int32_t number, std::string_view otherwise) {
      return number < 0 ? std::string(otherwise) : core::csv_cell(stream_->labels().name(number));
    };
    without_model_ += item.model < 0 ? 1 : 0;
    without_tenant_ += item.tenant < 0 ? 1 : 0;
    with_session_ += item.session >= 0 ? 1 : 0;
    out << fmt::format("{},{},,{},{},{},{},{}\n",
                       seconds_text(item.arrival),
                       item.session < 0 ? "" : std::to_string(item.session),
                       label(item.model, "ChatGPT"),
                       item.input_tokens.value(),
                       item.output_tokens.value(),
                       item.input_tokens.value() + item.output_tokens.value(),
                       label(item.tenant, "API log"));
  }
  [[nodiscard]] core::Warnings warnings() const override {
    core::Warnings all;
    if (without_model_ > 0 || without_tenant_ > 0) {
      all.push_back({.code = "W-made-up-columns",
                     .message = fmt::format("{} requests without a model are written as ChatGPT, "
                                            "{} without a tenant as Log Type \"API log\"",
                                            without_model_,
                                            without_tenant_)});
    }
    if (with_session_ > 0) {
      all.push_back({.code = "W-renumbered-sessions",
                     .message = fmt::format("sessions are numbered from 0 as they come, in {} "
                                            "requests: Session ID is no longer the file's",
                                            with_session_)});
    }
    return all;
  }

 private:
  const ItemStream* stream_ = nullptr;
  std::int64_t without_model_ = 0;
  std::int64_t without_tenant_ = 0;
  std::int64_t with_session_ = 0;
};

}  // namespace

const TraceFormat kBurstGpt = {
    .name = "burstgpt-csv",
    .summary = "BurstGPT: Timestamp, Model, Request tokens, Response tokens, ...",
    .arrival_column = "Timestamp",
    .has_header = true,
    .detect =
        [](const TraceHead& head) {
          return head.has_column("Request tokens") || head.has_column("Response tokens");
        },
    .make_parser = [] { return std::unique_ptr<RowParser>(std::make_unique<BurstGptParser>()); },
    .make_writer = [] { return std::unique_ptr<TraceWriter>(std::make_unique<BurstGptWriter>()); },
    .carries =
        fields({Field::kArrival, Field::kFineTime, Field::kModel, Field::kTenant, Field::kSession}),
};

}  // namespace ridgeline::workload
