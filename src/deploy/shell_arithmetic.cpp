#include "deploy/shell_arithmetic.hpp"

#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "core/parse.hpp"

namespace ridgeline::deploy::shell {
namespace {

using Number = std::optional<std::int64_t>;

struct Operator {
  std::string_view text;
  int rank;  ///< The higher, the tighter it binds.
};
constexpr std::array<Operator, 13> kOperators = {{{"||", 1},
                                                  {"&&", 2},
                                                  {"==", 3},
                                                  {"!=", 3},
                                                  {"<=", 4},
                                                  {">=", 4},
                                                  {"<", 4},
                                                  {">", 4},
                                                  {"+", 5},
                                                  {"-", 5},
                                                  {"*", 6},
                                                  {"/", 6},
                                                  {"%", 6}}};

Number apply(std::string_view operation, Number a, Number b) {
  if (!a || !b) {
    return std::nullopt;
  }
  std::int64_t result = 0;
  switch (operation.front()) {
    case '+':
      return __builtin_add_overflow(*a, *b, &result) ? std::nullopt : Number(result);
    case '-':
      return __builtin_sub_overflow(*a, *b, &result) ? std::nullopt : Number(result);
    case '*':
      return __builtin_mul_overflow(*a, *b, &result) ? std::nullopt : Number(result);
    case '/':
    case '%':
      if (*b == 0 || (*b == -1 && *a == std::numeric_limits<std::int64_t>::min())) {
        return std::nullopt;
      }
      return operation == "/" ? *a / *b : *a % *b;
    case '|':
      return *a != 0 || *b != 0 ? 1 : 0;
    case '&':
      return *a != 0 && *b != 0 ? 1 : 0;
    case '=':
      return *a == *b ? 1 : 0;
    case '!':
      return *a != *b ? 1 : 0;
    case '<':
      return (operation == "<=" ? *a <= *b : *a < *b) ? 1 : 0;
    default:
      return (operation == ">=" ? *a >= *b : *a > *b) ? 1 : 0;
  }
}

class Reader {
 public:
  Reader(std::string_view text,
         const std::function<Number(const std::string&)>& value_of,
         const std::function<void(const std::string&, std::int64_t)>& assign)
      : text_(text), value_of_(value_of), assign_(assign) {}

  Number run() {
    const Number value = choice();
    skip();
    return at_ == text_.size() ? value : std::nullopt;
  }

 private:
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
      ++at_;
    }
  }
  bool take(std::string_view word) {
    skip();
    const bool is_there = text_.substr(at_).starts_with(word);
    at_ += is_there ? word.size() : 0;
    return is_there;
  }

  Number choice() {
    if (++depth_ > 50) {
      at_ = text_.size();
      return std::nullopt;
    }
    const Number condition = binary(1);
    Number value = condition;
    if (take("?")) {
      const Number one = choice();
      const Number other = take(":") ? choice() : std::nullopt;
      value = !condition ? std::nullopt : *condition != 0 ? one : other;
    }
    --depth_;
    return value;
  }

  Number binary(int rank) {
    Number left = unary();
    while (true) {
      skip();
      const Operator* next = nullptr;
      for (const Operator& operation : kOperators) {
        if (text_.substr(at_).starts_with(operation.text)) {
          next = &operation;
          break;
        }
      }
      if (next == nullptr || next->rank < rank) {
        return left;
      }
      at_ += next->text.size();
      left = apply(next->text, left, binary(next->rank + 1));
    }
  }

  Number unary() {
    if (++depth_ > 50) {
      at_ = text_.size();
      return std::nullopt;
    }
    Number value;
    if (take("-")) {
      value = apply("-", 0, unary());
    } else if (take("+")) {
      value = unary();
    } else if (take("!")) {
      const Number inner = unary();
      value = inner ? Number(*inner == 0 ? 1 : 0) : std::nullopt;
    } else if (take("(")) {
      value = choice();
      take(")");
    } else {
      value = atom();
    }
    --depth_;
    return value;
  }

  Number atom() {
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
      ++at_;
    }
    const std::string word(text_.substr(begin, at_ - begin));
    if (word.empty()) {
      return std::nullopt;
    }
    if (std::isdigit(static_cast<unsigned char>(word.front())) != 0) {
      return core::parse_whole<std::int64_t>(word);
    }
    skip();
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("++") || rest.starts_with("--")) {
      at_ += 2;
      const Number value = value_of_(word);
      give(word, apply(rest.substr(0, 1), value, 1));
      return value;
    }
    if (rest.starts_with("+=") || rest.starts_with("-=") || rest.starts_with("*=")) {
      at_ += 2;
      return give(word, apply(rest.substr(0, 1), value_of_(word), choice()));
    }
    if (rest.starts_with('=') && !rest.starts_with("==")) {
      ++at_;
      return give(word, choice());
    }
    return value_of_(word);
  }

  Number give(const std::string& name, Number value) {
    if (value) {
      assign_(name, *value);
    }
    return value;
  }

  std::string_view text_;
  const std::function<Number(const std::string&)>& value_of_;
  const std::function<void(const std::string&, std::int64_t)>& assign_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<std::int64_t> arithmetic(
    std::string_view text,
    const std::function<std::optional<std::int64_t>(const std::string&)>& value_of,
    const std::function<void(const std::string&, std::int64_t)>& assign) {
  return Reader(text, value_of, assign).run();
}

}  // namespace ridgeline::deploy::shell
