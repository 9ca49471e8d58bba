#include "deploy/shell_syntax.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "deploy/flags.hpp"

namespace ridgeline::deploy::shell {
namespace {

/// Whether a word ends a compound command: it begins none.
bool is_end(std::string_view word) {
  static constexpr std::array<std::string_view, 8> kEnds = {
      "then", "elif", "else", "fi", "do", "done", "esac", "}"};
  return std::ranges::find(kEnds, word) != kEnds.end();
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

/// Behind "<MODEL>" at `at`, or `at` where no placeholder stands there.
std::size_t end_of_placeholder(std::string_view text, std::size_t at) {
  if (at + 1 >= text.size() || std::isalpha(static_cast<unsigned char>(text[at + 1])) == 0) {
    return at;
  }
  for (std::size_t end = at + 1; end < text.size() && end < at + 80; ++end) {
    if (text[end] == '>') {
      return end + 1;
    }
    if (text[end] == '\n' || text[end] == '<' || text[end] == '|' || text[end] == '&') {
      break;
    }
  }
  return at;
}

/// A word as it stands, or an operator.
struct Token {
  enum class Kind { kWord, kOperator, kEnd };
  Kind kind = Kind::kEnd;
  Word word = {};
};

class Parser {
 public:
  Parser(std::string_view text,
         const core::Location& place,
         bool is_fixed,
         std::vector<Oddity>& oddities,
         core::Errors& errors)
      : text_(text),
        place_(place),
        is_fixed_(is_fixed),
        positions_(text),
        oddities_(oddities),
        errors_(errors) {
    advance();
  }

  Block run() {
    Block block;
    while (token_.kind != Token::Kind::kEnd) {
      parse_items({}, block);
      if (token_.kind != Token::Kind::kEnd) {
        fail(fmt::format("'{}' closes nothing", token_.word.text), token_.word.where);
      }
    }
    return block;
  }

 private:
  [[nodiscard]] core::Location where(std::size_t offset) {
    if (is_fixed_) {
      return place_;
    }
    const auto at = positions_.at(offset);
    return {.file = place_.file, .line = at.line, .column = at.column};
  }

  /// To the next word or operator.
  void advance() {
    token_ = {};
    while (at_ < text_.size()) {
      if (text_.substr(at_).starts_with("\\\n")) {
        at_ += 2;
      } else if (text_.substr(at_).starts_with("\\\r\n")) {
        at_ += 3;
      } else if (is_blank(text_[at_])) {
        ++at_;
      } else if (text_[at_] == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        break;
      }
    }
    start_ = at_;
    if (at_ >= text_.size()) {
      return;
    }
    token_.word.where = where(at_);
    static constexpr std::array<std::string_view, 16> kOperators = {"&>>",
                                                                    "<<-",
                                                                    "<<<",
                                                                    ";;",
                                                                    "&&",
                                                                    "||",
                                                                    "&>",
                                                                    ">>",
                                                                    "<<",
                                                                    "\n",
                                                                    ";",
                                                                    "&",
                                                                    "|",
                                                                    "(",
                                                                    ")",
                                                                    ">"};
    const std::string_view rest = text_.substr(at_);
    for (const std::string_view operation : kOperators) {
      if (rest.starts_with(operation)) {
        put_operator(operation);
        return;
      }
    }
    if (rest.front() == '<' && end_of_placeholder(text_, at_) == at_) {
      put_operator("<");
      return;
    }
    read_word();
  }

  void put_operator(std::string_view operation) {
    token_.kind = Token::Kind::kOperator;
    token_.word.text = operation;
    at_ += operation.size();
    if (operation == "\n") {
      take_documents();
    }
  }

  void read_word() {
    token_.kind = Token::Kind::kWord;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\' && at_ + 1 < text_.size()) {
        if (text_[at_ + 1] == '\n' || text_.substr(at_).starts_with("\\\r\n")) {
          break;  // A word ends with its line, as pages indent the next.
        }
        if (ends_line_by_mistake()) {
          break;
        }
        at_ += 2;
      } else if (c == '\'' || c == '"' || c == '`' || (c == '$' && is_opening(at_ + 1))) {
        const std::size_t end = end_of_quoted(text_, at_);
        if (end == kTooDeep) {
          fail(too_deep(), where(at_));
          return;
        }
        if (end > text_.size()) {
          errors_.push_back({.message = fmt::format("{} without its end", c), .where = where(at_)});
        }
        at_ = std::min(end, text_.size());
      } else if (c == '(' && text_[at_ - 1] == '=' && at_ > start_) {
        at_ = end_of_list(at_);
      } else if (c == '<' && end_of_placeholder(text_, at_) != at_) {
        at_ = end_of_placeholder(text_, at_);
      } else if (is_blank(c) || c == '\n' || c == ';' || c == '&' || c == '|' || c == '(' ||
                 c == ')' || c == '<' || c == '>') {
        break;
      } else {
        ++at_;
      }
    }
    token_.word.text = text_.substr(start_, at_ - start_);
    if (token_.word.text.front() == '\\' && is_blank(token_.word.text.back())) {
      advance();  // A backslash with blanks at the end of a line.
      return;
    }
    const bool is_number = std::ranges::all_of(
        token_.word.text, [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
    if (is_number && at_ < text_.size() && (text_[at_] == '>' || text_[at_] == '<')) {
      advance();  // "2>": the number is the redirection's.
    }
  }

  [[nodiscard]] bool is_opening(std::size_t at) const {
    return at < text_.size() && (text_[at] == '(' || text_[at] == '{' || text_[at] == '\'');
  }

  /// Whether "\ " stands at the end of a line, or before its comment: it joins nothing. It is
  /// passed over then.
  bool ends_line_by_mistake() {
    std::size_t end = at_ + 1;
    while (end < text_.size() && is_blank(text_[end])) {
      ++end;
    }
    if (end == at_ + 1 || end >= text_.size() || (text_[end] != '\n' && text_[end] != '#')) {
      return false;
    }
    oddities_.push_back(
        {.message = "a backslash with blanks behind it joins no lines: the command ends there",
         .where = where(at_)});
    at_ = end;
    return true;
  }

  /// Behind the ")" of a list "A=(...)".
  [[nodiscard]] std::size_t end_of_list(std::size_t at) const {
    for (++at; at < text_.size();) {
      const char c = text_[at];
      if (c == ')') {
        return at + 1;
      }
      if (c == '#' && (is_blank(text_[at - 1]) || text_[at - 1] == '\n')) {
        at = std::min(text_.find('\n', at), text_.size());
      } else if (c == '\\') {
        at += 2;
      } else if (c == '\'' || c == '"' || c == '`' || (c == '$' && is_opening(at + 1))) {
        at = end_of_quoted(text_, at);
      } else {
        ++at;
      }
    }
    return text_.size();
  }

  /// The here-documents of the line that has just ended.
  void take_documents() {
    for (const auto& document : std::exchange(pending_, {})) {
      std::string tag = document->target.text;
      document->is_literal = tag.find_first_of("'\"\\") != std::string::npos;
      std::erase_if(tag, [](char c) { return c == '\'' || c == '"' || c == '\\'; });
      while (at_ < text_.size()) {
        const std::size_t end = std::min(text_.find('\n', at_), text_.size());
        std::string_view line = text_.substr(at_, end - at_);
        at_ = std::min(end + 1, text_.size());
        if (document->operation == "<<-") {
          line.remove_prefix(std::min(line.find_first_not_of('\t'), line.size()));
        }
        if (line.ends_with('\r')) {
          line.remove_suffix(1);
        }
        if (line == tag) {
          break;
        }
        document->body += std::string(line) + "\n";
      }
    }
  }

  [[nodiscard]] bool is_operator(std::string_view text) const {
    return token_.kind == Token::Kind::kOperator && token_.word.text == text;
  }
  [[nodiscard]] bool is_word(std::string_view text) const {
    return token_.kind == Token::Kind::kWord && token_.word.text == text;
  }
  void skip_lines() {
    while (is_operator("\n") || is_operator(";")) {
      advance();
    }
  }

  /// Names the first thing that is wrong with the script, and passes over what is left.
  void fail(std::string message, const core::Location& where) {
    if (!is_broken_) {
      errors_.push_back({.message = std::move(message), .where = where});
    }
    is_broken_ = true;
    at_ = text_.size();
    token_ = {};
  }

  /// Commands up to one of the words that end the block, or an operator that ends it.
  Block parse_block(const std::vector<std::string_view>& ends) {
    Block block;
    parse_items(ends, block);
    return block;
  }

  void parse_items(const std::vector<std::string_view>& ends, Block& block) {
    Joint joint = Joint::kNext;
    while (token_.kind != Token::Kind::kEnd) {
      if (is_operator("\n") || is_operator(";")) {
        advance();
        continue;
      }
      if (is_operator("&")) {
        advance();
        continue;
      }
      if (is_operator(")") || is_operator(";;") ||
          std::ranges::any_of(ends, [&](auto end) { return is_word(end); })) {
        return;
      }
      if (token_.kind == Token::Kind::kWord && is_end(token_.word.text)) {
        fail(fmt::format("'{}' closes nothing", token_.word.text), token_.word.where);
        return;
      }
      Item item{.command = parse_command(), .joint = joint};
      joint = Joint::kNext;
      if (is_operator("&&") || is_operator("||") || is_operator("|")) {
        joint = is_operator("&&") ? Joint::kAnd : is_operator("||") ? Joint::kOr : Joint::kPipe;
        advance();
        if (is_operator("&")) {
          advance();  // "|&"
        }
        while (is_operator("\n")) {
          advance();
        }
      } else if (is_operator("&")) {
        item.is_background = true;
      }
      block.push_back(std::move(item));
    }
  }

  std::unique_ptr<Command> parse_command() {
    auto command = std::make_unique<Command>();
    command->where = token_.word.where;
    const std::size_t begin = start_;
    if (++depth_ > kDeepest) {
      fail(too_deep(), command->where);
    }
    while (is_word("!") || is_word("$") || is_word("time")) {
      command->is_negated = is_word("!") != command->is_negated;  // "$": a page's prompt.
      advance();
    }
    if (is_word("if")) {
      parse_if(*command);
    } else if (is_word("case")) {
      parse_case(*command);
    } else if (is_word("for") || is_word("select")) {
      parse_for(*command);
    } else if (is_word("while") || is_word("until")) {
      advance();
      command->kind = Command::Kind::kWhile;
      Clause clause{.condition = parse_block({"do"}), .body = {}};
      clause.body = parse_body(*command);
      command->clauses.push_back(std::move(clause));
    } else if (is_word("function")) {
      advance();
      command->name = token_.word.text;
      advance();
      parse_function(*command);
    } else if (is_word("{")) {
      parse_group(*command, "}");
    } else if (is_word("[[")) {
      parse_test(*command);
    } else if (is_operator("(") && text_.substr(at_).starts_with("(")) {
      command->kind = Command::Kind::kArithmetic;
      command->words.push_back(parse_arithmetic());
    } else if (is_operator("(")) {
      parse_group(*command, ")");
    } else {
      parse_simple(*command);
    }
    if (command->kind != Command::Kind::kSimple) {
      take_redirections(*command);
    }
    command->text = text_.substr(begin, std::min(text_.find('\n', begin), text_.size()) - begin);
    while (!command->text.empty() &&
           std::string_view(" \\\r;").find(command->text.back()) != std::string_view::npos) {
      command->text.pop_back();
    }
    --depth_;
    return command;
  }

  void parse_if(Command& command) {
    command.kind = Command::Kind::kIf;
    while (is_word("if") || is_word("elif")) {
      advance();
      Clause clause{.condition = parse_block({"then"}), .body = {}};
      close("then", command);
      clause.body = parse_block({"elif", "else", "fi"});
      command.clauses.push_back(std::move(clause));
    }
    if (is_word("else")) {
      advance();
      command.clauses.push_back({.condition = {}, .body = parse_block({"fi"})});
    }
    close("fi", command);
  }

  /// Behind the word or the ")" that the command needs here.
  void close(std::string_view end, const Command& command) {
    if (is_word(end) || is_operator(end)) {
      advance();
    } else {
      fail(fmt::format("the command that begins here has no '{}'", end), command.where);
    }
  }

  void parse_case(Command& command) {
    command.kind = Command::Kind::kCase;
    advance();
    command.words.push_back(token_.word);
    advance();
    skip_lines();
    close("in", command);
    skip_lines();
    while (token_.kind != Token::Kind::kEnd && !is_word("esac")) {
      Clause clause;
      while (token_.kind != Token::Kind::kEnd && !is_operator(")")) {
        if (token_.kind == Token::Kind::kWord) {
          clause.patterns.push_back(token_.word);
        }
        advance();
      }
      advance();
      clause.body = parse_block({"esac"});
      command.clauses.push_back(std::move(clause));
      if (is_operator(";;") || is_operator(")")) {
        advance();
      }
      skip_lines();
    }
    close("esac", command);
  }

  /// The text between "((" and "))"; the first "(" is the token.
  Word parse_arithmetic() {
    Word word{.text = {}, .where = token_.word.where};
    const std::size_t begin = at_ + 1;
    int open = 2;
    std::size_t end = begin;
    for (; end < text_.size() && open > 0; ++end) {
      open += text_[end] == '(' ? 1 : text_[end] == ')' ? -1 : 0;
    }
    word.text = text_.substr(begin, end < begin + 2 ? 0 : end - begin - 2);
    at_ = end;
    advance();
    return word;
  }

  Block parse_body(const Command& command) {
    skip_lines();
    close("do", command);
    Block body = parse_block({"done"});
    close("done", command);
    return body;
  }

  void parse_for(Command& command) {
    advance();
    if (is_operator("(")) {
      command.kind = Command::Kind::kCountingFor;
      command.words.push_back(parse_arithmetic());
    } else {
      command.kind = Command::Kind::kFor;
      command.name = token_.word.text;
      advance();
      while (is_operator("\n")) {
        advance();
      }
      if (is_word("in")) {
        advance();
        while (token_.kind == Token::Kind::kWord) {
          command.words.push_back(token_.word);
          advance();
        }
      } else {
        command.words.push_back({.text = "\"$@\"", .where = command.where});
      }
    }
    command.clauses.push_back({.condition = {}, .body = parse_body(command)});
  }

  void parse_function(Command& command) {
    command.kind = Command::Kind::kFunction;
    while (is_operator("(") || is_operator(")") || is_operator("\n")) {
      advance();
    }
    Block body;
    body.push_back({.command = parse_command()});
    command.clauses.push_back({.condition = {}, .body = std::move(body)});
  }

  void parse_group(Command& command, std::string_view end) {
    command.kind = Command::Kind::kGroup;
    advance();
    command.clauses.push_back({.condition = {}, .body = parse_block({end})});
    close(end, command);
  }

  void parse_test(Command& command) {
    command.kind = Command::Kind::kTest;
    advance();
    while (token_.kind != Token::Kind::kEnd && !is_word("]]")) {
      if (!is_operator("\n")) {
        command.words.push_back(token_.word);
      }
      advance();
    }
    close("]]", command);
  }

  void parse_simple(Command& command) {
    while (token_.kind != Token::Kind::kEnd) {
      if (take_redirection(command)) {
        continue;
      }
      if (is_operator("(") && command.words.size() == 1) {
        command.name = command.words.front().text;
        command.words.clear();
        parse_function(command);
        return;
      }
      if (is_operator("(")) {
        advance();  // No shell: text of a page.
        continue;
      }
      if (token_.kind != Token::Kind::kWord) {
        return;
      }
      command.words.push_back(token_.word);
      advance();
    }
  }

  void take_redirections(Command& command) {
    while (take_redirection(command)) {
    }
  }

  bool take_redirection(Command& command) {
    static constexpr std::array<std::string_view, 9> kAll = {
        ">", ">>", "<", "<<", "<<-", "<<<", "&>", "&>>", ">&"};
    if (token_.kind != Token::Kind::kOperator ||
        std::ranges::find(kAll, token_.word.text) == kAll.end()) {
      return false;
    }
    auto to = std::make_shared<Redirection>(Redirection{.operation = token_.word.text});
    command.redirections.push_back(to);
    if (at_ < text_.size() && text_[at_] == '&') {
      ++at_;  // "2>&1"
    }
    if (at_ < text_.size() && text_[at_] == '(') {
      at_ = std::min(text_.find(')', at_), text_.size() - 1) + 1;  // "<(...)"
      advance();
      return true;
    }
    advance();
    if (token_.kind == Token::Kind::kWord) {
      to->target = token_.word;
      if (to->operation == "<<" || to->operation == "<<-") {
        pending_.push_back(to);
      }
      advance();
    }
    return true;
  }

  std::string_view text_;
  core::Location place_;
  bool is_fixed_;
  core::TextPositions positions_;
  std::vector<Oddity>& oddities_;
  core::Errors& errors_;
  std::size_t at_ = 0;
  std::size_t start_ = 0;
  int depth_ = 0;
  bool is_broken_ = false;
  Token token_;
  std::vector<std::shared_ptr<Redirection>> pending_;  ///< Here-documents of this line.
};

}  // namespace

Block parse_script(std::string_view text,
                   const core::Location& place,
                   bool is_fixed,
                   std::vector<Oddity>& oddities,
                   core::Errors& errors) {
  return Parser(core::without_byte_order_mark(text), place, is_fixed, oddities, errors).run();
}

std::string too_deep() {
  return fmt::format("more than {} commands or expansions stand in one another", kDeepest);
}

std::size_t end_of_quoted(std::string_view text, std::size_t at, int depth) {
  if (depth >= kDeepest) {
    return kTooDeep;
  }
  const std::size_t none = text.size() + 1;
  const char first = text[at];
  if (first == '\'' || first == '`' || text.substr(at).starts_with("$'")) {
    const std::size_t begin = first == '$' ? at + 2 : at + 1;
    for (std::size_t end = begin; end < text.size(); ++end) {
      if (text[end] == '\\' && first != '\'') {
        ++end;
      } else if (text[end] == (first == '`' ? '`' : '\'')) {
        return end + 1;
      }
    }
    return none;
  }
  const bool is_text = first == '"';
  const char close = is_text ? '"' : text[at + 1] == '(' ? ')' : '}';
  int open = 1;
  for (at += is_text ? 1 : 2; at < text.size();) {
    const char c = text[at];
    if (c == close && --open == 0) {
      return at + 1;
    }
    const bool begins =
        c == '$' && at + 1 < text.size() && (text[at + 1] == '(' || text[at + 1] == '{');
    if (c == '\\') {
      at += 2;
    } else if (begins || c == '`' || (!is_text && (c == '"' || (c == '\'' && close == ')')))) {
      at = end_of_quoted(text, at, depth + 1);
      if (at == kTooDeep) {
        return at;
      }
    } else {
      open += close == ')' && c == '(' ? 1 : 0;
      ++at;
    }
  }
  return none;
}

}  // namespace ridgeline::deploy::shell
