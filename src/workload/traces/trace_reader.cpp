#include "workload/traces/trace_reader.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <istream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "workload/limits.hpp"
#include "workload/traces/csv.hpp"
#include "workload/traces/fields.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/line_reader.hpp"

namespace ridgeline::workload {
namespace {

core::Error problem(const std::string& file, std::int64_t line, std::string message) {
  return {.code = core::ErrorCode::kUsage,
          .field = {},
          .message = std::move(message),
          .where = {.file = file, .line = static_cast<int>(line), .column = line > 0 ? 1 : 0},
          .hint = {}};
}

std::string known_formats() {
  std::string names;
  for (const TraceFormat& format : trace_formats()) {
    names += fmt::format("{}{} ({})", names.empty() ? "" : "; ", format.name, format.summary);
  }
  return names;
}

const TraceFormat* detect_format(std::string_view head) {
  for (const TraceFormat& format : trace_formats()) {
    if (format.detect(head)) {
      return &format;
    }
  }
  return nullptr;
}

/// Replaces what was said about a line by the one thing that explains it, where the line is not
/// text.
void explain_bad_bytes(const TraceLine& line, std::size_t already, core::Errors& errors) {
  const std::size_t at = core::valid_utf8_prefix(line.text());
  if (at == line.text().size()) {
    return;
  }
  errors.resize(already);
  line.problem("", at, core::quote(line.text().substr(at, 1)), "UTF-8 text");
}

}  // namespace

TraceReader::TraceReader(LineReader lines, std::string name, const TraceFormat& format)
    : lines_(std::move(lines)),
      name_(std::move(name)),
      format_(&format),
      parser_(format.make_parser()) {}

core::Result<TraceReader> TraceReader::open(const std::string& path) {
  std::error_code failure;
  const auto status = std::filesystem::status(path, failure);
  if (!std::filesystem::exists(status)) {
    return core::fail(problem(path, 0, "no such file, expected a trace"));
  }
  // A trace is read twice (checked, then replayed), which pipes and devices do not allow.
  if (!std::filesystem::is_regular_file(status)) {
    return core::fail(problem(path, 0, "not a regular file, expected a trace"));
  }
  auto input = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!input->is_open()) {
    return core::fail(problem(path, 0, "cannot be opened for reading"));
  }
  return open(std::move(input), path);
}

core::Result<TraceReader> TraceReader::open(std::unique_ptr<std::istream> input,
                                            std::string name,
                                            const TraceFormat* format,
                                            std::size_t block_bytes) {
  LineReader lines(std::move(input), block_bytes);
  const std::string_view head = lines.head();
  if (head.empty()) {
    return core::fail(
        problem(name, 0, fmt::format("the file is empty, expected {}", known_formats())));
  }
  if (format == nullptr) {
    format = detect_format(head);
  }
  if (format == nullptr) {
    return core::fail(
        problem(name,
                1,
                fmt::format("found {} at the start, which is no known format; expected {}",
                            core::quote(first_line(head)),
                            known_formats())));
  }
  TraceReader reader(std::move(lines), std::move(name), *format);
  if (format->has_header) {
    std::string_view text;
    if (reader.lines_.next(text) != LineReader::Status::kLine) {
      reader.stop("the first line cannot be read, expected a header");
      return core::fail(std::move(reader.errors_));
    }
    const TraceLine line(text, reader.name_, reader.lines_.number(), reader.errors_);
    if (!reader.parser_->header(line)) {
      explain_bad_bytes(line, 0, reader.errors_);
      return core::fail(std::move(reader.errors_));
    }
  }
  return reader;
}

TraceReader::Status TraceReader::stop(std::string message) {
  ended_ = true;
  errors_.push_back(problem(name_, lines_.number() + 1, std::move(message)));
  return Status::kBadRow;
}

bool TraceReader::in_order(const TraceLine& line, const TraceRow& row) {
  if (row.arrival < previous_) {
    line.problem(format_->arrival_column,
                 0,
                 fmt::format("an arrival at {} s after one at {} s",
                             seconds_text(row.arrival),
                             seconds_text(previous_)),
                 "rows in the order of arrival");
    return false;
  }
  previous_ = row.arrival;
  return true;
}

TraceReader::Status TraceReader::next(TraceRow& row) {
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
          fmt::format("found a line longer than {} bytes, expected a row", lines_.block_bytes()));
    case LineReader::Status::kReadError:
      return stop("the file could not be read to its end");
  }
  if (++rows_ > kMaxRequests) {
    return stop(fmt::format("found more than {} rows, expected at most that many", kMaxRequests));
  }
  const std::size_t already = errors_.size();
  const TraceLine line(text, name_, lines_.number(), errors_);
  if (!parser_->row(line, row)) [[unlikely]] {
    explain_bad_bytes(line, already, errors_);
    return Status::kBadRow;
  }
  return in_order(line, row) ? Status::kRow : Status::kBadRow;
}

}  // namespace ridgeline::workload
