#include "workload/traces/reading/trace_reader.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "workload/item.hpp"
#include "workload/limits.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/byte_input.hpp"
#include "workload/traces/reading/csv.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/line_reader.hpp"

namespace ridgeline::workload {
namespace {

core::Error problem_at(const std::string& file, std::int64_t line, std::string message) {
  return {.code = core::ErrorCode::kUsage,
          .field = {},
          .message = std::move(message),
          .where = {.file = file, .line = static_cast<int>(line), .column = line > 0 ? 1 : 0},
          .hint = {}};
}

/// The first line, or the first keys of a JSON document, whose first line says little.
std::string what_begins(const TraceHead& head) {
  constexpr std::size_t kMostKeys = 5;
  if (!head.begins_document() || head.keys().empty()) {
    return core::quote(head.first_line());
  }
  std::string keys;
  for (std::size_t i = 0; i < std::min(head.keys().size(), kMostKeys); ++i) {
    keys += (i > 0 ? ", " : "") + core::quote(head.keys()[i]);
  }
  return "a JSON document with " + keys;
}

std::string known_formats() {
  std::string names;
  for (const TraceFormat* format : trace_formats()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", format->name);
  }
  return names;
}

/// What a file is that people take for a load; empty where it looks like none of them.
std::string other_kind(const TraceHead& head) {
  if (head.has_yaml_key("apiVersion") && head.has_yaml_key("kind")) {
    return "an object of Kubernetes";
  }
  const bool is_report = head.has_yaml_key("scenario") &&
                         (head.has_yaml_key("version") || head.has_yaml_key("results"));
  if (is_report) {
    return "a report of llm-d-benchmark";
  }
  return head.has_yaml_key("scenario") ? "a scenario of llm-d-benchmark" : "";
}

}  // namespace

const std::vector<Stage>& RowParser::stages() const {
  static const std::vector<Stage> kOne = {Stage{}};
  return kOne;
}

core::Result<const TraceFormat*> detect_format(std::string_view head, const std::string& name) {
  if (head.empty()) {
    return core::fail(
        problem_at(name, 0, fmt::format("the file is empty, expected one of {}", known_formats())));
  }
  const TraceHead known(head);
  for (const TraceFormat* format : trace_formats()) {
    if (format->detect != nullptr && format->detect(known)) {
      return format;
    }
  }
  if (const std::string other = other_kind(known); !other.empty()) {
    return core::fail(problem_at(name, 1, fmt::format("{}, which is no load", other)));
  }
  return core::fail(
      problem_at(name,
                 1,
                 fmt::format("found {} at the start, which is no known format; expected one of {}",
                             what_begins(known),
                             known_formats())));
}

TraceReader::TraceReader(LineReader lines, std::string name, const TraceFormat& format)
    : lines_(std::move(lines)),
      name_(std::move(name)),
      format_(&format),
      parser_(format.make_parser()) {}

core::Result<TraceReader> TraceReader::open(const std::string& path) {
  auto input = open_input(path);
  if (!input) {
    return core::fail(std::move(input.error()));
  }
  return open(std::move(*input), path);
}

core::Result<TraceReader> TraceReader::open(std::unique_ptr<ByteInput> input,
                                            std::string name,
                                            const TraceFormat* format,
                                            LineLimits limits) {
  LineReader lines(std::move(input), limits);
  const std::string_view head = lines.head();
  if (head.empty() && !lines.input_problem().empty()) {
    return core::fail(problem_at(name, 0, std::string(lines.input_problem())));
  }
  if (format == nullptr || head.empty()) {
    const auto detected = detect_format(head, name);
    if (!detected) {
      return core::fail(detected.error());
    }
    format = *detected;
  }
  if (format->make_parser == nullptr) {
    return core::fail(problem_at(
        name, 1, fmt::format("found {}, expected a format of one row a line", format->name)));
  }
  return open(std::move(lines), std::move(name), *format);
}

core::Result<TraceReader> TraceReader::open(LineReader lines,
                                            std::string name,
                                            const TraceFormat& format) {
  RIDGELINE_CHECK(format.make_parser != nullptr, "a format that is not of one row a line");
  TraceReader reader(std::move(lines), std::move(name), format);
  if (format.has_header) {
    std::string_view text;
    if (reader.lines_.next(text) != LineReader::Status::kLine) {
      const std::string_view problem = reader.lines_.input_problem();
      reader.stop(problem.empty() ? "the first line cannot be read, expected a header"
                                  : std::string(problem));
      return core::fail(std::move(reader.errors_));
    }
    const TraceLine line(text, reader.name_, reader.lines_.number(), reader.errors_);
    if (!line.is_text() || !reader.parser_->header(line)) {
      return core::fail(std::move(reader.errors_));
    }
  }
  return reader;
}

TraceReader::Status TraceReader::stop(std::string message) {
  ended_ = true;
  broken_ = true;
  errors_.push_back(problem_at(name_, lines_.number() + 1, std::move(message)));
  return Status::kBadRow;
}

bool TraceReader::in_order(const TraceRow& row) {
  const bool late = row.starts_group && row.stage == stage_ && row.arrival < previous_;
  if (row.starts_group && !late) [[likely]] {
    stage_ = row.stage;
    previous_ = row.arrival;
  }
  return !late;
}

TraceReader::Status TraceReader::late(std::string_view text, const TraceRow& row) {
  const TraceLine line(text, name_, lines_.number(), errors_);
  line.problem(format_->arrival_column,
               0,
               fmt::format("an arrival at {} s after one at {} s",
                           seconds_text(row.arrival),
                           seconds_text(previous_)),
               "rows in the order of arrival");
  return Status::kBadRow;
}

TraceReader::Status TraceReader::next(TraceRow& row) {
  for (;;) {
    if (ended_ || errors_.size() >= kMaxTraceProblems) {
      return Status::kEnd;
    }
    std::string_view text;
    switch (lines_.next(text)) {
      case LineReader::Status::kLine:
        break;
      case LineReader::Status::kEnd:
        ended_ = true;
        if (rows_ > 0) {
          return Status::kEnd;
        }
        return stop("the file ends after its header, expected at least one row");
      case LineReader::Status::kTooLong:
        return stop(
            fmt::format("found a line longer than {} bytes, expected a row", lines_.line_bytes()));
      case LineReader::Status::kReadError:
        return stop(std::string(lines_.input_problem()));
    }
    if (rows_ >= kMaxRequests) {
      return stop(fmt::format("found more than {} rows, expected at most that many", kMaxRequests));
    }
    const TraceLine line(text, name_, lines_.number(), errors_);
    make_new(row);
    const RowStatus status = line.is_text() ? parser_->row(line, row) : RowStatus::kBad;
    rows_ += status == RowStatus::kGlobal ? 0 : 1;
    if (status == RowStatus::kRow) [[likely]] {
      return in_order(row) ? Status::kRow : late(text, row);
    }
    if (status == RowStatus::kBad) {
      return Status::kBadRow;
    }
  }
}

}  // namespace ridgeline::workload
