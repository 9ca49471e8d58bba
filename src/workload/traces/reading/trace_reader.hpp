#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "core/time.hpp"
#include "workload/item.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/byte_input.hpp"
#include "workload/traces/reading/line_reader.hpp"

namespace ridgeline::workload {

/// Reads the rows of one trace of a format of one row a line, in order, in constant memory.
class TraceReader {
 public:
  enum class Status : std::uint8_t { kRow, kBadRow, kEnd };

  /// Reads the head of the file: what format it is, and its header. Fails for what is not a regular
  /// file that can be read, for an empty file, an unknown format and a bad header.
  static core::Result<TraceReader> open(const std::string& path);
  /// Reads bytes at hand; `name` stands for the path in messages. `format` skips the detection.
  static core::Result<TraceReader> open(std::unique_ptr<ByteInput> input,
                                        std::string name,
                                        const TraceFormat* format = nullptr,
                                        LineLimits limits = {});
  /// Reads lines of a known format.
  static core::Result<TraceReader> open(LineReader lines,
                                        std::string name,
                                        const TraceFormat& format);

  /// The next row. kBadRow: its problems are in errors(), and the next call goes on with the row
  /// after it, until kMaxTraceProblems are noted; reading then ends. A file with no row at all is a
  /// problem too. Rows that were left out (RowStatus::kLeftOut) do not appear.
  Status next(TraceRow& row);

  /// Forgets the problems so far: the caller has taken note of them and goes on.
  void clear_errors() { errors_.clear(); }
  /// Whether the file cannot be read further (and not only a row of it).
  [[nodiscard]] bool broken() const { return broken_; }
  [[nodiscard]] const TraceFormat& format() const { return *format_; }
  [[nodiscard]] const RowParser& parser() const { return *parser_; }
  [[nodiscard]] const core::Errors& errors() const { return errors_; }

 private:
  TraceReader(LineReader lines, std::string name, const TraceFormat& format);

  Status stop(std::string message);
  bool in_order(const TraceRow& row);
  Status late(std::string_view text, const TraceRow& row);

  LineReader lines_;
  std::string name_;
  const TraceFormat* format_;
  std::unique_ptr<RowParser> parser_;
  core::Errors errors_;
  core::Duration previous_;
  std::int32_t stage_ = 0;
  std::int64_t rows_ = 0;
  bool ended_ = false;
  bool broken_ = false;
};

/// The format of a file by its first bytes; fails with what is known.
core::Result<const TraceFormat*> detect_format(std::string_view head, const std::string& name);

}  // namespace ridgeline::workload
