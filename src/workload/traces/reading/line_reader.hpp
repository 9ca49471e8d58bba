#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "workload/traces/reading/byte_input.hpp"

namespace ridgeline::workload {

/// How much is read at once, and the longest line: room for a prompt of some million token ids.
struct LineLimits {
  std::size_t block_bytes = std::size_t{256} * 1024;
  std::size_t line_bytes = std::size_t{64} * 1024 * 1024;
};

/// Reads text line by line through one buffer, which grows to hold the longest line: memory does
/// not follow the size of the file. Lines end in LF or CRLF; the last one need not end at all. A
/// UTF-8 byte order mark is skipped.
class LineReader {
 public:
  enum class Status : std::uint8_t { kLine, kEnd, kTooLong, kReadError };

  explicit LineReader(std::unique_ptr<ByteInput> input, LineLimits limits = {});

  /// The bytes at the start of the input, at most a block of them. Call before the first next().
  std::string_view head();

  /// The next line without its end; the view holds until the next call. After kTooLong or
  /// kReadError there is nothing more to read.
  Status next(std::string_view& line);

  /// The number of the line last returned, from 1.
  [[nodiscard]] std::int64_t number() const { return number_; }
  [[nodiscard]] std::size_t line_bytes() const { return limits_.line_bytes; }
  /// What the input says of kReadError.
  [[nodiscard]] std::string_view input_problem() const { return input_->problem(); }
  /// Everything that has not been read, head() included. Call before the first next().
  core::Result<std::string> rest(const std::string& name);

 private:
  void fill();

  std::unique_ptr<ByteInput> input_;
  LineLimits limits_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::int64_t number_ = 0;
  bool at_end_ = false;
};

}  // namespace ridgeline::workload
