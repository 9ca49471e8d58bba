#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/parse.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/studies/expression.hpp"

namespace ridgeline::studies {
namespace {

using Kind = Term::Kind;

constexpr int kMostBrackets = 64;  ///< Brackets within each other.
constexpr std::size_t kLongestText = 4000;

/// Operators between two values, from the loosest; those of a level bind to the left.
constexpr std::array<std::array<std::string_view, 6>, 5> kLevels = {{
    {"or"},
    {"and"},
    {"==", "!=", "<=", ">=", "<", ">"},
    {"+", "-"},
    {"*", "//", "/", "%"},
}};
constexpr std::size_t kNotLevel = 2;  ///< `not` binds tighter than `and`.

bool is_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Descends through the grammar. The first problem stands; the text then counts as read.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Term whole() {
    Term term = choice();
    skip();
    if (at_ < text_.size()) {
      note("an operator or the end");
    }
    return term;
  }
  /// The rest of the text with {figures}, up to `quote`; 0: up to the end.
  Term sentence(char quote) {
    Term term{.kind = Kind::kText};
    std::string plain;
    const auto keep = [&] {
      if (!plain.empty()) {
        term.parts.push_back({.value = Value::string(std::exchange(plain, {}), {})});
      }
    };
    while (at_ < text_.size() && text_[at_] != quote) {
      const char c = text_[at_++];
      if ((c == '{' || c == '}') && at_ < text_.size() && text_[at_] == c) {
        plain += text_[at_++];
      } else if (c == '{') {
        keep();
        term.parts.push_back(figure());
      } else if (c == '}') {
        --at_;
        note("a brace that opens before it, or two of them");
      } else {
        plain += c;
      }
    }
    keep();
    if (quote != 0 && !take(std::string_view(&quote, 1))) {
      note("a quotation mark that closes");
    }
    return term;
  }

  [[nodiscard]] const std::optional<std::string>& problem() const { return problem_; }

 private:
  void note(std::string_view expected) {
    if (!problem_) {
      const std::string_view rest = text_.substr(std::min(at_, text_.size()));
      problem_ = fmt::format("found {}, expected {}",
                             rest.empty() ? "the end" : fmt::format("\"{}\"", rest.substr(0, 20)),
                             expected);
    }
    at_ = text_.size();
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
      ++at_;
    }
  }
  /// Whether the word or sign comes next, which is then read.
  bool take(std::string_view word) {
    skip();
    if (!text_.substr(at_).starts_with(word) ||
        (is_letter(word.front()) && at_ + word.size() < text_.size() &&
         is_letter(text_[at_ + word.size()]))) {
      return false;
    }
    at_ += word.size();
    return true;
  }
  void expect(std::string_view word) {
    if (!take(word)) {
      note(fmt::format("\"{}\"", word));
    }
  }
  std::string name() {
    skip();
    const std::size_t from = at_;
    while (at_ < text_.size() && is_letter(text_[at_])) {
      ++at_;
    }
    if (from == at_) {
      note("a name");
    }
    return std::string(text_.substr(from, at_ - from));
  }

  Term choice() {
    if (++depth_ > kMostBrackets) {
      note("fewer brackets within each other");
    }
    Term term = binary(0);
    if (take("if")) {
      Term condition = binary(0);
      expect("else");
      term = {.kind = Kind::kChoice, .parts = {std::move(term), std::move(condition), choice()}};
    }
    --depth_;
    return term;
  }
  Term binary(std::size_t level) {
    if (level == kNotLevel && take("not")) {
      return {.kind = Kind::kUnary, .word = "not", .parts = {binary(level)}};
    }
    if (level == kLevels.size()) {
      return unary();
    }
    Term term = binary(level + 1);
    while (const auto word = sign(level)) {
      term = {.kind = Kind::kBinary,
              .word = std::string(*word),
              .parts = {std::move(term), binary(level + 1)}};
    }
    return term;
  }
  std::optional<std::string_view> sign(std::size_t level) {
    for (const std::string_view word : kLevels[level]) {
      if (!word.empty() && take(word)) {
        return word;
      }
    }
    return std::nullopt;
  }
  Term unary() {
    if (take("-")) {
      return {.kind = Kind::kUnary, .word = "-", .parts = {unary()}};
    }
    Term term = atom();
    while (!problem_) {
      if (take(".")) {
        term = {.kind = Kind::kMember, .word = name(), .parts = {std::move(term)}};
      } else if (take("[")) {
        term = index(std::move(term));
      } else {
        break;
      }
    }
    return term;
  }
  Term index(Term of) {
    const Term nothing;
    skip();
    Term from = text_.substr(at_).starts_with(":") ? nothing : choice();
    if (take(":")) {
      skip();
      Term to = text_.substr(at_).starts_with("]") ? nothing : choice();
      expect("]");
      return {.kind = Kind::kSlice, .parts = {std::move(of), std::move(from), std::move(to)}};
    }
    expect("]");
    return {.kind = Kind::kIndex, .parts = {std::move(of), std::move(from)}};
  }

  Term atom() {
    skip();
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      return number();
    }
    if (c == '"' || c == '\'') {
      ++at_;
      return quoted(c);
    }
    if (c == 'f' && at_ + 1 < text_.size() && (text_[at_ + 1] == '"' || text_[at_ + 1] == '\'')) {
      at_ += 2;
      return sentence(text_[at_ - 1]);
    }
    if (take("(")) {
      Term term = choice();
      expect(")");
      return term;
    }
    if (take("[")) {
      return list();
    }
    if (take("{")) {
      return map();
    }
    if (!is_letter(c)) {
      note("a value, a name or a bracket");
      return {};
    }
    return word();
  }
  Term word() {
    const std::string found = name();
    if (found == "true" || found == "false") {
      return {.value = Value::boolean(found == "true", {})};
    }
    if (found == "null") {
      return {};
    }
    if (!take("(")) {
      return {.kind = Kind::kName, .word = found};
    }
    Term term{.kind = Kind::kCall, .word = found};
    while (!problem_ && !take(")")) {
      const std::size_t before = at_;
      skip();
      const std::string keyword = is_letter(at_ < text_.size() ? text_[at_] : ' ') ? name() : "";
      skip();
      if (!keyword.empty() && text_.substr(at_).starts_with("=") &&
          !text_.substr(at_).starts_with("==")) {
        ++at_;
        term.names.push_back(keyword);
      } else {
        at_ = before;
        if (!term.names.empty()) {
          note("a keyword, as values stand before keywords");
        }
      }
      term.parts.push_back(choice());
      if (!take(",")) {
        expect(")");
        break;
      }
    }
    return term;
  }
  Term number() {
    const std::size_t from = at_;
    const auto digits = [&] {
      while (at_ < text_.size() && (is_letter(text_[at_]) || text_[at_] == '.')) {
        ++at_;
        const bool exponent = text_[at_ - 1] == 'e' && at_ < text_.size();
        at_ += static_cast<std::size_t>(exponent && (text_[at_] == '-' || text_[at_] == '+'));
      }
    };
    digits();
    const std::string_view found = text_.substr(from, at_ - from);
    if (const auto whole = core::parse_whole<std::int64_t>(found)) {
      return {.value = Value::integer(*whole, {})};
    }
    if (const auto real = core::parse_whole<double>(found)) {
      return {.value = Value::real(*real, {})};
    }
    at_ = from;
    note("a number");
    return {};
  }
  Term quoted(char quote) {
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) {
      note("a quotation mark that closes");
      return {};
    }
    const std::string found(text_.substr(at_, end - at_));
    at_ = end + 1;
    return {.value = Value::string(found, {})};
  }
  Term list() {
    Term term{.kind = Kind::kList};
    while (!problem_ && !take("]")) {
      term.parts.push_back(choice());
      if (term.parts.size() == 1 && take("for")) {
        return each(std::move(term.parts.front()));
      }
      if (!take(",")) {
        expect("]");
        break;
      }
    }
    return term;
  }
  Term each(Term what) {
    Term term{.kind = Kind::kEach, .parts = {std::move(what)}};
    do {
      term.names.push_back(name());
      expect("in");
      term.parts.push_back(binary(0));
      term.parts.push_back(take("if") ? binary(0) : Term{.value = Value::boolean(true, {})});
    } while (!problem_ && take("for"));
    expect("]");
    return term;
  }
  Term map() {
    Term term{.kind = Kind::kMap};
    while (!problem_ && !take("}")) {
      skip();
      const char quote = at_ < text_.size() ? text_[at_] : '\0';
      if (quote != '"' && quote != '\'') {
        note("a key between quotation marks");
        break;
      }
      ++at_;
      const Term key = quoted(quote);
      term.names.push_back(key.value.is_string() ? key.value.as_string() : "");
      expect(":");
      term.parts.push_back(choice());
      if (!take(",")) {
        expect("}");
        break;
      }
    }
    return term;
  }
  Term figure() {
    Term term{.kind = Kind::kFigure, .parts = {choice()}};
    if (take(":")) {
      const std::size_t end = text_.find('}', at_);
      term.word = std::string(text_.substr(at_, end == std::string_view::npos ? end : end - at_));
      at_ = std::min(end, text_.size());
    }
    expect("}");
    return term;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::optional<std::string> problem_;
};

core::Result<Expression> parsed(const std::string& text,
                                const std::string& field,
                                const core::Location& where,
                                bool sentence) {
  Expression expression{.root = {}, .text = text, .field = field, .where = where};
  if (text.size() > kLongestText) {
    return core::fail(expression.problem(
        fmt::format("found {} characters, expected at most {}", text.size(), kLongestText)));
  }
  Parser parser(expression.text);
  expression.root = sentence ? parser.sentence('\0') : parser.whole();
  if (parser.problem()) {
    return core::fail(expression.problem(*parser.problem()));
  }
  return expression;
}

}  // namespace

core::Error Expression::problem(std::string message, std::string hint) const {
  constexpr std::size_t kShown = 60;
  const std::string shown = text.size() <= kShown ? text : text.substr(0, kShown) + "...";
  return {.field = field,
          .message = fmt::format("{} in '{}'", message, shown),
          .where = where,
          .hint = std::move(hint)};
}

core::Result<Expression> parse_expression(const std::string& text,
                                          const std::string& field,
                                          const core::Location& where) {
  return parsed(text, field, where, false);
}

core::Result<Expression> parse_template(const std::string& text,
                                        const std::string& field,
                                        const core::Location& where) {
  return parsed(text, field, where, true);
}

Expression constant(Value value, const std::string& field) {
  return {.root = {.value = std::move(value)}, .field = field};
}

}  // namespace ridgeline::studies
