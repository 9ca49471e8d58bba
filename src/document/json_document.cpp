#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <simdjson.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "document/document.hpp"

namespace ridgeline::document {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr std::size_t kFewMembers = 4;  ///< Most maps have as many, and grow to them one by one.
constexpr std::string_view kSpace = " \t\r\n";  // RFC 8259, section 2
constexpr std::string_view kExpectedValue = "a value";
constexpr std::string_view kExpectedInList = "',' or ']'";
constexpr std::string_view kExpectedInMap = "a key in quotes, ':', ',' or '}'";

/// What a person would call the token at `at`: up to white space or punctuation, or one punctuation
/// sign.
std::string_view token_at(std::string_view text, std::size_t at) {
  const std::size_t end = std::min(text.find_first_of(" \t\r\n,:[]{}", at), text.size());
  return text.substr(at, std::max<std::size_t>(end - at, 1));
}

std::string found_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) {
    return "the end of the text";
  }
  return text[at] == '"' ? "a string" : core::quote(token_at(text, at));
}

bool is_non_finite(std::string_view token) {
  return token == "NaN" || token == "Infinity" || token == "-Infinity";
}

bool is_too_large(std::string_view token) {
  double value = 0.0;
  const char* const end = token.data() + token.size();
  const auto parsed = std::from_chars(token.data(), end, value);
  return parsed.ec == std::errc::result_out_of_range && parsed.ptr == end;
}

/// Where the first string holds a bare control character, or the opening quote of one that never
/// closes.
std::size_t bad_string(std::string_view text) {
  std::size_t opened = std::string_view::npos;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (opened == std::string_view::npos) {
      opened = text[at] == '"' ? at : opened;
    } else if (static_cast<unsigned char>(text[at]) < 0x20) {
      return at;
    } else if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      opened = std::string_view::npos;
    }
  }
  return opened;
}

bool is_one_of(std::span<const std::string_view> keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

/// Takes the best implementation for this processor. Left to itself, simdjson asks the environment
/// (SIMDJSON_FORCE_IMPLEMENTATION), which a library's host does not expect.
void choose_implementation() {
  static const bool kIsChosen = [] {
    for (const simdjson::implementation* one : simdjson::get_available_implementations()) {
      if (one->supported_by_runtime_system()) {
        simdjson::get_active_implementation() = one;
        return true;
      }
    }
    return false;
  }();
  RIDGELINE_CHECK(kIsChosen, "simdjson has an implementation for every processor");
}

/// Walks one document from front to back. simdjson checks only what is read, so everything is.
class JsonReader {
 public:
  JsonReader(std::string_view text, const std::string& file, const JsonOptions& options)
      : padded_(text), text_(padded_), positions_(text_), file_(file), options_(options) {}

  core::Result<Node> read() {
    choose_implementation();
    ondemand::document document;
    if (const auto error = parser_.iterate(padded_).get(document)) {
      return unreadable(error);
    }
    core::Result<Node> root = root_value(document);
    if (root) {
      const std::size_t rest = rest_after(document, *root);
      return rest == std::string_view::npos ? std::move(root) : trailing(rest);
    }
    return root;
  }

 private:
  core::Result<Node> root_value(ondemand::document& document) {
    ondemand::value value;
    switch (document.get_value().get(value)) {
      case simdjson::SUCCESS:
        return read_value(document, value, 1);
      case simdjson::SCALAR_DOCUMENT_AS_VALUE:
        return read_scalar(document, document, text_.find_first_not_of(kSpace));
      default:
        return unexpected(document, kExpectedValue);
    }
  }

  /// Where more text stands after the root, or npos.
  std::size_t rest_after(ondemand::document& document, const Node& root) {
    if (root.is_null() || root.kind() == Node::Kind::kBool) {
      const std::size_t start = text_.find_first_not_of(kSpace);
      return text_.find_first_not_of(kSpace, start + token_at(text_, start).size());
    }
    const char* rest = nullptr;
    return document.current_location().get(rest) == simdjson::SUCCESS ? offset_of(rest)
                                                                      : std::string_view::npos;
  }

  // Recursion ends at kMaxDocumentDepth.
  core::Result<Node> read_value(ondemand::document& document, ondemand::value value, int depth) {
    const std::size_t at = offset_of(value.raw_json_token().data());
    if (++nodes_ > kMaxDocumentNodes) {
      return fail_at(at, fmt::format("holds more than {} values", kMaxDocumentNodes));
    }
    ondemand::json_type type{};
    if (value.type().get(type) != simdjson::SUCCESS) {
      return odd_value(document, at);
    }
    const bool nests = type == ondemand::json_type::array || type == ondemand::json_type::object;
    if (nests && depth > kMaxDocumentDepth) {
      return fail_at(at, fmt::format("nests deeper than {} levels", kMaxDocumentDepth));
    }
    if (type == ondemand::json_type::array) {
      return read_list(document, value, at, depth);
    }
    if (type == ondemand::json_type::object) {
      return read_map(document, value, at, depth);
    }
    return read_scalar(document, value, at);
  }

  core::Result<Node> read_list(ondemand::document& document,
                               ondemand::value value,
                               std::size_t at,
                               int depth) {
    const bool ends_only = std::exchange(ends_only_, false);
    ondemand::array array;
    if (value.get_array().get(array) != simdjson::SUCCESS) {
      return unexpected(document, kExpectedInList);
    }
    core::Location where = location(at);
    std::vector<Node> items;
    for (auto element : array) {
      ondemand::value item;
      if (std::move(element).get(item) != simdjson::SUCCESS) {
        return unexpected(document, kExpectedInList);
      }
      core::Result<Node> read = read_value(document, item, depth + 1);
      if (!read) {
        return read;
      }
      if (ends_only && items.size() == 2) {
        items.pop_back();
        --nodes_;
      }
      items.push_back(*std::move(read));
    }
    return Node::list(std::move(items), std::move(where));
  }

  core::Result<Node> read_map(ondemand::document& document,
                              ondemand::value value,
                              std::size_t at,
                              int depth) {
    ondemand::object object;
    if (value.get_object().get(object) != simdjson::SUCCESS) {
      return unexpected(document, kExpectedInMap);
    }
    core::Location where = location(at);
    std::vector<Node::Member> members;
    members.reserve(kFewMembers);
    for (auto element : object) {
      ondemand::field field;
      if (std::move(element).get(field) != simdjson::SUCCESS) {
        return unexpected(document, kExpectedInMap);
      }
      const std::size_t key_at = offset_of(field.key().raw()) - 1;  // raw() is past the quote
      std::string_view key;
      if (field.unescaped_key().get(key) != simdjson::SUCCESS) {
        return bad_escape(key_at);
      }
      std::string name(key);
      if (is_one_of(options_.stepped_over, name)) {
        continue;
      }
      core::Location key_where = location(key_at);
      ends_only_ = is_one_of(options_.ends_of, name);
      core::Result<Node> read = read_value(document, field.value(), depth + 1);
      ends_only_ = false;
      if (!read) {
        return read;
      }
      members.push_back({std::move(name), *std::move(read), std::move(key_where)});
    }
    return Node::map(std::move(members), std::move(where));
  }

  /// `Source` is the document when it is one scalar, else a value.
  template <class Source>
  core::Result<Node> read_scalar(ondemand::document& document, Source& source, std::size_t at) {
    ondemand::json_type type{};
    if (source.type().get(type) != simdjson::SUCCESS) {
      return odd_value(document, at);
    }
    if (type == ondemand::json_type::string) {
      std::string_view text;
      if (source.get_string().get(text) != simdjson::SUCCESS) {
        return bad_escape(at);
      }
      return Node::string(std::string(text), location(at));
    }
    if (type == ondemand::json_type::number) {
      return read_number(document, source, at);
    }
    // simdjson 3.0 takes "nullx " for null and refuses "null\r" at the top. A value that it did not
    // read is stepped over.
    const std::string_view token = token_at(text_, at);
    if (token == "true" || token == "false") {
      return Node::boolean(token == "true", location(at));
    }
    return token == "null" ? Node::null(location(at)) : odd_value(document, at);
  }

  template <class Source>
  core::Result<Node> read_number(ondemand::document& document, Source& source, std::size_t at) {
    std::int64_t integer = 0;
    simdjson::error_code error = source.get_int64().get(integer);
    if (error == simdjson::SUCCESS) {
      return Node::integer(integer, location(at));
    }
    double real = 0.0;
    if (error != simdjson::TRAILING_CONTENT) {
      error = source.get_double().get(real);
    }
    if (error == simdjson::SUCCESS) {
      return Node::real(real, location(at));
    }
    if (error == simdjson::TRAILING_CONTENT) {
      const std::size_t end = text_.find_first_not_of("0123456789+-.eE", at);
      return trailing(text_.find_first_not_of(kSpace, end));
    }
    return odd_value(document, at);
  }

  /// A token that is no JSON value.
  core::Result<Node> odd_value(ondemand::document& document, std::size_t at) {
    const std::string_view token = token_at(text_, at);
    const bool at_root = at == text_.find_first_not_of(kSpace);
    if (is_non_finite(token)) {
      if (options_.non_finite == NonFinite::kReadAsNull && !at_root) {
        return Node::null(location(at));
      }
      return fail_at(at, fmt::format("{} is not JSON, expected a finite number or null", token));
    }
    if (is_too_large(token)) {
      return fail_at(at, fmt::format("{} is outside the range of a double", core::quote(token)));
    }
    const bool last = text_.find_last_not_of(kSpace) < at + token.size();
    if (!at_root && last && token.find_first_of("]}") == std::string_view::npos) {
      return cut_short();
    }
    return unexpected(document, kExpectedValue);
  }

  /// simdjson could not even split the text into tokens.
  core::Result<Node> unreadable(simdjson::error_code error) {
    switch (error) {
      case simdjson::UTF8_ERROR:
        return fail_at(core::valid_utf8_prefix(text_), "invalid UTF-8");
      case simdjson::UNCLOSED_STRING:
        return fail_at(bad_string(text_), "a string is never closed");
      case simdjson::UNESCAPED_CHARS:
        return fail_at(bad_string(text_), "a string holds a bare control character");
      case simdjson::EMPTY:
        return fail_at(0, "is empty, expected a JSON document");
      default:
        return fail_at(0, fmt::format("cannot be read: {}", simdjson::error_message(error)));
    }
  }

  core::Result<Node> bad_escape(std::size_t at) {
    return fail_at(at, "a string holds an escape that JSON does not have");
  }

  core::Result<Node> trailing(std::size_t at) {
    return fail_at(at, fmt::format("expected the end of the text, found {}", found_at(text_, at)));
  }

  /// Something else stands where simdjson stopped; it cannot say where when it ran off the end.
  core::Result<Node> unexpected(ondemand::document& document, std::string_view expected) {
    const char* where = nullptr;
    if (document.current_location().get(where) != simdjson::SUCCESS ||
        offset_of(where) >= text_.size()) {
      return cut_short();
    }
    const std::size_t at = offset_of(where);
    return fail_at(at, fmt::format("expected {}, found {}", expected, found_at(text_, at)));
  }

  core::Result<Node> cut_short() {
    return fail_at(text_.size(), "the text ends before its list or map is closed");
  }

  [[nodiscard]] std::size_t offset_of(const char* at) const {
    RIDGELINE_CHECK(
        at >= text_.data() && at <= text_.data() + text_.size() + simdjson::SIMDJSON_PADDING,
        "a JSON position outside its text");
    return static_cast<std::size_t>(at - text_.data());
  }

  core::Location location(std::size_t at) {
    const auto position = positions_.at(at);
    return {.file = file_, .line = position.line, .column = position.column};
  }

  core::Result<Node> fail_at(std::size_t at, std::string message) {
    return core::fail(core::Error{.message = std::move(message), .where = location(at)});
  }

  simdjson::padded_string padded_;
  std::string_view text_;
  core::TextPositions positions_;
  core::FileName file_;
  const JsonOptions& options_;
  ondemand::parser parser_;
  std::size_t nodes_ = 0;
  bool ends_only_ = false;  ///< Whether only the ends of the list that is read next are kept.
};

}  // namespace

core::Result<Node> parse_json(std::string_view text,
                              const std::string& file,
                              NonFinite non_finite) {
  return parse_json(text, file, JsonOptions{.non_finite = non_finite});
}

core::Result<Node> parse_json(std::string_view text,
                              const std::string& file,
                              const JsonOptions& options) {
  if (text.size() > options.most_bytes) {
    return core::fail(core::Error{
        .message = fmt::format("is larger than the limit of {} bytes", options.most_bytes),
        .where = {.file = file}});
  }
  return JsonReader(core::without_byte_order_mark(text), file, options).read();
}

}  // namespace ridgeline::document
