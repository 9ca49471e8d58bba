#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <memory>
#include <string>

#include "core/result.hpp"
#include "core/time.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/line_reader.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::workload {

/// Reads the rows of one trace of any format, in order, in constant memory.
class TraceReader {
 public:
  enum class Status : std::uint8_t { kRow, kBadRow, kEnd };

  /// Reads the head of the file: what format it is, and its header. Fails for what is not a regular
  /// file that can be read, for an empty file, an unknown format and a bad header.
  static core::Result<TraceReader> open(const std::string& path);
  /// The same for text at hand; `name` stands for the path in messages. `format` skips the
  /// detection.
  static core::Result<TraceReader> open(std::unique_ptr<std::istream> input,
                                        std::string name,
                                        const TraceFormat* format = nullptr,
                                        std::size_t block_bytes = LineReader::kBlockBytes);

  /// The next row. kBadRow: its problems are in errors(), and the next call goes on with the row
  /// after it, until kMaxTraceProblems are noted; reading then ends. A file with no row at all is a
  /// problem too.
  Status next(TraceRow& row);

  [[nodiscard]] const TraceFormat& format() const { return *format_; }
  [[nodiscard]] const core::Errors& errors() const { return errors_; }

 private:
  TraceReader(LineReader lines, std::string name, const TraceFormat& format);

  Status stop(std::string message);
  bool in_order(const TraceLine& line, const TraceRow& row);

  LineReader lines_;
  std::string name_;
  const TraceFormat* format_;
  std::unique_ptr<RowParser> parser_;
  core::Errors errors_;
  core::Duration previous_;
  std::int64_t rows_ = 0;
  bool ended_ = false;
};

/// Reads what is left of a trace; fails with the problems of every bad row.
core::Result<TraceScan> scan_rows(TraceReader& reader);

}  // namespace ridgeline::workload
