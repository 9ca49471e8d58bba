#include "deploy/script.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/glob.hpp"
#include "core/parse.hpp"
#include "core/result.hpp"
#include "deploy/flags.hpp"
#include "deploy/marks.hpp"
#include "deploy/shell_arithmetic.hpp"
#include "deploy/shell_braces.hpp"
#include "deploy/shell_condition.hpp"
#include "deploy/shell_syntax.hpp"

namespace ridgeline::deploy {
namespace {

using shell::Block;
using shell::Clause;
using shell::Command;
using shell::Joint;

constexpr std::size_t kMostRounds = 64;
constexpr int kMostSteps = 20'000;
constexpr int kMostNested = 24;
constexpr std::size_t kLongestValue = 1 << 16;

bool has(std::string_view text, char c) {
  return text.find(c) != std::string_view::npos;
}

bool is_name_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
std::size_t name_length(std::string_view text) {
  const bool is_number = !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) != 0;
  return is_number ? 0
                   : static_cast<std::size_t>(std::ranges::find_if_not(text, is_name_letter) -
                                              text.begin());
}

/// A variable: one value under "0", or those of a list or a map by their keys.
struct ShellVariable {
  Values values;
  bool is_list = false;
  bool is_exported = false;
  bool operator==(const ShellVariable&) const = default;
};

enum class Flow { kRuns, kContinued, kBroken, kReturned, kExited };

/// All that a branch can change.
struct State {
  std::map<std::string, ShellVariable> variables;
  std::vector<std::string> arguments;
  bool has_arguments = false;  ///< In a function; those of the script are not known.
  Flow flow = Flow::kRuns;
};

/// What a condition says; `kDone` of a command that is taken to succeed.
enum class Status { kNo, kYes, kUnknown, kDone };

Status negated(Status status) {
  return status == Status::kNo    ? Status::kYes
         : status == Status::kYes ? Status::kNo
                                  : Status::kUnknown;
}
Status status_of(std::optional<bool> truth) {
  return !truth ? Status::kUnknown : *truth ? Status::kYes : Status::kNo;
}

/// Words under construction: an unquoted blank of a value ends one.
struct Fields {
  std::vector<std::string> done = {};
  std::string now = {};
  bool is_open = false;

  void put(std::string_view text) {
    now += text;
    is_open = true;
  }
  void put_split(std::string_view text) {
    bool is_marked = false;
    for (const char c : text) {
      is_marked = (is_marked || c == kMarkBegin) && c != kMarkEnd;
      if (!is_marked && (c == ' ' || c == '\t' || c == '\n')) {
        end();
      } else {
        put({&c, 1});
      }
    }
  }
  void end() {
    if (is_open) {
      done.push_back(std::exchange(now, {}));
      is_open = false;
    }
  }
};

template <class Put>
void put_all(const std::vector<std::string>& values, Fields& fields, Put put, bool apart) {
  if (values.empty() && apart && fields.now.empty()) {
    fields.is_open = false;  // "$@" of nothing is no word.
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0 && apart) {
      fields.end();
    } else if (i > 0) {
      put(" ");
    }
    put(values[i]);
  }
}

/// The loops that are open in a function, and what may have left a round of them.
struct Loops {
  int open = 0;
  std::string condition = {};  ///< Under which the innermost runs.
  Word doubt = {};             ///< The "break" or "continue" that may have been taken.

  /// What a "break" or "continue" does; where it is not certain, what follows it is in doubt.
  Flow leave(const std::vector<Word>& words, std::string_view now) {
    const Word& word = words.front();
    const bool has_count = words.size() > 1;  // It may end outer loops: the doubt stays.
    if (open > 0 && now == condition && !has_count) {
      return word.text == "break" ? Flow::kBroken : Flow::kContinued;
    }
    if (open > 0 && doubt.text.empty()) {
      doubt = {.text = has_count ? word.text + " N" : word.text, .where = word.where};
    }
    return Flow::kRuns;
  }

  /// Behind what a doubtful `word` leaves.
  void end_doubt(std::string_view word, const Word& before) {
    if (doubt.text == word) {
      doubt = before;
    }
  }
};

/// A here-document's text between quotes, as which it is expanded.
std::string in_quotes(std::string_view body) {
  std::string text = "\"";
  for (const char c : body) {
    text += c == '"' ? "\\\"" : std::string(1, c);
  }
  return text + "\"";
}

/// What a variable has of a text: a value from outside stands for what cannot be run here.
std::string assigned(std::string text,
                     const std::string& name,
                     const Values& given,
                     std::map<std::string, std::string>& reasons) {
  const auto outer = std::ranges::find(given, name, &Values::value_type::first);
  if (is_unknown(text) && outer != given.end()) {
    return outer->second;
  }
  const auto unknowns = unknowns_in(text);
  if (unknowns.size() == 1 && text == unknown_mark(unknowns.front()) &&
      unknowns.front().starts_with("$(")) {
    reasons[name] = unknowns.front();
    return unknown_mark(name);
  }
  return text;
}

bool is_declaration(std::string_view word) {
  static constexpr std::array<std::string_view, 5> kAll = {
      "export", "declare", "readonly", "local", "typeset"};
  return std::ranges::find(kAll, word) != kAll.end();
}

bool is_shell(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);
  return name == "bash" || name == "sh" || name == "zsh" || name == "sbatch";
}

/// The texts of the words behind the first.
std::vector<std::string> arguments_of(const std::vector<Word>& words) {
  std::vector<std::string> texts;
  for (std::size_t i = 1; i < words.size(); ++i) {
    texts.push_back(words[i].text);
  }
  return texts;
}

/// What a command prints: `echo`, `seq`, `basename`, `dirname`.
std::optional<std::string> printed(const std::vector<std::string>& words) {
  if (words.size() < 2 || std::ranges::any_of(words, is_unknown)) {
    return std::nullopt;
  }
  if (words[0] == "echo" && !words[1].starts_with('-')) {
    return fmt::format("{}", fmt::join(words.begin() + 1, words.end(), " "));
  }
  if ((words[0] == "basename" || words[0] == "dirname") && words.size() == 2) {
    const std::size_t slash = words[1].rfind('/');
    return words[0] == "dirname" ? words[1].substr(0, slash == std::string::npos ? 0 : slash)
                                 : words[1].substr(slash + 1);
  }
  if (words[0] == "seq" && words.size() <= 3) {
    const auto last = core::parse_whole<std::int64_t>(words.back());
    const auto first = words.size() == 2 ? std::optional<std::int64_t>(1)
                                         : core::parse_whole<std::int64_t>(words[1]);
    std::int64_t rounds = 0;
    if (first && last && !__builtin_sub_overflow(*last, *first, &rounds) &&
        rounds < static_cast<std::int64_t>(kMostRounds)) {
      std::string all;
      for (std::int64_t i = *first; i <= *last; ++i) {
        all += fmt::format("{}{}", all.empty() ? "" : " ", i);
      }
      return all;
    }
  }
  return std::nullopt;
}

class Runner {
 public:
  Runner(core::Errors& errors, const Values& given) : errors_(errors), given_(given) {
    for (const auto& [name, value] : given) {
      state_.variables[name] = {.values = {{"0", value}}, .is_exported = true};
    }
  }

  Script run(std::string_view text, const core::Location& place, bool is_word) {
    run_text(text, place, is_word);
    return std::move(script_);
  }

 private:
  void run_text(std::string_view text, const core::Location& place, bool is_word) {
    std::vector<shell::Oddity> oddities;
    const std::size_t before = errors_.size();
    blocks_.push_back(
        std::make_unique<Block>(shell::parse_script(text, place, is_word, oddities, errors_)));
    for (const shell::Oddity& oddity : oddities) {
      warn(oddity.message, oddity.where);
    }
    if (errors_.size() == before) {
      run_block(*blocks_.back());
    }
  }

  void warn(std::string_view message, const core::Location& where) {
    script_.warnings.push_back(
        {.code = "W-launch-script",
         .message = fmt::format("{}:{}: {}", where.file.text(), where.line, message)});
  }

  // ---- commands

  Status run_block(const Block& block) {
    Status status = Status::kDone;
    for (const shell::Item& item : block) {
      if (state_.flow != Flow::kRuns) {
        return status;
      }
      const bool is_skipped =
          (item.joint == Joint::kAnd && status == Status::kNo) ||
          (item.joint == Joint::kOr && (status == Status::kYes || status == Status::kDone));
      if (is_skipped) {
        continue;
      }
      const bool is_open =
          (item.joint == Joint::kAnd || item.joint == Joint::kOr) && status == Status::kUnknown;
      if (is_open) {
        run_branches({}, item.command.get(), last_condition_);
      } else {
        status = run_command(*item.command);
      }
    }
    return status;
  }

  Status run_command(const Command& command) {
    if (++steps_ > kMostSteps || nested_ > kMostNested) {
      return Status::kUnknown;
    }
    ++nested_;
    place_ = command.where;
    Status status = run_kind(command);
    --nested_;
    return command.is_negated ? negated(status) : status;
  }

  Status run_kind(const Command& command) {
    switch (command.kind) {
      case Command::Kind::kSimple:
        return run_simple(command);
      case Command::Kind::kTest: {
        std::vector<std::string> words;
        for (const Word& word : command.words) {
          words.push_back(text_of(word.text));
        }
        return test(words, command.text);
      }
      case Command::Kind::kArithmetic: {
        const auto value = arithmetic(command.words.front().text);
        note_condition(value.has_value(), command.text);
        return status_of(value ? std::optional(*value != 0) : std::nullopt);
      }
      case Command::Kind::kIf:
        return run_if(command);
      case Command::Kind::kCase:
        return run_case(command);
      case Command::Kind::kFor:
        return run_for(command);
      case Command::Kind::kCountingFor:
        return run_counting(command);
      case Command::Kind::kWhile:
        run_unknown_rounds(command);
        return Status::kDone;
      case Command::Kind::kFunction:
        functions_[command.name] = &command;
        return Status::kDone;
      case Command::Kind::kGroup:
        return run_block(command.clauses.front().body);
    }
    return Status::kUnknown;
  }

  void note_condition(bool is_known, std::string_view text) {
    if (!is_known) {
      last_condition_ = text;
    }
  }

  /// Runs each of some branches of which one is taken, or none: what they leave different has no
  /// value after them.
  void run_branches(const std::vector<const Block*>& blocks,
                    const Command* command,
                    const std::string& condition,
                    bool has_other = true) {
    const State before = state_;
    std::vector<State> after;
    if (has_other) {
      after.push_back(before);
    }
    const std::string outer = condition_;
    condition_ = outer.empty() ? condition : outer + ", " + condition;
    const auto finish = [&] {
      if (state_.flow == Flow::kRuns) {
        after.push_back(std::move(state_));
      }
      state_ = before;
    };
    for (const Block* block : blocks) {
      run_block(*block);
      finish();
    }
    if (command != nullptr) {
      run_command(*command);
      finish();
    }
    condition_ = outer;
    if (after.empty()) {
      return;
    }
    state_ = after.front();
    for (std::size_t i = 1; i < after.size(); ++i) {
      merge(after[i], condition);
    }
  }

  void merge(const State& other, const std::string& condition) {
    const auto forget = [&](const std::string& name) {
      const auto theirs = other.variables.find(name);
      const bool is_exported = state_.variables[name].is_exported ||
                               (theirs != other.variables.end() && theirs->second.is_exported);
      state_.variables[name] = {.values = {{"0", unknown_mark(name)}}, .is_exported = is_exported};
      script_.reasons[name] = condition;
    };
    for (const auto& [name, variable] : other.variables) {
      const auto own = state_.variables.find(name);
      if (own == state_.variables.end() || own->second != variable) {
        forget(name);
      }
    }
    for (const auto& [name, variable] : state_.variables) {
      if (!other.variables.contains(name)) {
        forget(name);
      }
    }
  }

  Status run_if(const Command& command) {
    std::vector<const Block*> open;
    std::string condition;
    for (const Clause& clause : command.clauses) {
      const bool is_other = clause.condition.empty();
      Status status = is_other ? Status::kYes : condition_status(clause.condition);
      if (status == Status::kNo) {
        continue;
      }
      if (status == Status::kYes && open.empty()) {
        return run_block(clause.body);
      }
      if (open.empty()) {
        condition = fmt::format("{} (line {})", command.text, command.where.line);
      }
      open.push_back(&clause.body);
      if (status == Status::kYes) {
        run_branches(open, nullptr, condition, false);
        return Status::kUnknown;
      }
    }
    if (!open.empty()) {
      run_branches(open, nullptr, condition);
    }
    return Status::kUnknown;
  }

  /// A command that is no test may fail.
  Status condition_status(const Block& block) {
    const Status status = run_block(block);
    return status == Status::kDone ? Status::kUnknown : status;
  }

  Status run_case(const Command& command) {
    const std::string word = text_of(command.words.front().text);
    std::vector<const Block*> open;
    for (const Clause& clause : command.clauses) {
      if (is_unknown(word)) {
        open.push_back(&clause.body);
        continue;
      }
      for (const Word& pattern : clause.patterns) {
        if (core::matches_glob(word, text_of(pattern.text))) {
          return run_block(clause.body);
        }
      }
    }
    if (!open.empty()) {
      run_branches(open, nullptr, fmt::format("{} (line {})", command.text, command.where.line));
    }
    return Status::kUnknown;
  }

  /// A body that runs an unknown number of times.
  void run_unknown_rounds(const Command& command) {
    run_unknown_rounds(command, fmt::format("{} (line {})", command.text, command.where.line));
  }

  void run_unknown_rounds(const Command& command, const std::string& condition) {
    if (command.kind == Command::Kind::kFor) {
      set(command.name, unknown_mark(command.name));
      script_.reasons[command.name] = condition;
    }
    const Word doubt = loops_.doubt;
    ++loops_.open;
    run_branches({&command.clauses.front().body}, nullptr, condition);
    --loops_.open;
    loops_.end_doubt("break", doubt);
    loops_.end_doubt("continue", doubt);
  }

  Status run_for(const Command& command) {
    Fields fields;
    for (const Word& word : command.words) {
      expand_list(word.text, fields);
    }
    const auto& words = fields.done;
    const auto unread = std::ranges::find_if(command.words, [](const Word& word) {
      return !shell::braced(word.text, kMostRounds) || shell::is_file_pattern(word.text);
    });
    if (unread != command.words.end()) {
      run_unknown_rounds(
          command,
          fmt::format("a loop over {} (line {}; {{1..3}} and {{a,b}} are counted out, up to {})",
                      unread->text,
                      command.where.line,
                      kMostRounds));
      return Status::kDone;
    }
    const bool is_outer =
        !state_.has_arguments && std::ranges::any_of(command.words, [](auto& word) {
          return word.text.find("$@") != std::string::npos;  // The script's own arguments.
        });
    if (is_outer || words.size() > kMostRounds || std::ranges::any_of(words, is_unknown)) {
      run_unknown_rounds(command);
      return Status::kDone;
    }
    const int outer = std::exchange(loop_line_, words.size() > 1 ? command.where.line : loop_line_);
    const Word doubt = loops_.doubt;
    for (const std::string& word : words) {
      set(command.name, word);
      if (!run_round(command)) {
        break;
      }
    }
    loops_.end_doubt("break", doubt);
    loop_line_ = outer;
    return Status::kDone;
  }

  /// Whether another round of a loop can follow.
  bool run_round(const Command& command) {
    const std::string outer = std::exchange(loops_.condition, condition_);
    const Word doubt = loops_.doubt;
    ++loops_.open;
    run_block(command.clauses.front().body);
    --loops_.open;
    loops_.end_doubt("continue", doubt);
    loops_.condition = outer;
    const Flow flow = state_.flow;
    if (flow == Flow::kContinued || flow == Flow::kBroken) {
      state_.flow = Flow::kRuns;
    }
    return flow == Flow::kRuns || flow == Flow::kContinued;
  }

  Status run_counting(const Command& command) {
    std::array<std::string, 3> parts;
    std::string_view rest = command.words.front().text;
    for (std::string& part : parts) {
      part = rest.substr(0, rest.find(';'));
      rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    }
    static_cast<void>(arithmetic(parts[0]));
    const Word doubt = loops_.doubt;
    const int outer = std::exchange(loop_line_, command.where.line);
    for (std::size_t round = 0;; ++round) {
      const auto goes_on = arithmetic(parts[1]);
      if (!goes_on || round == kMostRounds) {
        run_unknown_rounds(command);
        break;
      }
      if (*goes_on == 0 || !run_round(command)) {
        break;
      }
      static_cast<void>(arithmetic(parts[2]));
    }
    loops_.end_doubt("break", doubt);
    loop_line_ = outer;
    return Status::kDone;
  }

  // ---- simple commands

  /// "NAME=VALUE", "NAME+=VALUE", "NAME=(...)", "NAME[KEY]=VALUE" of a raw word; false where it is
  /// none.
  bool assign(std::string_view raw, bool is_exported) {
    const std::size_t length = name_length(raw);
    std::string_view rest = raw.substr(length);
    std::string key;
    if (rest.starts_with('[')) {
      const std::size_t close = rest.find("]=");
      if (close == std::string_view::npos) {
        return false;
      }
      key = text_of(rest.substr(1, close - 1));
      rest.remove_prefix(close + 1);
    }
    const bool adds = rest.starts_with("+=");
    if (length == 0 || !(adds || rest.starts_with('='))) {
      return false;
    }
    rest.remove_prefix(adds ? 2 : 1);
    ShellVariable& variable = state_.variables[std::string(raw.substr(0, length))];
    Values values = adds || !key.empty() ? variable.values : Values();
    const auto put = [&](const std::string& at, std::string text) {
      const auto found = std::ranges::find(values, at, &Values::value_type::first);
      if (found == values.end()) {
        values.emplace_back(at, std::move(text));
      } else {
        found->second = std::move(text);
      }
    };
    bool is_list = variable.is_list && (adds || !key.empty());
    if (rest.starts_with('(') && rest.ends_with(')')) {
      is_list = true;
      for (const Word& item : words_of_list(rest.substr(1, rest.size() - 2))) {
        const std::size_t close = item.text.find("]=");
        if (item.text.starts_with('[') && close != std::string::npos) {
          put(text_of(item.text.substr(1, close - 1)), text_of(item.text.substr(close + 2)));
          continue;
        }
        Fields fields;
        expand_list(item.text, fields);
        for (std::string& field : fields.done) {
          const std::string at = fmt::format("{}", values.size());
          put(at, std::move(field));
        }
      }
    } else if (!key.empty()) {
      is_list = true;
      put(key, text_of(rest));
    } else {
      const std::string before = adds && !values.empty() ? values.front().second : std::string();
      const std::string name(raw.substr(0, length));
      values = {{"0", assigned(before + text_of(rest), name, given_, script_.reasons)}};
    }
    // Looked up anew: an expansion may have set others.
    ShellVariable& target = state_.variables[std::string(raw.substr(0, length))];
    target.values = std::move(values);
    target.is_list = is_list;
    target.is_exported = target.is_exported || is_exported;
    return true;
  }

  /// The raw words between the parentheses of a list.
  std::vector<Word> words_of_list(std::string_view text) {
    std::vector<shell::Oddity> oddities;
    std::vector<Word> words;
    const Block block = shell::parse_script(text, {}, true, oddities, errors_);
    for (const shell::Item& item : block) {
      words.insert(words.end(), item.command->words.begin(), item.command->words.end());
    }
    return words;
  }

  void set(const std::string& name, std::string value) {
    ShellVariable& variable = state_.variables[name];
    variable.values = {{"0", std::move(value)}};
    variable.is_list = false;
  }

  Status run_simple(const Command& command) {
    std::vector<Word> own;
    std::size_t first = 0;
    const auto is_assignment = [](std::string_view raw) {
      const std::size_t length = name_length(raw);
      return length > 0 &&
             (raw.substr(length).starts_with('=') || raw.substr(length).starts_with("+=") ||
              (raw.substr(length).starts_with('[') && raw.find("]=") != std::string_view::npos));
    };
    while (first < command.words.size() && is_assignment(command.words[first].text)) {
      ++first;
    }
    if (first == command.words.size()) {
      for (const Word& word : command.words) {
        assign(word.text, false);
      }
      return Status::kDone;
    }
    for (std::size_t i = 0; i < first; ++i) {
      own.push_back({.text = text_of(command.words[i].text), .where = command.words[i].where});
    }
    std::vector<Word> words;
    const bool declares = is_declaration(command.words[first].text);
    for (std::size_t i = first; i < command.words.size(); ++i) {
      const Word& raw = command.words[i];
      if (declares && is_assignment(raw.text)) {
        words.push_back(raw);
        continue;
      }
      Fields fields;
      expand(raw.text, fields, false);
      fields.end();
      for (std::string& field : fields.done) {
        words.push_back({.text = std::move(field), .where = raw.where});
      }
    }
    if (words.empty()) {
      return Status::kDone;
    }
    keep_documents(command, words);
    return run_words(command, words, own);
  }

  /// "cat > F <<EOF", "tee F <<EOF", "bash <<EOF".
  void keep_documents(const Command& command, const std::vector<Word>& words) {
    const std::string& program = words.front().text;
    std::string file;
    std::string body;
    bool has_document = false;
    for (const auto& redirection : command.redirections) {
      if (redirection->operation.starts_with("<<") && redirection->operation != "<<<") {
        has_document = true;
        body = redirection->is_literal ? redirection->body : text_of(in_quotes(redirection->body));
      } else if (redirection->operation.starts_with('>')) {
        file = text_of(redirection->target.text);
      }
    }
    if (!has_document) {
      return;
    }
    if (is_shell(program) && words.size() == 1) {
      run_nested(body, words.front().where);
    } else if (program == "tee" && words.size() > 1) {
      script_.files[words.back().text] = body;
    } else if (program == "cat" && !file.empty()) {
      script_.files[file] = body;
    }
  }

  void run_nested(const std::string& text, const core::Location& where) {
    if (++nested_ <= kMostNested) {
      run_text(text, where, true);
    }
    --nested_;
  }

  Status run_words(const Command& command, std::vector<Word>& words, const std::vector<Word>& own) {
    const std::string& program = words.front().text;
    std::vector<std::string> arguments = arguments_of(words);
    if (program == "true" || program == ":") {
      return Status::kYes;
    }
    if (program == "false") {
      return Status::kNo;
    }
    if (program == "[" || program == "test") {
      if (program == "[" && !arguments.empty() && arguments.back() == "]") {
        arguments.pop_back();
      }
      return test(arguments, command.text);
    }
    if (const auto found = functions_.find(program); found != functions_.end()) {
      return call(*found->second, std::move(arguments));
    }
    if (run_builtin(words, arguments)) {
      return Status::kDone;
    }
    if (program.starts_with("--")) {
      warn(fmt::format("{} begins a line and belongs to no command: the one before it has ended",
                       shown(program)),
           words.front().where);
    }
    record(words, own);
    return Status::kDone;
  }

  /// Whether a command is one of the shell's own, or runs another script: it is done then.
  bool run_builtin(const std::vector<Word>& words, const std::vector<std::string>& arguments) {
    const std::string& program = words.front().text;
    if (program == "exit" || program == "return") {
      state_.flow = program == "exit" ? Flow::kExited : Flow::kReturned;
      if (program == "exit" && condition_.empty()) {
        script_.exit_line = words.front().where.line;
      }
    } else if (program == "break" || program == "continue") {
      state_.flow = loops_.leave(words, condition_);
    } else if (is_declaration(program)) {
      declare(words);
    } else if (program == "unset") {
      for (const std::string& name : arguments) {
        state_.variables.erase(name);
      }
    } else if (program == "read") {
      for (const std::string& name : arguments) {
        if (name_length(name) == name.size()) {
          set(name, unknown_mark(name));
        }
      }
    } else if (program == "shift") {
      if (!state_.arguments.empty()) {
        state_.arguments.erase(state_.arguments.begin());
      }
    } else if (program == "source" || program == ".") {
      script_.sourced.push_back(arguments.empty() ? "" : shown(arguments.front()));
    } else if (program == "eval") {
      run_nested(fmt::format("{}", fmt::join(arguments, " ")), words.front().where);
    } else if (is_shell(program) && !arguments.empty() &&
               script_.files.contains(arguments.front())) {
      run_nested(script_.files[arguments.front()], words.front().where);
    } else {
      return false;
    }
    return true;
  }

  void declare(const std::vector<Word>& words) {
    const bool exports = words.front().text == "export" ||
                         std::ranges::find(words, "-x", &Word::text) != words.end();
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string& text = words[i].text;
      if (!text.starts_with('-') && !assign(text, exports) && exports &&
          state_.variables.contains(text)) {
        state_.variables[text].is_exported = true;
      }
    }
  }

  Status call(const Command& function, std::vector<std::string> arguments) {
    auto outer = std::exchange(state_.arguments, std::move(arguments));
    const bool had = std::exchange(state_.has_arguments, true);
    const int loops = std::exchange(loops_.open, 0);
    const Status status = run_block(function.clauses.front().body);
    loops_.open = loops;
    state_.arguments = std::move(outer);
    state_.has_arguments = had;
    if (state_.flow == Flow::kReturned) {
      state_.flow = Flow::kRuns;
    }
    return status;
  }

  void record(std::vector<Word>& words, const std::vector<Word>& own) {
    ScriptCommand command{.words = std::move(words),
                          .variables = {},
                          .condition = condition_,
                          .loop_line = loop_line_};
    if (!loops_.doubt.text.empty() && condition_.empty()) {
      command.condition =
          fmt::format("the {} of line {}", loops_.doubt.text, loops_.doubt.where.line);
    }
    for (const auto& [name, variable] : state_.variables) {
      const bool is_own = std::ranges::any_of(
          own, [&](const Word& word) { return word.text.starts_with(name + "="); });
      if (variable.is_exported && !variable.values.empty() && !is_own) {
        command.variables.push_back(
            {.text = fmt::format("{}={}", name, variable.values.front().second),
             .where = command.words.front().where});
      }
    }
    command.variables.insert(command.variables.end(), own.begin(), own.end());
    script_.commands.push_back(std::move(command));
  }

  // ---- conditions

  Status test(const std::vector<std::string>& words, std::string_view text) {
    constexpr std::size_t kMostWords = 200;
    const auto truth = words.size() <= kMostWords ? shell::condition(words) : std::nullopt;
    note_condition(truth.has_value(), text);
    return status_of(truth);
  }

  // ---- expansion

  std::string text_of(std::string_view raw) {
    Fields fields;
    expand(raw, fields, true);
    return fields.now;
  }

  /// A word of a list: split, and "{0..3}" or "{a,b}" counted out.
  void expand_list(std::string_view raw, Fields& fields) {
    const auto words = shell::braced(raw, kMostRounds);
    if (!words) {
      fields.put(unknown_mark(raw));
      fields.end();
      return;
    }
    for (const std::string& word : *words) {
      expand(word, fields, false);
      fields.end();
    }
  }

  /// `keeps`: an unquoted value is not split, as in an assignment.
  void expand(std::string_view raw, Fields& fields, bool keeps) {
    if (++expansions_ <= shell::kDeepest) {
      expand_parts(raw, fields, keeps);
    } else if (errors_.empty() || errors_.back().message != shell::too_deep()) {
      errors_.push_back({.message = shell::too_deep(), .where = place_});
    }
    --expansions_;
  }

  void expand_parts(std::string_view raw, Fields& fields, bool keeps) {
    for (std::size_t at = 0; at < raw.size();) {
      const char c = raw[at];
      if (c == '\\' && at + 1 < raw.size()) {
        fields.put(raw.substr(at + 1, raw[at + 1] == '\n' ? 0 : 1));
        at += 2;
      } else if (c == '\'' || c == '"') {
        const std::size_t end = std::min(shell::end_of_quoted(raw, at), raw.size());
        const std::string_view inner =
            raw.substr(at + 1, end > at + 1 ? end - at - 2 : std::string_view::npos);
        fields.put("");
        if (c == '\'') {
          fields.put(inner);
        } else {
          expand_quoted(inner, fields, keeps);
        }
        at = end;
      } else if (c == '$' || c == '`') {
        at = expand_dollar(raw, at, fields, keeps, false);
      } else {
        fields.put({&c, 1});
        ++at;
      }
    }
  }

  void expand_quoted(std::string_view text, Fields& fields, bool keeps) {
    for (std::size_t at = 0; at < text.size();) {
      const char c = text[at];
      if (c == '\\' && at + 1 < text.size()) {
        const char next = text[at + 1];
        if (next == '\n') {
          fields.put("");
        } else if (has("$`\"\\", next)) {
          fields.put({&next, 1});
        } else {
          fields.put(text.substr(at, 2));
        }
        at += 2;
      } else if (c == '$' || c == '`') {
        at = expand_dollar(text, at, fields, keeps, true);
      } else {
        fields.put({&c, 1});
        ++at;
      }
    }
  }

  /// Expands what begins with "$" or "`"; returns the place behind it.
  std::size_t expand_dollar(
      std::string_view text, std::size_t at, Fields& fields, bool keeps, bool is_quoted) {
    const auto put = [&](std::string_view value) {
      if (fields.now.size() + value.size() > kLongestValue) {
        return;
      }
      if (is_quoted || keeps) {
        fields.put(value);
      } else {
        fields.put_split(value);
      }
    };
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("$((")) {
      const std::size_t end = std::min(shell::end_of_quoted(text, at), text.size());
      const std::string_view inner = text.substr(at + 3, end < at + 5 ? 0 : end - at - 5);
      put(arithmetic_text(inner));
      return end;
    }
    if (rest.starts_with("$(") || rest.starts_with('`')) {
      const std::size_t end = std::min(shell::end_of_quoted(text, at), text.size());
      const std::size_t begin = at + (rest.starts_with('`') ? 1 : 2);
      put(output_of(text.substr(begin, end > begin ? end - begin - 1 : 0)));
      return end;
    }
    if (rest.starts_with("$'") && !is_quoted) {
      const std::size_t end = std::min(shell::end_of_quoted(text, at), text.size());
      fields.put(text.substr(at + 2, end > at + 3 ? end - at - 3 : 0));
      return end;
    }
    if (rest.starts_with("${")) {
      const std::size_t end = std::min(shell::end_of_quoted(text, at), text.size());
      const std::string_view inner = text.substr(at + 2, end > at + 2 ? end - at - 3 : 0);
      put_parameter(inner, fields, put, keeps, is_quoted);
      return end;
    }
    const std::size_t length = name_length(rest.substr(1));
    if (length > 0) {
      put(value_of(std::string(rest.substr(1, length))));
      return at + 1 + length;
    }
    if (rest.size() > 1 && (rest[1] == '@' || rest[1] == '*')) {
      put_all(state_.arguments, fields, put, is_quoted && rest[1] == '@');
      return at + 2;
    }
    if (rest.size() > 1 && rest[1] == '#') {
      put(state_.has_arguments ? fmt::format("{}", state_.arguments.size()) : unknown_mark("#"));
      return at + 2;
    }
    if (rest.size() > 1 && std::isdigit(static_cast<unsigned char>(rest[1])) != 0) {
      put(value_of(std::string(1, rest[1])));
      return at + 2;
    }
    if (rest.size() > 1 && has("?$!-", rest[1])) {
      put(unknown_mark(rest.substr(0, 2)));
      return at + 2;
    }
    fields.put("$");
    return at + 1;
  }

  /// The variable's value, a mark where it has none.
  std::string value_of(const std::string& name) {
    const auto value = known(name, "0");
    return value ? *value : unknown_mark(name);
  }

  std::optional<std::string> known(const std::string& name, const std::string& key) {
    const auto position = core::parse_whole<std::size_t>(name);
    if (position && *position > 0 && state_.has_arguments) {
      return *position <= state_.arguments.size() ? state_.arguments[*position - 1] : std::string();
    }
    const auto found = state_.variables.find(name);
    if (found == state_.variables.end()) {
      return std::nullopt;
    }
    const Values& values = found->second.values;
    const auto value = std::ranges::find(values, key, &Values::value_type::first);
    if (value != values.end()) {
      return value->second;
    }
    const bool is_open = is_unknown(key) || (values.size() == 1 && is_unknown(values[0].second));
    return is_open ? std::optional(unknown_mark(name)) : std::nullopt;
  }

  /// "${#A[@]}", "${X:-d}": a name, the key in it, and what is asked of its value.
  struct Parameter {
    std::string name;
    std::string key = "0";
    std::string_view rest = {};
    bool counts = false;

    [[nodiscard]] bool is_all() const {
      return key == "@" || key == "*" || name == "@" || name == "*";
    }
  };

  Parameter parameter_of(std::string_view inner) {
    Parameter parameter{.name = {}, .counts = inner.starts_with('#') && inner.size() > 1};
    const bool is_indirect = inner.starts_with('!');
    inner.remove_prefix(parameter.counts || is_indirect ? 1 : 0);
    std::size_t length = name_length(inner);
    if (length == 0) {
      length = std::min<std::size_t>(1, inner.size());  // "1", "@"
    }
    parameter.name = inner.substr(0, length);
    parameter.rest = inner.substr(length);
    if (parameter.rest.starts_with('[')) {
      const std::size_t close = std::min(parameter.rest.find(']'), parameter.rest.size() - 1);
      parameter.key = text_of(parameter.rest.substr(1, close - 1));
      parameter.rest.remove_prefix(close + 1);
    }
    if (is_indirect) {
      parameter.name = value_of(parameter.name);
    }
    return parameter;
  }

  /// All values of a list, or the arguments; nothing where it has no value.
  [[nodiscard]] std::optional<std::vector<std::string>> all_of(const Parameter& parameter) const {
    std::vector<std::string> all;
    if (parameter.name == "@" || parameter.name == "*") {
      all = state_.arguments;
    } else if (const auto found = state_.variables.find(parameter.name);
               found != state_.variables.end()) {
      for (const auto& [key, value] : found->second.values) {
        all.push_back(value);
      }
    } else if (parameter.rest.empty() && !parameter.counts) {
      return std::nullopt;
    }
    const auto first = core::parse_whole<std::size_t>(
        parameter.rest.substr(parameter.rest.starts_with(':') ? 1 : 0));
    if (first && parameter.rest.starts_with(':')) {
      const std::size_t skipped = *first - (parameter.name == "@" && *first > 0 ? 1 : 0);
      all.erase(all.begin(),
                all.begin() + static_cast<std::ptrdiff_t>(std::min(skipped, all.size())));
    }
    return all;
  }

  template <class Put>
  void put_parameter(std::string_view inner, Fields& fields, Put put, bool keeps, bool is_quoted) {
    const Parameter parameter = parameter_of(inner);
    const std::string& name = parameter.name;
    const std::string_view rest = parameter.rest;
    if (is_unknown(name)) {
      put(name);
    } else if (parameter.is_all()) {
      const auto all = all_of(parameter);
      if (!all || parameter.counts) {
        put(all ? fmt::format("{}", all->size()) : unknown_mark(name));
      } else {
        const bool is_apart = is_quoted && parameter.key != "*" && name != "*" && !keeps;
        put_all(*all, fields, put, is_apart);
      }
    } else if (const auto value = known(name, parameter.key); parameter.counts) {
      put(!value || is_unknown(*value) ? unknown_mark(name) : fmt::format("{}", value->size()));
    } else if (rest.starts_with("+") || rest.starts_with(":+")) {
      const std::string_view word = rest.substr(rest.find('+') + 1);
      if (!value || (rest[0] == ':' && value->empty())) {
        return;
      }
      if (is_unknown(*value)) {
        put(unknown_mark(name));
      } else if (is_quoted || keeps) {
        put(text_of(word));
      } else {
        expand(word, fields, false);
      }
    } else {
      put(value_by(value, rest, name));
    }
  }

  /// The value by what stands behind its name in the braces.
  std::string value_by(const std::optional<std::string>& value,
                       std::string_view rest,
                       const std::string& name) {
    const bool has_colon = rest.size() > 1 && rest[0] == ':' && has("-=?", rest[1]);
    const char how = rest.empty() ? ' ' : rest[has_colon ? 1 : 0];
    const bool is_set = value && !(has_colon && value->empty());
    if ((how == '-' || how == '=') && !is_set) {
      std::string text = text_of(rest.substr(has_colon ? 2 : 1));
      if (how == '=') {
        set(name, text);
      }
      return text;
    }
    if (!value || is_unknown(*value)) {
      return value && (rest.empty() || how == '-' || how == '=') ? *value : unknown_mark(name);
    }
    return has(" -=?", how) ? *value : cut(*value, rest, name);
  }

  /// "${X##*/}", "${X%-*}", "${X/a/b}", "${X^^}": the value without or with what its operator says.
  std::string cut(const std::string& value, std::string_view rest, const std::string& name) {
    const char how = rest.front();
    const bool is_double = rest.size() > 1 && rest[1] == how;
    if (how == '#' || how == '%') {
      const std::string pattern = text_of(rest.substr(is_double ? 2 : 1));
      const std::size_t size = value.size();
      for (std::size_t i = 0; i <= size; ++i) {
        const std::size_t taken = is_double ? size - i : i;
        const std::string_view part = how == '#' ? std::string_view(value).substr(0, taken)
                                                 : std::string_view(value).substr(size - taken);
        if (core::matches_glob(part, pattern)) {
          return how == '#' ? value.substr(taken) : value.substr(0, size - taken);
        }
      }
      return value;
    }
    if (how == '/') {
      const std::string_view both = rest.substr(is_double ? 2 : 1);
      const std::size_t slash = std::min(both.find('/'), both.size());
      const std::string from = text_of(both.substr(0, slash));
      const std::string to = text_of(both.substr(std::min(slash + 1, both.size())));
      std::string text = value;
      if (from.empty() || from.find_first_of("*?[") != std::string::npos) {
        return from.empty() ? text : unknown_mark(name);
      }
      for (std::size_t at = text.find(from); at != std::string::npos;
           at = is_double ? text.find(from, at + to.size()) : std::string::npos) {
        text.replace(at, from.size(), to);
      }
      return text;
    }
    if ((how == '^' || how == ',') && is_double) {
      std::string text = value;
      std::ranges::transform(text, text.begin(), [&](unsigned char c) {
        return static_cast<char>(how == '^' ? std::toupper(c) : std::tolower(c));
      });
      return text;
    }
    return unknown_mark(name);
  }

  /// What commands print, where that is known: tests, and what printed() knows.
  std::string output_of(std::string_view text) {
    std::vector<shell::Oddity> oddities;
    core::Errors errors;
    const Block block = shell::parse_script(text, {}, true, oddities, errors);
    std::string unknown = unknown_mark(fmt::format("$({})", text.substr(0, text.find('\n'))));
    std::string all;
    Status status = Status::kDone;
    for (const shell::Item& item : block) {
      const bool is_and = item.joint == Joint::kAnd;
      if (item.joint == Joint::kPipe || status == Status::kUnknown) {
        return unknown;
      }
      if ((is_and && status == Status::kNo) ||
          (item.joint == Joint::kOr && status != Status::kNo)) {
        continue;
      }
      Fields fields;
      for (const Word& word : item.command->words) {
        expand(word.text, fields, item.command->kind == Command::Kind::kTest);
        fields.end();
      }
      const auto& words = fields.done;
      if (item.command->kind == Command::Kind::kTest) {
        status = test(words, item.command->text);
        continue;
      }
      const auto line =
          item.command->kind == Command::Kind::kSimple ? printed(words) : std::nullopt;
      if (!line) {
        return unknown;
      }
      all += (all.empty() ? "" : "\n") + *line;
      status = Status::kDone;
    }
    return block.empty() ? unknown : all;
  }

  // ---- arithmetic

  std::string arithmetic_text(std::string_view text) {
    std::vector<std::string> missing;
    const auto value = arithmetic(text, &missing);
    if (value) {
      return fmt::format("{}", *value);
    }
    std::string marks;
    for (const std::string& name : missing) {
      marks += unknown_mark(name);
    }
    return marks.empty() ? unknown_mark(fmt::format("(({}))", text)) : marks;
  }

  std::optional<std::int64_t> arithmetic(std::string_view raw,
                                         std::vector<std::string>* missing = nullptr) {
    const std::string text = text_of(raw);
    const auto note = [&](const std::vector<std::string>& names) {
      if (missing != nullptr) {
        missing->insert(missing->end(), names.begin(), names.end());
      }
    };
    if (is_unknown(text)) {
      note(unknowns_in(text));
      return std::nullopt;
    }
    return shell::arithmetic(
        text,
        [&](const std::string& name) -> std::optional<std::int64_t> {
          const auto value = known(name, "0");
          const auto number = value ? core::parse_whole<std::int64_t>(*value) : std::nullopt;
          if (!number) {
            note({name});
          }
          return number;
        },
        [&](const std::string& name, std::int64_t value) { set(name, fmt::format("{}", value)); });
  }

  core::Errors& errors_;
  const Values& given_;
  Script script_;
  State state_;
  std::vector<std::unique_ptr<Block>> blocks_;  ///< Functions point into them.
  std::map<std::string, const Command*> functions_;
  std::string condition_;  ///< What decides about the branches that are run.
  Loops loops_;
  std::string last_condition_;  ///< The last test that is not decided.
  int loop_line_ = 0;
  int steps_ = 0;
  int nested_ = 0;
  core::Location place_;  ///< The command that is run.
  int expansions_ = 0;    ///< That are open: one in another.
};

}  // namespace

Script read_script(std::string_view text,
                   const core::Location& place,
                   const Values& given,
                   core::Errors& errors,
                   bool is_word) {
  return Runner(errors, given).run(text, place, is_word);
}

}  // namespace ridgeline::deploy
