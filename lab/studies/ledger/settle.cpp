#include "lab/studies/ledger/settle.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "document/document.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/ledger/figure.hpp"
#include "lab/studies/ledger/ledger.hpp"

namespace ridgeline::studies {
namespace {

using document::Node;

/// A command's output with its JSON, read once for all claims that name it.
struct Reading {
  CommandOutput output;
  Node tree;
};

std::string shown(const Node& node, const Digits& digits) {
  switch (node.kind()) {
    case Node::Kind::kInteger:
    case Node::Kind::kReal:
      return printed(node.as_real(), digits);
    case Node::Kind::kString:
      return node.as_string();
    case Node::Kind::kBool:
      return node.as_bool() ? "yes" : "no";
    case Node::Kind::kList: {
      std::vector<std::string> items;
      for (const Node& item : node.items()) {
        items.push_back(shown(item, digits));
      }
      return fmt::format("{}", fmt::join(items, " "));
    }
    case Node::Kind::kNull:
    case Node::Kind::kMap:
      break;
  }
  return {};
}

/// Equal to the printed digits; of other kinds, equal.
bool equal(const Node& ours, const Node& theirs, const Digits& digits) {
  const bool same_kind = ours.kind() == theirs.kind() || (ours.is_number() && theirs.is_number());
  return same_kind && shown(ours, digits) == shown(theirs, digits);
}

/// Printed cells of a value: those of a list one by one.
void compare_cell(const Node* ours, const Node& theirs, const Digits& digits, SettledClaim& found) {
  if (!theirs.is_list()) {
    ++found.cells;
    found.equal_cells += ours != nullptr && equal(*ours, theirs, digits) ? 1 : 0;
    return;
  }
  for (std::size_t i = 0; i < theirs.items().size(); ++i) {
    const bool there = ours != nullptr && ours->is_list() && i < ours->items().size();
    ++found.cells;
    found.equal_cells += there && equal(ours->items()[i], theirs.items()[i], digits) ? 1 : 0;
  }
}

void compare_table(const Node& ours, const Claim& claim, SettledClaim& found) {
  const PrintedTable& table = *claim.table;
  bool labelled = ours.is_list() && ours.items().size() == table.rows.size();
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    std::vector<Node> cells;
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
      const Node* cell = ours.is_list() && i < ours.items().size()
                             ? ours.items()[i].find(table.columns[column])
                             : nullptr;
      const Node& theirs = table.rows[i].items()[column];
      const Digits digits{.decimals = table.decimals[column]};
      if (std::cmp_less(column, table.labels)) {
        labelled = labelled && cell != nullptr && equal(*cell, theirs, digits);
      } else if (!theirs.is_null()) {
        compare_cell(cell, theirs, digits, found);
      }
      cells.push_back(cell == nullptr ? Node() : *cell);
    }
    found.rows.push_back(Node::list(std::move(cells), {}));
  }
  found.computed = fmt::format("{} of {} cells equal", found.equal_cells, found.cells);
  const bool whole = labelled && found.equal_cells == found.cells;
  found.status = whole ? status_where_equal(claim) : Status::kOpen;
  if (claim.kind != ClaimKind::kTable) {
    found.cells = 0;  // Ours, which no document printed.
    found.equal_cells = 0;
  }
  if (!labelled) {
    found.reason = "the computed table has other rows";
  }
}

/// A verdict that is not the published one.
void compare_verdict(const Node& ours, SettledClaim& found) {
  const std::string verdict = ours.is_string() ? ours.as_string() : "";
  if (verdict == "confirmed" || verdict == "refuted") {
    found.status = Status::kRefuted;
  } else if (verdict == "partly confirmed") {
    found.status = Status::kCorrected;
  } else {
    found.reason = "the study is undecided";
  }
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Without the commas that set thousands apart.
std::string without_thousands(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between =
        i > 0 && i + 1 < text.size() && is_digit(text[i - 1]) && is_digit(text[i + 1]);
    if (text[i] != ',' || !between) {
      plain += text[i];
    }
  }
  return plain;
}

/// Whether an answer holds the words or the number computed, not within another number.
bool states(std::string_view answer, std::string_view computed) {
  const std::string plain = without_thousands(answer);
  const std::string wanted = without_thousands(computed);
  const auto part_of_number = [&](std::size_t at) {
    return at < plain.size() &&
           (is_digit(plain[at]) ||
            (plain[at] == '.' && at + 1 < plain.size() && is_digit(plain[at + 1])));
  };
  for (std::size_t at = plain.find(wanted); at != std::string::npos;
       at = plain.find(wanted, at + 1)) {
    const bool begins_inside =
        is_digit(wanted.front()) && at > 0 && (is_digit(plain[at - 1]) || plain[at - 1] == '.');
    const bool ends_inside = is_digit(wanted.back()) && part_of_number(at + wanted.size());
    if (!begins_inside && !ends_inside) {
      return true;
    }
  }
  return false;
}

void compare_value(const Node& ours, SettledClaim& found) {
  const Claim& claim = *found.claim;
  found.computed = shown(ours, claim.digits);
  const Node said =
      claim.value.is_null() && claim.kind == ClaimKind::kStatement && claim.derived.is_null()
          ? Node::boolean(true, {})
          : claim.value;
  if (!said.is_null() && equal(ours, said, claim.digits)) {
    found.status = status_where_equal(claim);
    if (claim.kind == ClaimKind::kQuestion &&
        (found.computed.empty() || !states(claim.answer, found.computed))) {
      found.status = Status::kOpen;
      found.reason = "the answer does not state it";
    }
  } else if (!claim.derived.is_null() && equal(ours, claim.derived, claim.digits)) {
    found.status = claim.kind == ClaimKind::kStatement ? Status::kRefuted
                   : claim.value.is_null()             ? Status::kDerived
                                                       : Status::kCorrected;
  } else if (claim.kind == ClaimKind::kVerdict) {
    compare_verdict(ours, found);
  } else if (claim.kind == ClaimKind::kStatement && claim.derived.is_null()) {
    found.status = Status::kRefuted;
  } else {
    found.reason = claim.derived.is_null() ? "not the value stated"
                                           : "neither the value said nor the one derived";
  }
}

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

void settle_on(const Reading& reading, SettledClaim& found) {
  const Claim& claim = *found.claim;
  if (reading.output.exit != claim.exit) {
    found.reason = fmt::format("exit {}: {}", reading.output.exit, first_line(reading.output.err));
    return;
  }
  if (!claim.says.empty() && reading.output.out.find(claim.says) == std::string::npos &&
      reading.output.err.find(claim.says) == std::string::npos) {
    found.reason = "the command does not say so";
    return;
  }
  if (claim.at.empty()) {
    found.computed = claim.says.empty() ? fmt::format("exit {}", claim.exit) : claim.says;
    found.status = status_where_equal(claim);
    return;
  }
  const auto figure = find_figure(reading.tree, claim.at);
  if (!figure) {
    found.reason = figure.error().front().message;
  } else if (claim.table) {
    compare_table(*figure, claim, found);
  } else {
    compare_value(*figure, found);
  }
}

/// Runs each command once.
class Commands {
 public:
  Commands(const LedgerData& data, const CommandRunner& run) : data_(data), run_(run) {}

  /// Reads a command's output; for several, joined by "&&", a list. `json` asks for that format.
  const Reading& reading(const std::string& command, bool json) {
    const auto [place, is_new] = readings_.try_emplace({command, json});
    Reading& found = place->second;
    constexpr std::string_view kAnd = " && ";
    const std::size_t and_then = command.find(kAnd);
    if (!is_new || command.empty()) {
      return found;
    }
    if (and_then == std::string::npos) {
      found.output = run_(words(command, json));
      if (auto tree = document::parse_json(found.output.out, command); json && tree) {
        found.tree = std::move(*tree);
      }
      return found;
    }
    const Reading first = reading(command.substr(0, and_then), json);
    const Reading rest = reading(command.substr(and_then + kAnd.size()), json);
    found.output = first.output.exit == 0 ? rest.output : first.output;
    std::vector<Node> trees = {first.tree};
    if (command.find(kAnd, and_then + kAnd.size()) == std::string::npos) {
      trees.push_back(rest.tree);
    } else {
      trees.insert(trees.end(), rest.tree.items().begin(), rest.tree.items().end());
    }
    found.tree = Node::list(std::move(trees), {});
    return found;
  }

 private:
  [[nodiscard]] std::vector<std::string> words(std::string_view command, bool json) const {
    std::vector<std::string> all;
    while (!command.empty()) {
      const std::size_t end = std::min(command.find(' '), command.size());
      const std::string_view word = command.substr(0, end);
      if (word == "DIR") {
        all.push_back(data_.bench_data);
      } else if (word == "FILE") {
        all.push_back(data_.measured);
      } else if (!word.empty()) {
        all.emplace_back(word);
      }
      command.remove_prefix(std::min(end + 1, command.size()));
    }
    if (json) {
      all.insert(all.end(), {"--format", "json"});
    }
    return all;
  }

  const LedgerData& data_;
  const CommandRunner& run_;
  std::map<std::pair<std::string, bool>, Reading> readings_;
};

SettledClaim settle_claim(const Claim& claim, const LedgerData& data, Commands& commands) {
  SettledClaim found;
  found.claim = &claim;
  const bool no_tables = claim.needs_tables() && data.bench_data.empty();
  const bool no_measured = claim.needs_measured() && data.measured.empty();
  if (!claim.unpublished.empty()) {
    found.status = Status::kNotReproducible;
    found.reason = claim.unpublished;
  } else if (!claim.open.empty()) {
    found.reason = claim.open;
  } else if (no_tables || no_measured) {
    found.status = Status::kSkipped;
    found.reason = no_tables ? "needs tables" : "needs measured runs";
  } else {
    settle_on(commands.reading(claim.command, !claim.at.empty()), found);
  }
  return found;
}

}  // namespace

std::int64_t Settlement::count(Status status) const {
  std::int64_t sum = 0;
  for (const SettledRow& row : rows) {
    sum += std::ranges::count(row.claims, status, &SettledClaim::status);
  }
  return sum;
}

std::vector<const SettledClaim*> Settlement::surprises(bool strict) const {
  std::vector<const SettledClaim*> found;
  for (const SettledRow& row : rows) {
    for (const SettledClaim& claim : row.claims) {
      if (!claim.is_expected() || (strict && claim.status == Status::kSkipped)) {
        found.push_back(&claim);
      }
    }
  }
  return found;
}

Settlement settle(const Ledger& ledger,
                  const std::vector<std::string>& documents,
                  const LedgerData& data,
                  const CommandRunner& run) {
  Settlement all{.ledger = &ledger, .rows = {}};
  const auto tables = keep_tables(data.bench_data);  // Read once for all commands.
  Commands commands(data, run);
  for (const LedgerRow& row : ledger.rows) {
    if (!documents.empty() && std::ranges::find(documents, row.document) == documents.end()) {
      continue;
    }
    SettledRow settled{.row = &row, .claims = {}};
    for (const Claim& claim : row.claims) {
      settled.claims.push_back(settle_claim(claim, data, commands));
    }
    all.rows.push_back(std::move(settled));
  }
  return all;
}

}  // namespace ridgeline::studies
