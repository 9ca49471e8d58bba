#include "lab/studies/expression.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/reader.hpp"
#include "lab/studies/expression_values.hpp"

namespace ridgeline::studies {
namespace {

using Kind = Term::Kind;

constexpr int kDeepestTerm = 1000;  ///< Parts and definitions within each other.

Value truth(bool value) {
  return Value::boolean(value, {});
}

std::string counted(const Function& function) {
  return function.least == function.most ? fmt::format("{}", function.most)
                                         : fmt::format("{} to {}", function.least, function.most);
}

}  // namespace

const Value* Given::keyword(std::string_view name) const {
  const auto found = std::ranges::find(keywords, name, &std::pair<std::string, Value>::first);
  return found == keywords.end() ? nullptr : &found->second;
}

/// Works an expression out. The first problem stands; every value after it is null.
class Evaluator {
 public:
  Evaluator(const Scope& scope, const Expression& expression, const Locals& locals)
      : scope_(scope), expression_(expression), locals_(locals) {}

  Value work_out(const Term& term) {
    static thread_local int depth = 0;
    if (!problems_ && depth >= kDeepestTerm) {
      note("an expression is too long, or a definition asks for itself without an end");
    }
    if (problems_) {
      return {};
    }
    ++depth;
    Value value = part(term);
    --depth;
    return value;
  }

  [[nodiscard]] std::optional<core::Errors>& problems() { return problems_; }

 private:
  Value part(const Term& term) {
    switch (term.kind) {
      case Kind::kValue:
        return term.value;
      case Kind::kName:
        return named(term.word);
      case Kind::kCall:
        return called(term);
      case Kind::kMember:
        return member(work_out(term.parts[0]), term.word);
      case Kind::kIndex:
        return item(work_out(term.parts[0]), work_out(term.parts[1]));
      case Kind::kSlice:
        return slice(term);
      case Kind::kUnary:
        return unary(term.word, work_out(term.parts[0]));
      case Kind::kBinary:
        return binary(term);
      case Kind::kChoice:
        return work_out(term.parts[is_true(term.parts[1]) ? 0 : 2]);
      case Kind::kList:
        return Value::list(all(term.parts), {});
      case Kind::kMap:
        return map(term);
      case Kind::kEach: {
        std::vector<Value> items;
        each(term, 0, items);
        return Value::list(std::move(items), {});
      }
      case Kind::kText: {
        std::string text;
        for (const Value& part : all(term.parts)) {
          text += text_of(part);
        }
        return Value::string(text, {});
      }
      case Kind::kFigure:
        return figure(term);
    }
    return {};
  }
  Value note(std::string message, std::string hint = {}) {
    if (!problems_) {
      problems_ = {expression_.problem(std::move(message), std::move(hint))};
    }
    return {};
  }
  std::vector<Value> all(const std::vector<Term>& terms) {
    std::vector<Value> values;
    for (const Term& term : terms) {
      values.push_back(work_out(term));
    }
    return values;
  }
  bool is_true(const Term& term) {
    const Value value = work_out(term);
    if (!problems_ && value.kind() != Value::Kind::kBool) {
      note(fmt::format("found {} as a condition, expected true or false", value.describe()));
    }
    return !problems_ && value.as_bool();
  }

  Value named(const std::string& name) {
    for (auto local = locals_.rbegin(); local != locals_.rend(); ++local) {
      if (local->first == name) {
        return local->second;
      }
    }
    const auto definition = scope_.definitions_.find(name);
    if (definition == scope_.definitions_.end()) {
      return note(fmt::format("'{}' stands for nothing here", name));
    }
    return taken(scope_.value_of(name, definition->second));
  }
  Value taken(core::Result<Value> found) {
    if (!found) {
      problems_ = std::move(found).error();
      return {};
    }
    return *std::move(found);
  }
  Value called(const Term& term) {
    Given given{.values = all(term.parts)};
    if (problems_) {
      return {};
    }
    const std::size_t plain = given.values.size() - term.names.size();
    for (std::size_t i = 0; i < term.names.size(); ++i) {
      given.keywords.emplace_back(term.names[i], std::move(given.values[plain + i]));
    }
    given.values.resize(plain);
    if (const auto found = scope_.definitions_.find(term.word);
        found != scope_.definitions_.end()) {
      return defined(found->second, given);
    }
    const auto function = scope_.functions_.find(term.word);
    if (function == scope_.functions_.end()) {
      return note(fmt::format("there is no function '{}'", term.word));
    }
    auto result = function->second.run(given);
    if (!result && result.error().front().where.file.empty()) {
      const core::Error& error = result.error().front();
      return note(fmt::format("{}(): {}{}{}",
                              term.word,
                              error.field,
                              error.field.empty() ? "" : ": ",
                              error.message),
                  error.hint);
    }
    return taken(std::move(result));
  }
  Value defined(const Scope::Definition& definition, const Given& given) {
    Locals locals;
    for (std::size_t i = 0; i < definition.parameters.size() && i < given.values.size(); ++i) {
      locals.emplace_back(definition.parameters[i], given.values[i]);
    }
    return taken(scope_.evaluate(definition.body, locals));
  }

  Value member(const Value& of, const std::string& key) {
    if (problems_) {
      return {};
    }
    if (const Value* found = of.find(key)) {
      return *found;
    }
    std::vector<std::string> keys;
    if (of.is_map()) {
      for (const Value::Member& one : of.members()) {
        keys.push_back(one.key);
      }
    }
    return note(
        of.is_map()
            ? fmt::format("found no member '{}', expected one of {}", key, fmt::join(keys, ", "))
            : fmt::format("found {} before '.{}', expected a map", of.describe(), key));
  }
  Value item(const Value& of, const Value& at) {
    if (problems_) {
      return {};
    }
    if (of.is_map() && at.is_string()) {
      return member(of, at.as_string());
    }
    if (!of.is_list() || at.kind() != Value::Kind::kInteger) {
      return note(
          fmt::format("found {}[{}], expected a list and a whole number, or a map and a text",
                      of.describe(),
                      at.describe()));
    }
    const auto size = std::ssize(of.items());
    const std::int64_t place = at.as_integer() < 0 ? at.as_integer() + size : at.as_integer();
    if (place < 0 || place >= size) {
      return note(fmt::format("found item {} of a list of {}", at.as_integer(), size));
    }
    return of.items()[static_cast<std::size_t>(place)];
  }
  Value slice(const Term& term) {
    const Value of = work_out(term.parts[0]);
    const Value from = work_out(term.parts[1]);
    const Value to = work_out(term.parts[2]);
    if (problems_) {
      return {};
    }
    const auto is_bound = [](const Value& value) {
      return value.is_null() || value.kind() == Value::Kind::kInteger;
    };
    if (!of.is_list() || !is_bound(from) || !is_bound(to)) {
      return note(fmt::format("found {}[{}:{}], expected a list and whole numbers",
                              of.describe(),
                              from.describe(),
                              to.describe()));
    }
    const auto size = std::ssize(of.items());
    const auto bound = [&](const Value& value, std::int64_t otherwise) {
      const std::int64_t at = value.is_null() ? otherwise : value.as_integer();
      return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
    };
    const std::int64_t begin = bound(from, 0);
    const std::int64_t end = std::max(begin, bound(to, size));
    return Value::list({of.items().begin() + begin, of.items().begin() + end}, {});
  }
  Value map(const Term& term) {
    document::MapBuilder map;
    for (std::size_t i = 0; i < term.names.size(); ++i) {
      map.add(term.names[i], work_out(term.parts[i]));
    }
    return map.build();
  }

  Value unary(const std::string& word, const Value& value) {
    if (problems_) {
      return {};
    }
    if (word == "not" && value.kind() == Value::Kind::kBool) {
      return truth(!value.as_bool());
    }
    if (word == "-" && value.kind() == Value::Kind::kInteger) {
      return Value::integer(-value.as_integer(), {});
    }
    if (word == "-" && value.is_number()) {
      return Value::real(-value.as_real(), {});
    }
    return note(fmt::format("found {} behind '{}'", value.describe(), word));
  }
  Value binary(const Term& term) {
    const std::string& sign = term.word;
    if (sign == "and" || sign == "or") {
      const bool first = is_true(term.parts[0]);
      return truth(first == (sign == "or") ? first : is_true(term.parts[1]));
    }
    const Value a = work_out(term.parts[0]);
    const Value b = work_out(term.parts[1]);
    if (problems_) {
      return {};
    }
    if (sign == "==" || sign == "!=") {
      return truth(equal(a, b) == (sign == "=="));
    }
    if (const auto found = sign.front() == '<' || sign.front() == '>' ? compared(sign, a, b)
                                                                      : computed(sign, a, b)) {
      return *found;
    }
    return note(fmt::format("found {} {} {}", a.describe(), sign, b.describe()));
  }
  static std::optional<Value> compared(const std::string& sign, const Value& a, const Value& b) {
    const auto order = order_of(a, b);
    if (!order) {
      return std::nullopt;
    }
    return truth(sign == "<"    ? *order < 0
                 : sign == "<=" ? *order <= 0
                 : sign == ">"  ? *order > 0
                                : *order >= 0);
  }
  static std::optional<Value> computed(const std::string& sign, const Value& a, const Value& b) {
    if (a.is_number() && b.is_number()) {
      if ((sign == "/" || sign == "//" || sign == "%") && b.as_real() == 0.0) {
        return std::nullopt;
      }
      return both_whole(a, b) && sign != "/" ? of_whole(sign, a.as_integer(), b.as_integer())
                                             : of_real(sign, a.as_real(), b.as_real());
    }
    if (sign == "+" && a.is_string() && b.is_string()) {
      return Value::string(a.as_string() + b.as_string(), {});
    }
    constexpr std::int64_t kLongest = 1'000'000;
    std::vector<Value> items = a.is_list() ? a.items() : std::vector<Value>();
    if (sign == "+" && a.is_list() && b.is_list()) {
      items.insert(items.end(), b.items().begin(), b.items().end());
      return Value::list(std::move(items), {});
    }
    if (sign == "*" && a.is_list() && b.kind() == Value::Kind::kInteger &&
        b.as_integer() <= kLongest) {
      std::vector<Value> repeated;
      for (std::int64_t i = 0; i < b.as_integer(); ++i) {
        repeated.insert(repeated.end(), items.begin(), items.end());
      }
      return Value::list(std::move(repeated), {});
    }
    return std::nullopt;
  }

  void each(const Term& term, std::size_t loop, std::vector<Value>& items) {
    if (loop == term.names.size()) {
      items.push_back(work_out(term.parts[0]));
      return;
    }
    const Value among = work_out(term.parts[1 + 2 * loop]);
    if (problems_) {
      return;
    }
    if (!among.is_list()) {
      note(fmt::format("found {} behind 'in', expected a list", among.describe()));
      return;
    }
    for (const Value& one : among.items()) {
      locals_.emplace_back(term.names[loop], one);
      if (is_true(term.parts[2 + 2 * loop])) {
        each(term, loop + 1, items);
      }
      locals_.pop_back();
      if (problems_) {
        return;
      }
    }
  }
  Value figure(const Term& term) {
    const Value value = work_out(term.parts[0]);
    if (problems_) {
      return {};
    }
    if (const auto text = figure_text(value, term.word)) {
      return Value::string(*text, {});
    }
    return note(
        fmt::format("found {} with the format '{}', expected a number and one such as '.1f'",
                    value.describe(),
                    term.word));
  }

  const Scope& scope_;
  const Expression& expression_;
  Locals locals_;
  std::optional<core::Errors> problems_;
};

/// Looks through an expression for names and functions that are not there.
class Checker {
 public:
  Checker(const Scope& scope, const Expression& expression, core::Errors& errors)
      : scope_(scope), expression_(expression), errors_(errors) {}

  void look(const Term& term, std::vector<std::string>& locals) {
    if (term.kind == Kind::kName) {
      name(term.word, locals);
    }
    if (term.kind == Kind::kCall) {
      call(term);
    }
    if (term.kind == Kind::kFigure && !figure_text(Value::real(1.0, {}), term.word) &&
        !figure_text(Value::integer(1, {}), term.word)) {
      note(fmt::format("found the format '{}', expected one such as '.1f' or '+.2f'", term.word));
    }
    if (term.kind == Kind::kEach) {
      const std::size_t before = locals.size();
      for (std::size_t i = 0; i < term.names.size(); ++i) {
        look(term.parts[1 + 2 * i], locals);
        locals.push_back(term.names[i]);
        look(term.parts[2 + 2 * i], locals);
      }
      look(term.parts[0], locals);
      locals.resize(before);
      return;
    }
    for (const Term& part : term.parts) {
      look(part, locals);
    }
  }

 private:
  void note(std::string message, std::string hint = {}) {
    errors_.push_back(expression_.problem(std::move(message), std::move(hint)));
  }
  void name(const std::string& word, const std::vector<std::string>& locals) {
    const auto found = scope_.definitions_.find(word);
    if (std::ranges::find(locals, word) != locals.end() ||
        (found != scope_.definitions_.end() && found->second.parameters.empty())) {
      return;
    }
    std::vector<std::string> known = locals;
    for (const auto& [one, definition] : scope_.definitions_) {
      known.push_back(one);
    }
    const auto meant = document::nearest(word, known);
    note(fmt::format("'{}' stands for nothing here", word),
         meant ? fmt::format("did you mean '{}'? A text stands between quotation marks", *meant)
               : "a text stands between quotation marks: '\"" + word + "\"'");
  }
  void call(const Term& term) {
    const std::size_t values = term.parts.size() - term.names.size();
    if (const auto found = scope_.definitions_.find(term.word);
        found != scope_.definitions_.end()) {
      const std::size_t wanted = found->second.parameters.size();
      if (wanted == 0 || values != wanted || !term.names.empty()) {
        note(fmt::format("found {} values for '{}', expected {}", values, term.word, wanted));
      }
      return;
    }
    const auto found = scope_.functions_.find(term.word);
    if (found == scope_.functions_.end()) {
      std::vector<std::string> known;
      for (const auto& [one, function] : scope_.functions_) {
        known.push_back(one);
      }
      const auto meant = document::nearest(term.word, known);
      note(fmt::format("there is no function '{}'", term.word),
           meant ? fmt::format("did you mean '{}'?", *meant) : std::string());
      return;
    }
    const Function& function = found->second;
    if (values < function.least || values > function.most) {
      note(fmt::format(
          "found {} values for {}(), expected {}", values, term.word, counted(function)));
    }
    for (const std::string& keyword : term.names) {
      if (std::ranges::find(function.keywords, keyword) == function.keywords.end()) {
        note(fmt::format("{}() has no keyword '{}'", term.word, keyword),
             fmt::format("{}", fmt::join(function.keywords, ", ")));
      }
    }
  }

  const Scope& scope_;
  const Expression& expression_;
  core::Errors& errors_;
};

Scope::Scope() {
  for (const Function& function : plain_functions()) {
    add(function);
  }
}

void Scope::add(Function function) {
  std::string name = function.name;
  functions_.insert_or_assign(std::move(name), std::move(function));
}

void Scope::define(const std::string& name, std::vector<std::string> parameters, Expression body) {
  definitions_.insert_or_assign(
      name, Definition{.parameters = std::move(parameters), .body = std::move(body)});
}

void Scope::define(const std::string& name, std::function<core::Result<Value>()> value) {
  definitions_.insert_or_assign(
      name, Definition{.parameters = {}, .body = {}, .value = std::move(value)});
}

core::Result<Value> Scope::value_of(const std::string& name, const Definition& definition) const {
  if (const auto found = kept_.find(name); found != kept_.end()) {
    if (!found->second.done) {
      return core::fail(definition.body.problem(fmt::format("'{}' needs its own value", name)));
    }
    return found->second.value;
  }
  kept_.emplace(name, Kept{});
  auto value = definition.value ? definition.value() : evaluate(definition.body);
  if (value) {
    kept_.find(name)->second = {.done = true, .value = *value};
  } else {
    kept_.erase(name);
  }
  return value;
}

core::Result<Value> Scope::evaluate(const Expression& expression, const Locals& locals) const {
  Evaluator evaluator(*this, expression, locals);
  Value value = evaluator.work_out(expression.root);
  if (evaluator.problems()) {
    return core::fail(*std::move(evaluator.problems()));
  }
  return value;
}

void Scope::check(const Expression& expression,
                  const std::vector<std::string>& locals,
                  core::Errors& errors) const {
  std::vector<std::string> known = locals;
  Checker(*this, expression, errors).look(expression.root, known);
}

}  // namespace ridgeline::studies
