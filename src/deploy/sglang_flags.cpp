#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "deploy/flags.hpp"
#include "deploy/layout.hpp"
#include "document/document.hpp"
#include "scenario/foreign_flags.hpp"
#include "scenario/options.hpp"

/// The command line of SGLang's server: its settings are flags of their own names, but for what
/// data/flags/sglang.yaml says.
namespace ridgeline::deploy {
namespace {

using document::Node;

/// The row that has a text in one of its members.
const scenario::StatedOption* find_row(std::string_view text,
                                       std::string scenario::StatedOption::* of) {
  const auto& rows = scenario::foreign_program("sglang").options;
  const auto row = std::ranges::find(rows, text, of);
  return row == rows.end() || text.empty() ? nullptr : &*row;
}

/// The row that a flag states: the server's name for it, or ours.
const scenario::StatedOption* row_of(std::string_view flag) {
  if (const auto* row = find_row(flag, &scenario::StatedOption::flag)) {
    return row;
  }
  std::string option = fmt::format("engine.{}", flag);
  std::ranges::replace(option, '-', '_');
  const auto* row = find_row(option, &scenario::StatedOption::option);
  return row == nullptr || row->flag.empty() ? nullptr : row;
}

/// The value of an option by the words behind its flag.
Node value_of(const scenario::StatedOption& row, const Word& word) {
  return typed_node(*scenario::find_option(row.option), word);
}

OptionNodes read_sglang(std::span<const Word> words,
                        std::span<const Word> variables,
                        core::Errors& errors) {
  const auto& others = scenario::foreign_program("sglang").in_deployments;
  OptionNodes found;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Word& word = words[i];
    const std::string name = word.text.substr(word.text.starts_with("--") ? 2 : 0);
    const bool has_value = i + 1 < words.size() && !words[i + 1].text.starts_with("--");
    if (const auto* row = row_of(name)) {
      found.emplace_back(
          row->option, has_value ? value_of(*row, words[i + 1]) : Node::boolean(true, word.where));
    } else if (std::ranges::find(others, name) == others.end()) {
      errors.push_back({.field = word.text,
                        .message = "is no flag that a deployment file is read for",
                        .where = word.where,
                        .hint = "`ridgeline help coming-from`"});
    }
    i += has_value ? 1 : 0;
  }
  for (const Word& word : variables) {
    const std::size_t equals = word.text.find('=');
    const std::string name = word.text.substr(0, equals);
    if (const auto* row = find_row(name, &scenario::StatedOption::variable)) {
      found.emplace_back(
          row->option, value_of(*row, {.text = word.text.substr(equals + 1), .where = word.where}));
    }
  }
  return found;
}

}  // namespace

const Dialect kSglangDialect = {.engine = "sglang", .read = read_sglang};

}  // namespace ridgeline::deploy
