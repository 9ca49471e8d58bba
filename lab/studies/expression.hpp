#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"

/// Expressions of study files, in Python's notation: numbers, texts, lists, maps, comparisons,
/// `a if c else b`, `[f(x) for x in xs if c]`, and f"texts with {figures:.1f} in them". Values are
/// document nodes. lab/docs/studies.md teaches them.
namespace ridgeline::studies {

using Value = document::Node;

/// A part of an expression.
struct Term {
  enum class Kind : std::uint8_t {
    kValue,
    kName,
    kCall,    ///< word(parts...); the last of the parts belong to `names`, the keywords.
    kMember,  ///< parts[0].word
    kIndex,   ///< parts[0][parts[1]]
    kSlice,   ///< parts[0][parts[1]:parts[2]]
    kUnary,   ///< word parts[0]
    kBinary,  ///< parts[0] word parts[1]
    kChoice,  ///< parts[0] if parts[1] else parts[2]
    kList,
    kMap,     ///< names: parts
    kEach,    ///< [parts[0] for names[0] in parts[1] if parts[2] for names[1] in parts[3] ...]
    kText,    ///< The parts as texts, one behind the other.
    kFigure,  ///< parts[0] by the format `word`.
  };
  Kind kind = Kind::kValue;
  Value value = {};
  std::string word = {};
  std::vector<Term> parts = {};
  std::vector<std::string> names = {};
};

/// An expression with its place in a file, for messages.
struct Expression {
  Term root;
  std::string text = {};   ///< As it was written.
  std::string field = {};  ///< "tables.sweep.columns.ratio"
  core::Location where = {};

  [[nodiscard]] core::Error problem(std::string message, std::string hint = {}) const;
};

[[nodiscard]] core::Result<Expression> parse_expression(const std::string& text,
                                                        const std::string& field,
                                                        const core::Location& where);
/// A text with figures between braces: "it takes {step:.1f} us".
[[nodiscard]] core::Result<Expression> parse_template(const std::string& text,
                                                      const std::string& field,
                                                      const core::Location& where);
/// A value that stands in a file as it is.
[[nodiscard]] Expression constant(Value value, const std::string& field);

/// What a call gives to a function.
struct Given {
  std::vector<Value> values = {};
  std::vector<std::pair<std::string, Value>> keywords = {};

  [[nodiscard]] const Value* keyword(std::string_view name) const;
};

/// A function of expressions.
struct Function {
  std::string name;
  std::size_t least = 1;  ///< Values that it takes at least.
  std::size_t most = 1;
  std::vector<std::string> keywords = {};
  /// Errors without a place are put where the call stands.
  std::function<core::Result<Value>(const Given& given)> run;
};
/// Functions of numbers, texts and lists.
[[nodiscard]] const std::vector<Function>& plain_functions();

/// Names beside those of a scope: of a grid, of a comprehension, of a definition's parameters.
using Locals = std::vector<std::pair<std::string, Value>>;

/// Names with what they stand for: values that are worked out when they are first asked for,
/// definitions with parameters, and functions.
class Scope {
 public:
  Scope();

  void add(Function function);
  /// A name without parameters is worked out once.
  void define(const std::string& name, std::vector<std::string> parameters, Expression body);
  void define(const std::string& name, std::function<core::Result<Value>()> value);

  [[nodiscard]] core::Result<Value> evaluate(const Expression& expression,
                                             const Locals& locals = {}) const;
  /// Problems that need no values: names and functions that are not there, wrong counts.
  void check(const Expression& expression,
             const std::vector<std::string>& locals,
             core::Errors& errors) const;

 private:
  friend class Evaluator;
  friend class Checker;

  struct Definition {
    std::vector<std::string> parameters;
    Expression body;
    std::function<core::Result<Value>()> value = {};
  };
  struct Kept {
    bool done = false;
    Value value = {};
  };

  [[nodiscard]] core::Result<Value> value_of(const std::string& name,
                                             const Definition& definition) const;

  std::map<std::string, Function, std::less<>> functions_;
  std::map<std::string, Definition, std::less<>> definitions_;
  mutable std::map<std::string, Kept, std::less<>> kept_;
};

/// A value as a text stands in a sentence.
[[nodiscard]] std::string text_of(const Value& value);
/// Equal in kind and content; whole and real numbers by their size.
[[nodiscard]] bool equal(const Value& a, const Value& b);

}  // namespace ridgeline::studies
