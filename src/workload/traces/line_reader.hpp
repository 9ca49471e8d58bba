#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <memory>
#include <string_view>
#include <vector>

namespace ridgeline::workload {

/// Reads text line by line through one buffer of fixed size: memory does not follow the size of the
/// file. Lines end in LF or CRLF; the last one need not end at all. A UTF-8 byte order mark is
/// skipped.
class LineReader {
 public:
  /// The buffer, and so the longest line that is read.
  static constexpr std::size_t kBlockBytes = std::size_t{256} * 1024;

  enum class Status : std::uint8_t { kLine, kEnd, kTooLong, kReadError };

  explicit LineReader(std::unique_ptr<std::istream> input, std::size_t block_bytes = kBlockBytes);

  /// The bytes at the start of the input, at most a block of them. Call before the first next().
  std::string_view head();

  /// The next line without its end; the view holds until the next call. After kTooLong or
  /// kReadError there is nothing more to read.
  Status next(std::string_view& line);

  /// The number of the line last returned, from 1.
  [[nodiscard]] std::int64_t number() const { return number_; }
  [[nodiscard]] std::size_t block_bytes() const { return buffer_.size(); }

 private:
  void fill();

  std::unique_ptr<std::istream> input_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::int64_t number_ = 0;
  bool at_end_ = false;
};

}  // namespace ridgeline::workload
