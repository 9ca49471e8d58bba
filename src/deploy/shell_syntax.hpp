#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "deploy/flags.hpp"

/// The grammar of a shell's script, as far as launch scripts need it.
namespace ridgeline::deploy::shell {

struct Command;

/// How a command hangs on the one before it.
enum class Joint { kNext, kAnd, kOr, kPipe };

struct Item {
  std::unique_ptr<Command> command;
  Joint joint = Joint::kNext;
  bool is_background = false;
};
using Block = std::vector<Item>;

/// "cat > FILE <<EOF": what goes in or out.
struct Redirection {
  std::string operation;  ///< "<<", ">", ">>", "<"
  Word target = {};       ///< Raw, as Command::words.
  std::string body = {};  ///< The text of a here-document.
  bool is_literal = false;
};

/// A condition and what is run under it; `else` has no condition.
struct Clause {
  Block condition;
  std::vector<Word> patterns = {};  ///< What `case` compares with.
  Block body;
};

struct Command {
  enum class Kind {
    kSimple,
    kTest,        ///< [[ words ]]
    kArithmetic,  ///< (( text ))
    kIf,
    kCase,  ///< words.front() of patterns
    kFor,   ///< `name` in words
    kCountingFor,
    kWhile,
    kFunction,  ///< `name`, its body in clauses.front()
    kGroup,
  };
  Kind kind = Kind::kSimple;
  bool is_negated = false;
  std::string name = {};
  std::vector<Word> words = {};  ///< Raw: quotes and expansions as they stand.
  std::vector<std::shared_ptr<Redirection>> redirections = {};
  std::vector<Clause> clauses = {};
  std::string text = {};  ///< Its first line, for messages.
  core::Location where = {};
};

/// What is odd about a script, though a shell runs it.
struct Oddity {
  std::string message;
  core::Location where;
};

/// Parses a script; what is no shell is passed over as well as it can be. `fixed`: the place of
/// all, for a text that stands in a word.
[[nodiscard]] Block parse_script(std::string_view text,
                                 const core::Location& place,
                                 bool is_fixed,
                                 std::vector<Oddity>& oddities,
                                 core::Errors& errors);

/// How deep commands and expansions may stand in one another, and the error beyond it.
inline constexpr int kDeepest = 100;
[[nodiscard]] std::string too_deep();

inline constexpr std::size_t kTooDeep = std::string_view::npos;
/// Behind what begins at `at` with a quote, "$(", "${" or "`"; beyond the text where it has no end,
/// kTooDeep where more than kDeepest stand in one another.
[[nodiscard]] std::size_t end_of_quoted(std::string_view text, std::size_t at, int depth = 0);

}  // namespace ridgeline::deploy::shell
