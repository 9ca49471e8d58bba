#include "openai/body.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <simdjson.h>

#include "core/parse.hpp"
#include "openai/api_error.hpp"

namespace ridgeline::openai {

ApiResult<Body> Body::parse(std::string_view text) {
  Body body;
  body.parser_ = std::make_unique<simdjson::dom::parser>();
  const auto unread = [](simdjson::error_code code) {
    if (code == simdjson::MEMALLOC) {
      return tl::unexpected(out_of_memory());
    }
    return tl::unexpected(bad_request(
        fmt::format("[{{'type': 'json_invalid', 'loc': ('body', 0), 'msg': 'JSON decode error', "
                    "'ctx': {{'error': '{}'}}}}]",
                    simdjson::error_message(code))));
  };
  if (const auto code = body.parser_->allocate(text.size() + 1, kDeepestBody);
      code != simdjson::SUCCESS) {
    return unread(code);
  }
  simdjson::dom::element root;
  if (const auto code = body.parser_->parse(text.data(), text.size()).get(root);
      code != simdjson::SUCCESS) {
    return unread(code);
  }
  if (root.get(body.object_) != simdjson::SUCCESS) {
    return tl::unexpected(
        bad_request("[{'type': 'model_attributes_type', 'loc': ('body',), 'msg': 'Input should be "
                    "a valid dictionary or object to extract fields from'}]",
                    "body"));
  }
  return body;
}

void BodyReader::fail(std::string_view key, std::string_view expected) {
  fail(bad_request(
      fmt::format("[{{'type': 'value_error', 'loc': ('body', '{}'), 'msg': 'Input should be {}'}}]",
                  key,
                  expected),
      fmt::format("body.{}", key)));
}

void BodyReader::fail(ApiError error) {
  if (!error_) {
    error_ = std::move(error);
  }
}

void BodyReader::integer(std::string_view key,
                         Element element,
                         std::int64_t& value,
                         std::int64_t lowest) {
  std::int64_t number = 0;
  double real = 0.0;
  std::string_view digits;
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (element.get(number) == simdjson::SUCCESS && !element.is_bool()) {
    value = number;
  } else if (element.get(real) == simdjson::SUCCESS && real >= -kExact && real <= kExact &&
             real == static_cast<double>(static_cast<std::int64_t>(real))) {
    value = static_cast<std::int64_t>(real);
  } else if (element.get(digits) == simdjson::SUCCESS) {
    const auto read = core::parse_whole<std::int64_t>(digits);
    if (!read) {
      fail(key, "a valid integer, unable to parse string as an integer");
      return;
    }
    value = *read;
  } else {
    fail(key, "a valid integer");
    return;
  }
  if (value < lowest) {
    fail(key, fmt::format("greater than or equal to {}", lowest));
  }
}

void BodyReader::integer(std::string_view key,
                         Element element,
                         std::optional<std::int64_t>& value) {
  value.reset();
  if (!is_null(element)) {
    std::int64_t number = 0;
    integer(key, element, number);
    value = number;
  }
}

void BodyReader::number(std::string_view key, Element element, std::optional<double>& value) {
  double number = 0.0;
  if (is_null(element)) {
    return;
  }
  if (element.get(number) != simdjson::SUCCESS) {
    fail(key, "a valid number");
    return;
  }
  value = number;
}

void BodyReader::boolean(std::string_view key, Element element, bool& value) {
  bool flag = false;
  std::int64_t number = 0;
  if (is_null(element)) {
    return;
  }
  if (element.get(flag) == simdjson::SUCCESS) {
    value = flag;
  } else if (element.get(number) == simdjson::SUCCESS && (number == 0 || number == 1)) {
    value = number == 1;
  } else {
    fail(key, "a valid boolean");
  }
}

void BodyReader::text(std::string_view key, Element element, std::string& value) {
  std::string_view view;
  if (element.get(view) == simdjson::SUCCESS) {
    value = view;
  } else if (!is_null(element)) {
    fail(key, "a valid string");
  }
}

void BodyReader::text(std::string_view key, Element element, std::optional<std::string>& value) {
  value.reset();
  if (!is_null(element)) {
    text(key, element, value.emplace());
  }
}

void BodyReader::texts(std::string_view key, Element element, std::vector<std::string>& values) {
  values.clear();
  simdjson::dom::array list;
  if (is_null(element)) {
    return;
  }
  if (element.get(list) != simdjson::SUCCESS) {
    text(key, element, values.emplace_back());
    return;
  }
  for (const Element item : list) {
    std::string_view view;
    if (item.get(view) != simdjson::SUCCESS) {
      fail(key, "a valid string");
      return;
    }
    values.emplace_back(view);
  }
}

void BodyReader::integers(std::string_view key,
                          Element element,
                          std::vector<std::int64_t>& values) {
  values.clear();
  simdjson::dom::array list;
  if (element.get(list) != simdjson::SUCCESS) {
    fail(key, "a valid list");
    return;
  }
  for (const Element item : list) {
    std::int64_t number = 0;
    if (item.get(number) != simdjson::SUCCESS) {
      fail(key, "a valid integer");
      return;
    }
    values.push_back(number);
  }
}

}  // namespace ridgeline::openai
