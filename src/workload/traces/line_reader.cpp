#include "workload/traces/line_reader.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <ios>
#include <istream>
#include <memory>
#include <string_view>
#include <utility>

namespace ridgeline::workload {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

LineReader::LineReader(std::unique_ptr<std::istream> input, std::size_t block_bytes)
    : input_(std::move(input)), buffer_(std::max(block_bytes, kByteOrderMark.size())) {}

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
  input_->read(buffer_.data() + end_, static_cast<std::streamsize>(buffer_.size() - end_));
  end_ += static_cast<std::size_t>(input_->gcount());
  at_end_ = !input_->good();
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
      if (input_->bad()) {
        return Status::kReadError;
      }
      if (available == 0) {
        return Status::kEnd;
      }
      line = {start, available};
      begin_ = end_;
      break;
    }
    if (available == buffer_.size()) {
      return Status::kTooLong;
    }
    searched = available;
    fill();
  }
  ++number_;
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return Status::kLine;
}

}  // namespace ridgeline::workload
