#include "openai/sse_parser.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>

#include "core/text.hpp"

namespace ridgeline::openai {

bool SseParser::feed(std::string_view bytes, const Handler& handler) {
  if (!problem_.empty()) {
    return false;
  }
  read_ += bytes.size();
  if (read_ > limits_.stream_bytes) {
    return refuse("the stream", limits_.stream_bytes);
  }
  while (!bytes.empty()) {
    if (after_cr_) {
      after_cr_ = false;
      if (bytes.front() == '\n') {
        bytes.remove_prefix(1);
        continue;
      }
    }
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    if (line_.size() + end > limits_.line_bytes) {
      return refuse("a line", limits_.line_bytes);
    }
    if (end == bytes.size()) {
      line_.append(bytes);
      return true;
    }
    after_cr_ = bytes[end] == '\r';
    std::string_view line = bytes.substr(0, end);
    if (!line_.empty()) {
      line_.append(line);
      line = line_;
    }
    if (!take_line(line, handler)) {
      return false;
    }
    line_.clear();
    bytes.remove_prefix(end + 1);
  }
  return true;
}

void SseParser::end(const Handler& handler) {
  if (!problem_.empty()) {
    return;
  }
  if (!line_.empty() && !take_line(line_, handler)) {
    return;
  }
  line_.clear();
  dispatch(handler);
}

bool SseParser::take_line(std::string_view line, const Handler& handler) {
  if (first_line_) {
    first_line_ = false;
    line = core::without_byte_order_mark(line);
  }
  if (line.empty()) {
    dispatch(handler);
    return true;
  }
  const std::size_t colon = line.find(':');
  if (colon == 0) {
    return true;  // A comment.
  }
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) {
    value.remove_prefix(1);
  }
  return take_field(line.substr(0, colon), value);
}

bool SseParser::take_field(std::string_view name, std::string_view value) {
  if (name == "data") {
    if (data_.size() + value.size() + 1 > limits_.event_bytes) {
      return refuse("an event", limits_.event_bytes);
    }
    if (has_data_) {
      data_ += '\n';
    }
    data_ += value;
    has_data_ = true;
  } else if (name == "event") {
    type_ = value;
  }
  return true;  // `id`, `retry` and what the standard does not know say nothing of an answer.
}

void SseParser::dispatch(const Handler& handler) {
  if (has_data_) {
    handler({.type = type_, .data = data_});
  }
  data_.clear();
  type_.clear();
  has_data_ = false;
}

bool SseParser::refuse(std::string_view what, std::size_t limit) {
  problem_ = fmt::format("{} of more than {} bytes", what, limit);
  return false;
}

}  // namespace ridgeline::openai
