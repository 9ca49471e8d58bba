#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/statistics/quantiles.hpp"
#include "document/document.hpp"
#include "lab/studies/expression.hpp"
#include "lab/studies/lab.hpp"

namespace ridgeline::studies {
namespace {

constexpr std::int64_t kMostItems = 1'000'000;

core::Result<Value> wrong(const Value& found, const char* expected) {
  return core::fail({.message = fmt::format("found {}, expected {}", found.describe(), expected)});
}

/// A function of a number.
Function of_number(const char* name, double (*run)(double)) {
  return {.name = name, .run = [run](const Given& given) -> core::Result<Value> {
            const Value& value = given.values[0];
            return value.is_number() ? Value::real(run(value.as_real()), {})
                                     : wrong(value, "a number");
          }};
}

/// A function of a list.
Function of_list(const char* name, core::Result<Value> (*run)(const std::vector<Value>& items)) {
  return {.name = name, .run = [run](const Given& given) -> core::Result<Value> {
            return given.values[0].is_list() ? run(given.values[0].items())
                                             : wrong(given.values[0], "a list");
          }};
}

bool before(const Value& a, const Value& b) {
  return a.is_string() && b.is_string() ? a.as_string() < b.as_string() : a.as_real() < b.as_real();
}

core::Result<void> comparable(const std::vector<Value>& items) {
  for (const Value& item : items) {
    if (!item.is_number() && !(item.is_string() && items.front().is_string())) {
      return core::fail(
          {.message = fmt::format("found {} in the list, expected numbers", item.describe())});
    }
  }
  return {};
}

/// min and max: of a list, or of the values given.
Function extreme(const char* name, bool largest) {
  return {.name = name, .most = 100, .run = [largest](const Given& given) -> core::Result<Value> {
            const bool of_one = given.values.size() == 1 && given.values[0].is_list();
            const auto& items = of_one ? given.values[0].items() : given.values;
            if (const auto fits = comparable(items); !fits) {
              return core::fail(fits.error());
            }
            if (items.empty()) {
              return core::fail({.message = "found an empty list"});
            }
            return largest ? *std::ranges::max_element(items, before)
                           : *std::ranges::min_element(items, before);
          }};
}

core::Result<Value> sum(const std::vector<Value>& items) {
  if (const auto fits = comparable(items); !fits) {
    return core::fail(fits.error());
  }
  double real = 0.0;
  std::int64_t whole = 0;
  bool is_whole = true;
  for (const Value& item : items) {
    if (item.is_string()) {
      return wrong(item, "numbers");
    }
    is_whole = is_whole && item.kind() == Value::Kind::kInteger &&
               !__builtin_add_overflow(whole, item.as_integer(), &whole);
    real += item.as_real();
  }
  return is_whole ? Value::integer(whole, {}) : Value::real(real, {});
}

core::Result<Value> mean(const std::vector<Value>& items) {
  const auto total = sum(items);
  if (!total || items.empty()) {
    return total ? core::fail({.message = "found an empty list"}) : total;
  }
  return Value::real(total->as_real() / static_cast<double>(items.size()), {});
}

core::Result<Value> unique(const std::vector<Value>& items) {
  std::vector<Value> found;
  for (const Value& item : items) {
    if (std::ranges::none_of(found, [&](const Value& one) { return equal(one, item); })) {
      found.push_back(item);
    }
  }
  return Value::list(std::move(found), {});
}

template <bool All>
core::Result<Value> truths(const std::vector<Value>& items) {
  bool found = All;
  for (const Value& item : items) {
    if (item.kind() != Value::Kind::kBool) {
      return wrong(item, "a list of true and false");
    }
    found = All ? found && item.as_bool() : found || item.as_bool();
  }
  return Value::boolean(found, {});
}

core::Result<Value> sorted(const Given& given) {
  if (!given.values[0].is_list()) {
    return wrong(given.values[0], "a list");
  }
  std::vector<Value> items = given.values[0].items();
  const Value* by = given.keyword("by");
  std::vector<std::pair<Value, Value>> keyed;
  std::vector<Value> keys;
  for (Value& item : items) {
    const Value* key = by != nullptr && by->is_string() ? item.find(by->as_string()) : &item;
    keys.push_back(key == nullptr ? Value() : *key);
    keyed.emplace_back(keys.back(), item);
  }
  if (const auto fits = comparable(keys); !fits) {
    return core::fail(fits.error());
  }
  std::ranges::stable_sort(keyed, before, &std::pair<Value, Value>::first);
  items.clear();
  for (auto& [key, item] : keyed) {
    items.push_back(std::move(item));
  }
  return Value::list(std::move(items), {});
}

/// round(x): a whole number, halves away from zero; round(x, n): the nearest of n decimals.
core::Result<Value> round(const Given& given) {
  if (!given.values[0].is_number() ||
      (given.values.size() == 2 && given.values[1].kind() != Value::Kind::kInteger)) {
    return wrong(given.values.back(), "a number, and how many decimals");
  }
  const double value = given.values[0].as_real();
  if (given.values.size() == 1) {
    return Value::integer(std::llround(value), {});
  }
  constexpr std::int64_t kMostDecimals = 15;
  const std::int64_t decimals = given.values[1].as_integer();
  return Value::real(
      rounded(value, static_cast<int>(std::clamp<std::int64_t>(decimals, 0, kMostDecimals))), {});
}

core::Result<Value> range(const Given& given) {
  for (const Value& value : given.values) {
    if (value.kind() != Value::Kind::kInteger) {
      return wrong(value, "whole numbers");
    }
  }
  const bool from_zero = given.values.size() == 1;
  const std::int64_t first = from_zero ? 0 : given.values[0].as_integer();
  const std::int64_t end = given.values[from_zero ? 0 : 1].as_integer();
  const std::int64_t by = given.values.size() == 3 ? given.values[2].as_integer() : 1;
  std::vector<Value> items;
  for (std::int64_t i = first; by > 0 ? i < end : by < 0 && i > end; i += by) {
    if (std::ssize(items) == kMostItems) {
      return core::fail({.message = "found more than a million numbers"});
    }
    items.push_back(Value::integer(i, {}));
  }
  return Value::list(std::move(items), {});
}

core::Result<Value> percentile(const Given& given) {
  if (!given.values[0].is_list() || !given.values[1].is_number()) {
    return wrong(given.values[0], "a list, and a percentile from 0 to 100");
  }
  std::vector<double> numbers;
  for (const Value& item : given.values[0].items()) {
    if (!item.is_number()) {
      return wrong(item, "a list of numbers");
    }
    numbers.push_back(item.as_real());
  }
  const double share = given.values[1].as_real() / 100.0;
  if (numbers.empty() || share < 0.0 || share > 1.0) {
    return wrong(given.values[1], "a percentile from 0 to 100 of a list that is not empty");
  }
  std::ranges::sort(numbers);
  return Value::real(statistics::sorted_quantile(numbers, share), {});
}

core::Result<Value> join(const Given& given) {
  if (!given.values[0].is_list() || !given.values[1].is_string()) {
    return wrong(given.values[0], "a list, and a text that goes between its items");
  }
  std::string text;
  bool first = true;
  for (const Value& item : given.values[0].items()) {
    text += (first ? "" : given.values[1].as_string()) + text_of(item);
    first = false;
  }
  return Value::string(text, {});
}

/// The place of an item in a list; null where it is not there.
core::Result<Value> index(const Given& given) {
  if (!given.values[0].is_list()) {
    return wrong(given.values[0], "a list");
  }
  const auto& items = given.values[0].items();
  const auto found =
      std::ranges::find_if(items, [&](const Value& one) { return equal(one, given.values[1]); });
  return found == items.end() ? Value() : Value::integer(found - items.begin(), {});
}

core::Result<Value> length(const Given& given) {
  const Value& value = given.values[0];
  return value.is_list()     ? Value::integer(std::ssize(value.items()), {})
         : value.is_map()    ? Value::integer(std::ssize(value.members()), {})
         : value.is_string() ? Value::integer(std::ssize(value.as_string()), {})
                             : wrong(value, "a list, a map or a text");
}

core::Result<Value> absolute(const Given& given) {
  const Value& value = given.values[0];
  return value.kind() == Value::Kind::kInteger ? Value::integer(std::abs(value.as_integer()), {})
         : value.is_number()                   ? Value::real(std::abs(value.as_real()), {})
                                               : wrong(value, "a number");
}

}  // namespace

const std::vector<Function>& plain_functions() {
  static const std::vector<Function> kFunctions = {
      {.name = "abs", .run = absolute},
      of_list("all", truths<true>),
      of_list("any", truths<false>),
      {.name = "index", .least = 2, .most = 2, .run = index},
      {.name = "int",
       .run = [](const Given& given) -> core::Result<Value> {
         return given.values[0].is_number()
                    ? Value::integer(static_cast<std::int64_t>(given.values[0].as_real()), {})
                    : wrong(given.values[0], "a number");
       }},
      {.name = "join", .least = 2, .most = 2, .run = join},
      {.name = "len", .run = length},
      of_number("log", std::log),
      extreme("max", true),
      of_list("mean", mean),
      extreme("min", false),
      {.name = "otherwise",
       .least = 2,
       .most = 2,
       .run = [](const Given& given) -> core::Result<Value> {
         return given.values[given.values[0].is_null() ? 1 : 0];
       }},
      {.name = "percentile", .least = 2, .most = 2, .run = percentile},
      {.name = "range", .most = 3, .run = range},
      {.name = "round", .most = 2, .run = round},
      {.name = "sorted", .keywords = {"by"}, .run = sorted},
      of_number("sqrt", std::sqrt),
      of_list("sum", sum),
      of_list("unique", unique),
  };
  return kFunctions;
}

}  // namespace ridgeline::studies
