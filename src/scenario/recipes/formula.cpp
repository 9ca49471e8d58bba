#include "scenario/recipes/formula.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"

namespace ridgeline::scenario {
namespace {

/// A value, or nothing where it depends on what is not known.
using Value = std::optional<double>;

struct Function {
  std::string_view name;
  std::size_t arguments;
  double (*apply)(const std::vector<double>& given);
};

constexpr auto kFunctions = std::to_array<Function>({
    {"max", 2, [](const std::vector<double>& x) { return std::max(x[0], x[1]); }},
    {"min", 2, [](const std::vector<double>& x) { return std::min(x[0], x[1]); }},
    {"round_up", 2, [](const std::vector<double>& x) { return std::ceil(x[0] / x[1]) * x[1]; }},
    {"from", 4, [](const std::vector<double>& x) { return x[0] >= x[1] ? x[2] : x[3]; }},
});

/// Recursive descent over sums of products.
class Parser {
 public:
  Parser(std::string_view text, const FormulaInputs& inputs) : rest_(text), inputs_(inputs) {}

  core::Result<Value> whole() {
    const Value value = sum();
    skip_blanks();
    if (problem_.empty() && !rest_.empty()) {
      problem_ = fmt::format("\"{}\" is left over", rest_);
    }
    if (!problem_.empty()) {
      return core::fail(core::Error{.message = problem_});
    }
    return value;
  }

 private:
  void skip_blanks() {
    while (!rest_.empty() && rest_.front() == ' ') {
      rest_.remove_prefix(1);
    }
  }
  bool take(char symbol) {
    skip_blanks();
    if (!rest_.starts_with(symbol)) {
      return false;
    }
    rest_.remove_prefix(1);
    return true;
  }
  Value fail(std::string message) {
    if (problem_.empty()) {
      problem_ = std::move(message);
    }
    rest_ = {};
    return 0.0;
  }
  void expect(char symbol) {
    if (!take(symbol)) {
      fail(fmt::format("expected \"{}\" before \"{}\"", symbol, rest_));
    }
  }

  template <class Apply>
  static Value both(Value a, Value b, Apply apply) {
    return a && b ? Value(apply(*a, *b)) : std::nullopt;
  }

  Value sum() {
    Value value = product();
    while (true) {
      if (take('+')) {
        value = both(value, product(), [](double a, double b) { return a + b; });
      } else if (take('-')) {
        value = both(value, product(), [](double a, double b) { return a - b; });
      } else {
        return value;
      }
    }
  }

  Value product() {
    Value value = factor();
    while (true) {
      if (take('*')) {
        value = both(value, factor(), [](double a, double b) { return a * b; });
      } else if (take('/')) {
        value = both(value, factor(), [](double a, double b) { return a / b; });
      } else {
        return value;
      }
    }
  }

  Value factor() {
    if (take('(')) {
      const Value value = sum();
      expect(')');
      return value;
    }
    skip_blanks();
    double number = 0.0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (error == std::errc()) {
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      return number;
    }
    const auto stop = std::ranges::find_if_not(
        rest_, [](char c) { return c == '_' || std::isalpha(static_cast<unsigned char>(c)) != 0; });
    const std::string_view name = rest_.substr(0, static_cast<std::size_t>(stop - rest_.begin()));
    if (name.empty()) {
      return fail(fmt::format("expected a number or a name before \"{}\"", rest_));
    }
    rest_.remove_prefix(name.size());
    return rest_.starts_with('(') ? call(name) : input(name);
  }

  Value input(std::string_view name) {
    if (name == "clients") {
      return inputs_.clients;
    }
    if (name == "prompt_tokens") {
      return inputs_.prompt_tokens;
    }
    if (name == "tensor_parallel_size") {
      return inputs_.tensor_parallel_size;
    }
    return fail(fmt::format("\"{}\" is no name of a formula", name));
  }

  Value call(std::string_view name) {
    const auto* const function = std::ranges::find(kFunctions, name, &Function::name);
    if (function == kFunctions.end()) {
      return fail(fmt::format("\"{}\" is no function of a formula", name));
    }
    expect('(');
    std::vector<double> given;
    bool is_known = true;
    do {
      const Value value = sum();
      is_known = is_known && value.has_value();
      given.push_back(value.value_or(0.0));
    } while (take(','));
    expect(')');
    if (problem_.empty() && given.size() != function->arguments) {
      return fail(fmt::format(
          "{} takes {} values, found {}", function->name, function->arguments, given.size()));
    }
    return is_known && problem_.empty() ? Value(function->apply(given)) : std::nullopt;
  }

  std::string_view rest_;
  const FormulaInputs& inputs_;
  std::string problem_;
};

}  // namespace

core::Result<std::optional<double>> evaluate(std::string_view formula,
                                             const FormulaInputs& inputs) {
  return Parser(formula, inputs).whole();
}

}  // namespace ridgeline::scenario
