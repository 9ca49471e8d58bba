#include "lab/studies/expression_values.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "document/document.hpp"
#include "lab/studies/expression.hpp"

namespace ridgeline::studies {

std::optional<std::string> figure_text(const Value& value, const std::string& format) {
  if (format.empty()) {
    return text_of(value);
  }
  const bool real = format.find_first_of("fegFEG%") != std::string::npos;
  try {
    if (value.kind() == Value::Kind::kInteger && !real) {
      return fmt::format(fmt::runtime("{:" + format + "}"), value.as_integer());
    }
    if (value.is_number()) {
      return fmt::format(fmt::runtime("{:" + format + "}"), value.as_real());
    }
  } catch (const fmt::format_error&) {
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Value> of_whole(std::string_view sign, std::int64_t a, std::int64_t b) {
  std::int64_t found = 0;
  const bool over = sign == "+"   ? __builtin_add_overflow(a, b, &found)
                    : sign == "-" ? __builtin_sub_overflow(a, b, &found)
                    : sign == "*" ? __builtin_mul_overflow(a, b, &found)
                                  : b == -1;
  if (over) {
    return std::nullopt;
  }
  if (sign == "//" || sign == "%") {
    const std::int64_t rest = (a % b + b) % b;
    found = sign == "%" ? rest : (a - rest) / b;
  }
  return Value::integer(found, {});
}

Value of_real(std::string_view sign, double a, double b) {
  const double found = sign == "+"    ? a + b
                       : sign == "-"  ? a - b
                       : sign == "*"  ? a * b
                       : sign == "/"  ? a / b
                       : sign == "//" ? std::floor(a / b)
                                      : a - std::floor(a / b) * b;
  return Value::real(found, {});
}

std::optional<int> order_of(const Value& a, const Value& b) {
  if (both_whole(a, b)) {
    return a.as_integer() < b.as_integer() ? -1 : a.as_integer() > b.as_integer() ? 1 : 0;
  }
  if (a.is_number() && b.is_number()) {
    return a.as_real() < b.as_real() ? -1 : a.as_real() > b.as_real() ? 1 : 0;
  }
  if (a.is_string() && b.is_string()) {
    return a.as_string().compare(b.as_string());
  }
  return std::nullopt;
}

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    return *order_of(a, b) == 0;
  }
  if (a.kind() != b.kind()) {
    return false;
  }
  switch (a.kind()) {
    case Value::Kind::kBool:
      return a.as_bool() == b.as_bool();
    case Value::Kind::kString:
      return a.as_string() == b.as_string();
    case Value::Kind::kList:
      return std::ranges::equal(a.items(), b.items(), equal);
    case Value::Kind::kMap:
      return std::ranges::equal(
          a.members(), b.members(), [](const Value::Member& one, const Value::Member& two) {
            return one.key == two.key && equal(one.value, two.value);
          });
    default:
      return true;
  }
}

std::string text_of(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kNull:
      return "nothing";
    case Value::Kind::kBool:
      return value.as_bool() ? "true" : "false";
    case Value::Kind::kInteger:
      return fmt::format("{}", value.as_integer());
    case Value::Kind::kReal:
      return fmt::format("{}", value.as_real());
    case Value::Kind::kString:
      return value.as_string();
    case Value::Kind::kList: {
      std::string text;
      for (const Value& item : value.items()) {
        text += (text.empty() ? "" : ", ") + text_of(item);
      }
      return text;
    }
    case Value::Kind::kMap:
      return "a map";
  }
  return {};
}

}  // namespace ridgeline::studies
