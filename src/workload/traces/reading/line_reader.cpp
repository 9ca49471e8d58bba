#include "workload/traces/reading/line_reader.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/result.hpp"
#include "workload/traces/reading/byte_input.hpp"

namespace ridgeline::workload {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

LineReader::LineReader(std::unique_ptr<ByteInput> input, LineLimits limits)
    : input_(std::move(input)),
      limits_(limits),
      buffer_(std::max(limits.block_bytes, kByteOrderMark.size())) {
  limits_.line_bytes = std::max(limits_.line_bytes, buffer_.size());
}

std::string_view LineReader::head() {
  if (end_ == 0 && !at_end_) {
    fill();
    if (std::string_view(buffer_.data(), end_).starts_with(kByteOrderMark)) {
      begin_ = kByteOrderMark.size();
    }
  }
  return {buffer_.data() + begin_, end_ - begin_};
}

void LineReader::fill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  const std::size_t wanted = buffer_.size() - end_;
  const std::size_t got = input_->read(buffer_.data() + end_, wanted);
  end_ += got;
  at_end_ = got < wanted;
}

LineReader::Status LineReader::next(std::string_view& line) {
  head();
  std::size_t searched = 0;
  for (;;) {
    const char* const start = buffer_.data() + begin_;
    const std::size_t available = end_ - begin_;
    const void* const newline = std::memchr(start + searched, '\n', available - searched);
    if (newline != nullptr) {
      line = {start, static_cast<std::size_t>(static_cast<const char*>(newline) - start)};
      begin_ += line.size() + 1;
      break;
    }
    if (at_end_) {
      if (!input_->problem().empty()) {
        return Status::kReadError;
      }
      if (available == 0) {
        return Status::kEnd;
      }
      line = {start, available};
      begin_ = end_;
      break;
    }
    searched = available;
    if (available == buffer_.size()) {
      if (buffer_.size() == limits_.line_bytes) {
        return Status::kTooLong;
      }
      buffer_.resize(std::min(2 * buffer_.size(), limits_.line_bytes));
    }
    fill();
  }
  ++number_;
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return Status::kLine;
}

core::Result<std::string> LineReader::rest(const std::string& name) {
  std::string text(head());
  begin_ = end_;
  if (!at_end_) {
    auto more = read_whole(*input_, name);
    if (!more) {
      return more;
    }
    text += *more;
  } else if (!input_->problem().empty()) {
    return core::fail(
        core::Error{.message = std::string(input_->problem()), .where = {.file = name}});
  }
  at_end_ = true;
  return text;
}

}  // namespace ridgeline::workload
