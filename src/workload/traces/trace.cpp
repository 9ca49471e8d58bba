#include "workload/traces/trace.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"
#include "workload/limits.hpp"
#include "workload/source.hpp"
#include "workload/traces/fields.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/trace_reader.hpp"

namespace ridgeline::workload {
namespace {

core::Error option_problem(std::string option, std::string message) {
  return {.code = core::ErrorCode::kUsage,
          .field = fmt::format("workload.{}", option),
          .message = std::move(message),
          .where = {},
          .hint = {}};
}

/// The arrival in the run of a row at `recorded`, or nothing where it lies past the range of
/// simulated time.
std::optional<core::SimTime> replayed(core::Duration recorded, const TraceOptions& options) {
  core::Duration since_start = recorded - options.start;
  if (options.speed_up != 1.0) {
    const auto scaled = core::Duration::from_seconds(since_start.to_seconds() / options.speed_up);
    if (!scaled) {
      return std::nullopt;
    }
    since_start = *scaled;
  }
  return core::SimTime::at(since_start);
}

core::Errors check_options(const TraceScan& scan, const TraceOptions& options) {
  core::Errors errors;
  const bool sound_speed = std::isfinite(options.speed_up) && options.speed_up > 0.0;
  if (!sound_speed) {
    errors.push_back(option_problem(
        "speed_up",
        fmt::format("{} is not a speed-up, expected a number above 0", options.speed_up)));
  }
  if (options.num_prompts && *options.num_prompts < 1) {
    errors.push_back(option_problem(
        "num_prompts",
        fmt::format("{} is out of range, expected at least 1", *options.num_prompts)));
  }
  if (options.start < core::Duration() || options.start > scan.last_arrival) {
    errors.push_back(
        option_problem("start",
                       fmt::format("{} s is out of range, expected 0 s to the last arrival at {} s",
                                   seconds_text(options.start),
                                   seconds_text(scan.last_arrival))));
  } else if (sound_speed && !replayed(scan.last_arrival, options)) {
    errors.push_back(option_problem(
        "speed_up",
        fmt::format("{} moves the last arrival past the range of simulated time, {} s",
                    options.speed_up,
                    seconds_text(kLatestArrival))));
  }
  return errors;
}

class TraceSource final : public Source {
 public:
  TraceSource(TraceReader reader,
              std::string path,
              const TraceScan& scan,
              const TraceOptions& options)
      : reader_(std::move(reader)),
        path_(std::move(path)),
        options_(options),
        scan_(scan),
        limit_(options.num_prompts.value_or(kMaxRequests)),
        counted_(options.start == core::Duration() ? std::optional(std::min(scan.requests, limit_))
                                                   : std::nullopt) {
    advance();
  }

  std::optional<core::SimTime> next_arrival() override { return arrival_; }

  domain::Request pop() override {
    RIDGELINE_CHECK(arrival_.has_value(), "pop from a trace that has ended");
    domain::Request request;
    request.id = core::RequestId(static_cast<core::RequestId::Rep>(popped_++));
    request.arrival = *arrival_;
    request.prompt_tokens = row_.input_tokens;
    request.output_tokens = row_.output_tokens;
    request.max_tokens = row_.output_tokens;
    advance();
    return request;
  }

  [[nodiscard]] const core::Errors& errors() const override {
    return reader_.errors().empty() ? changed_ : reader_.errors();
  }
  [[nodiscard]] std::optional<std::int64_t> size() const override { return counted_; }

 private:
  void advance() {
    arrival_.reset();
    if (popped_ >= limit_) {
      return;
    }
    do {
      const auto status = reader_.next(row_);
      if (status == TraceReader::Status::kBadRow) {
        return;
      }
      if (status == TraceReader::Status::kEnd ? rows_ != scan_.requests
                                              : row_.arrival > scan_.last_arrival) {
        changed_ = {{.code = core::ErrorCode::kUsage,
                     .field = {},
                     .message = "the file changed while it was read, expected it to stay as it is",
                     .where = {.file = path_, .line = 0, .column = 0},
                     .hint = {}}};
        return;
      }
      if (status == TraceReader::Status::kEnd) {
        return;
      }
      ++rows_;
    } while (row_.arrival < options_.start);
    arrival_ = replayed(row_.arrival, options_);
  }

  TraceReader reader_;
  std::string path_;
  TraceOptions options_;
  TraceScan scan_;
  std::int64_t limit_;
  std::optional<std::int64_t> counted_;
  std::int64_t rows_ = 0;
  std::int64_t popped_ = 0;
  TraceRow row_;
  std::optional<core::SimTime> arrival_;
  core::Errors changed_;
};

}  // namespace

core::Result<TraceScan> scan_rows(TraceReader& reader) {
  TraceScan scan;
  scan.format = reader.format().name;
  TraceRow row;
  for (;;) {
    const auto status = reader.next(row);
    if (status == TraceReader::Status::kEnd) {
      break;
    }
    if (status == TraceReader::Status::kBadRow) {
      continue;
    }
    if (scan.requests == 0) {
      scan.first_arrival = row.arrival;
    }
    ++scan.requests;
    scan.last_arrival = row.arrival;
    scan.input_tokens += row.input_tokens;
    scan.output_tokens += row.output_tokens;
    scan.longest_input = std::max(scan.longest_input, row.input_tokens);
    scan.longest_output = std::max(scan.longest_output, row.output_tokens);
  }
  if (!reader.errors().empty()) {
    return core::fail(reader.errors());
  }
  return scan;
}

core::Result<TraceScan> scan_trace(const std::string& path) {
  auto reader = TraceReader::open(path);
  if (!reader) {
    return core::fail(std::move(reader.error()));
  }
  return scan_rows(*reader);
}

core::Result<std::unique_ptr<Source>> open_trace(const std::string& path,
                                                 const TraceOptions& options) {
  const auto scanned = scan_trace(path);
  if (!scanned) {
    return core::fail(scanned.error());
  }
  if (auto errors = check_options(*scanned, options); !errors.empty()) {
    return core::fail(std::move(errors));
  }
  auto reader = TraceReader::open(path);
  if (!reader) {
    return core::fail(std::move(reader.error()));
  }
  return std::make_unique<TraceSource>(std::move(*reader), path, *scanned, options);
}

}  // namespace ridgeline::workload
