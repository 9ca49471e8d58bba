// One flat JSON object a line, with our three keys in any order. The numbers are read from their
// text, not through a double, so that 0.1 s is exactly 10^11 picoseconds; that is why this reader
// is our own.
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/text.hpp"
#include "workload/traces/fields.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/request_columns.hpp"

namespace ridgeline::workload {
namespace {

/// Walks over the text of one line.
class Cursor {
 public:
  explicit Cursor(const TraceLine& line) : line_(&line), rest_(line.text()) {}

  /// Takes one of the characters, after white space; anything else is a problem.
  bool take(std::string_view wanted, char* taken = nullptr) {
    skip_space();
    if (rest_.empty() || wanted.find(rest_[0]) == std::string_view::npos) {
      std::string expected;
      for (const char c : wanted) {
        expected += fmt::format("{}'{}'", expected.empty() ? "" : " or ", c);
      }
      return unexpected(expected);
    }
    if (taken != nullptr) {
      *taken = rest_[0];
    }
    rest_.remove_prefix(1);
    return true;
  }

  /// Takes a string without escapes: our keys need none.
  bool take_key(std::string_view& key) {
    skip_space();
    if (!rest_.starts_with('"')) {
      return unexpected("a key in double quotes");
    }
    const std::size_t end = rest_.find('"', 1);
    if (end == std::string_view::npos) {
      rest_ = rest_.substr(rest_.size());
      return unexpected("the end of the key");
    }
    key = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return true;
  }

  /// Takes the text of a number; other kinds of values are a problem.
  bool take_number(std::string_view column, std::string_view& number) {
    skip_space();
    if (rest_.empty() || !is_number_start(rest_[0])) {
      return unexpected("a number", column);
    }
    number = rest_.substr(0, rest_.find_first_of(",} \t"));
    rest_.remove_prefix(number.size());
    const std::string_view unsigned_part = number.substr(number.starts_with('-') ? 1 : 0);
    if (unsigned_part.size() > 1 && unsigned_part[0] == '0' && unsigned_part[1] >= '0' &&
        unsigned_part[1] <= '9') {
      line_->problem(column, number, core::quote(number), "a number without leading zeros");
      return false;
    }
    return true;
  }

  bool at_end() {
    skip_space();
    return rest_.empty() || unexpected("the end of the line");
  }

 private:
  static bool is_number_start(char c) { return c == '-' || (c >= '0' && c <= '9'); }

  void skip_space() {
    while (rest_.starts_with(' ') || rest_.starts_with('\t')) {
      rest_.remove_prefix(1);
    }
  }

  bool unexpected(std::string_view expected, std::string_view column = {}) {
    line_->problem(
        column, rest_, rest_.empty() ? "the end of the line" : core::quote(rest_), expected);
    return false;
  }

  const TraceLine* line_;
  std::string_view rest_;
};

class RequestJsonlParser final : public RowParser {
 public:
  bool row(const TraceLine& line, TraceRow& row) override {
    if (line.text().empty()) {
      line.problem("", line.text(), "an empty line", "a JSON object");
      return false;
    }
    Cursor cursor(line);
    RequestColumns::Seen seen{};
    if (!cursor.take("{")) {
      return false;
    }
    bool sound = true;
    for (char next = ','; next == ',';) {
      std::string_view key;
      std::string_view number;
      if (!cursor.take_key(key)) {
        return false;
      }
      const auto column = RequestColumns::find(line, key, seen);
      if (!cursor.take(":") || !cursor.take_number(column ? key : std::string_view(), number)) {
        return false;
      }
      sound = column && RequestColumns::read(line, *column, number, row) && sound;
      if (!cursor.take(",}", &next)) {
        return false;
      }
    }
    if (!cursor.at_end()) {
      return false;
    }
    return RequestColumns::all_seen(line, seen) && sound;
  }
};

bool detect_jsonl(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t");
  return first != std::string_view::npos && head[first] == '{';
}

}  // namespace

const TraceFormat kRequestJsonl = {
    .name = "request-jsonl",
    .summary = "JSON lines with the keys arrival_s, input_tokens, output_tokens",
    .arrival_column = RequestColumns::kNames[0],
    .has_header = false,
    .detect = detect_jsonl,
    .make_parser =
        [] { return std::unique_ptr<RowParser>(std::make_unique<RequestJsonlParser>()); },
};

}  // namespace ridgeline::workload
