#include "lab/studies/ledger/ledger.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"

namespace ridgeline::studies {
namespace {

using document::Node;
using document::ObjectReader;

constexpr document::Range<std::int64_t> kDecimals{.lowest = 0, .highest = 12};

template <class Enum, std::size_t Count>
std::optional<Enum> choice_of(ObjectReader& reader,
                              std::string_view key,
                              const std::array<std::string_view, Count>& names) {
  const std::vector<std::string> choices(names.begin(), names.end());
  const auto word = reader.choice(key, choices);
  if (!word) {
    return std::nullopt;
  }
  return static_cast<Enum>(std::ranges::find(names, *word) - names.begin());
}

std::vector<std::string> strings(ObjectReader& reader, std::string_view key) {
  std::vector<std::string> words;
  const Node* node = reader.node(key);
  if (node == nullptr) {
    return words;
  }
  if (!node->is_list() || !std::ranges::all_of(node->items(), &Node::is_string)) {
    reader.problem(key, fmt::format("found {}, expected a list of names", node->describe()));
    return words;
  }
  for (const Node& item : node->items()) {
    words.push_back(item.as_string());
  }
  return words;
}

std::optional<PrintedTable> read_table(ObjectReader& reader) {
  PrintedTable table;
  table.columns = strings(reader, "columns");
  table.decimals = reader.integers("decimals", kDecimals).value_or(std::vector<std::int64_t>());
  table.labels = reader.integer("labels", {.lowest = 0, .highest = 4}).value_or(1);
  table.chart = strings(reader, "chart");
  const Node* rows = reader.node("rows");
  if (table.columns.empty() && rows == nullptr) {
    return std::nullopt;
  }
  if (table.columns.size() != table.decimals.size()) {
    reader.problem("decimals", "expected one number per column");
  }
  const bool sound = rows != nullptr && rows->is_list() &&
                     std::ranges::all_of(rows->items(), [&](const Node& row) {
                       return row.is_list() && row.items().size() == table.columns.size();
                     });
  if (!sound) {
    reader.problem("rows", "expected lists of one value per column");
    return std::nullopt;
  }
  table.rows = rows->items();
  return table;
}

/// What a claim lacks for its status to be computed.
std::string_view missing_part(const Claim& claim) {
  if (!claim.unpublished.empty() || !claim.open.empty()) {
    return claim.unpublished.empty() || claim.open.empty() ? "" : "unpublished or open, not both";
  }
  if (claim.command.empty() && claim.at.empty()) {
    return "a command, a sum in `at`, `unpublished` or `open`";
  }
  if (claim.kind == ClaimKind::kTable) {
    return claim.table ? "" : "columns and rows";
  }
  if (claim.at.empty() && claim.says.empty() && claim.exit == 0) {
    return "`at`, `says` or `exit`";
  }
  if (claim.kind == ClaimKind::kQuestion && claim.answer.empty()) {
    return "an answer";
  }
  return "";
}

Claim read_claim(const Node& node, const Claim& of_row, ObjectReader& reader) {
  Claim claim;
  claim.kind = choice_of<ClaimKind>(reader, "kind", kClaimKinds).value_or(ClaimKind::kNumber);
  claim.said = reader.required_string("said");
  claim.command = reader.string("command").value_or(of_row.command);
  claim.at = reader.string("at").value_or("");
  for (const auto& [key, place] :
       {std::pair("value", &claim.value), std::pair("derived", &claim.derived)}) {
    if (const Node* found = reader.node(key)) {
      *place = *found;
    }
  }
  claim.digits.decimals = reader.integer("digits", kDecimals).value_or(0);
  claim.digits.significant = reader.integer("significant", kDecimals);
  claim.table = read_table(reader);
  claim.says = reader.string("says").value_or("");
  claim.exit = reader.integer("exit", {.lowest = 0, .highest = 255}).value_or(0);
  claim.unpublished = reader.string("unpublished").value_or("");
  claim.open = reader.string("open").value_or("");
  claim.answer = reader.string("answer").value_or("");
  claim.why = reader.string("why").value_or("");
  claim.against = reader.string("against").value_or(of_row.against);
  claim.expected =
      choice_of<Status>(reader, "expected", kStatuses).value_or(status_where_equal(claim));
  if (const auto missing = missing_part(claim); !missing.empty()) {
    reader.problem("said",
                   fmt::format("{} lacks {}",
                               node.find("said") == nullptr ? std::string("the claim")
                                                            : core::quote(claim.said),
                               missing));
  }
  reader.finish();
  return claim;
}

LedgerRow read_row(const Node& node, const std::string& path, core::Errors& errors) {
  ObjectReader reader(node, path, errors);
  LedgerRow row;
  row.id = reader.required_string("id");
  row.document = reader.required_string("document");
  row.section = reader.required_string("section");
  Claim of_row;  // What its claims share.
  of_row.command = reader.string("command").value_or("");
  of_row.against = reader.string("against").value_or("");
  const Node* claims = reader.node("claims");
  if (claims == nullptr || !claims->is_list() || claims->items().empty()) {
    reader.problem("claims", "expected a list of claims");
    return row;
  }
  const auto& items = claims->items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string id = items.size() == 1 ? row.id : fmt::format("{}.{}", row.id, i + 1);
    ObjectReader of_claim(items[i], id, errors);
    row.claims.push_back(read_claim(items[i], of_row, of_claim));
    row.claims.back().id = id;
  }
  reader.finish();
  return row;
}

const Node* list_under(ObjectReader& reader, std::string_view key) {
  const Node* list = reader.node(key);
  if (list != nullptr && list->is_list()) {
    return list;
  }
  reader.problem(key, "expected a list");
  return nullptr;
}

bool has_word(std::string_view command, std::string_view word) {
  for (std::size_t at = command.find(word); at != std::string_view::npos;
       at = command.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || command[at - 1] == ' ') && (end == command.size() || command[end] == ' ')) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string_view name(ClaimKind kind) {
  return kClaimKinds[static_cast<std::size_t>(kind)];
}

std::string_view name(Status status) {
  return kStatuses[static_cast<std::size_t>(status)];
}

Status status_where_equal(const Claim& claim) {
  switch (claim.kind) {
    case ClaimKind::kVerdict:
      return Status::kConfirmed;
    case ClaimKind::kQuestion:
      return Status::kAnswered;
    case ClaimKind::kFollowUp:
      return claim.exit != 0         ? Status::kAnswered
             : claim.against.empty() ? Status::kWorks
                                     : Status::kDone;
    case ClaimKind::kNumber:
    case ClaimKind::kTable:
    case ClaimKind::kStatement:
      break;
  }
  return Status::kReproduced;
}

std::string printed(double value, const Digits& digits) {
  if (digits.significant) {
    return fmt::format("{:.{}e}", value, std::max<std::int64_t>(*digits.significant - 1, 0));
  }
  std::string text = fmt::format("{:.{}f}", value, digits.decimals);
  // Nothing is printed as a negative zero.
  return text.find_first_not_of("-0.") == std::string::npos && text.starts_with('-')
             ? text.substr(1)
             : text;
}

bool Claim::needs_tables() const {
  return has_word(command, "DIR");
}

bool Claim::needs_measured() const {
  return has_word(command, "FILE");
}

core::Result<Ledger> read_ledger(const Node& document) {
  core::Errors errors;
  ObjectReader reader(document, "", errors);
  Ledger ledger;
  ledger.title = reader.required_string("title");
  ledger.about = reader.required_string("about");
  if (const Node* documents = list_under(reader, "documents")) {
    for (const Node& item : documents->items()) {
      ObjectReader one(item, "documents", errors);
      LedgerDocument read;
      read.id = one.required_string("id");
      read.title = one.required_string("title");
      read.about = one.string("about").value_or("");
      one.finish();
      ledger.documents.push_back(std::move(read));
    }
  }
  if (const Node* rows = list_under(reader, "rows")) {
    for (const Node& item : rows->items()) {
      ledger.rows.push_back(read_row(item, fmt::format("rows[{}]", ledger.rows.size()), errors));
    }
  }
  reader.finish();
  for (const LedgerRow& row : ledger.rows) {
    if (std::ranges::find(ledger.documents, row.document, &LedgerDocument::id) ==
        ledger.documents.end()) {
      errors.push_back({.field = row.id,
                        .message = fmt::format("document \"{}\" is not listed", row.document),
                        .where = document.where()});
    }
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return ledger;
}

core::Result<Ledger> original_ledger() {
  const auto files = ledger_files();
  RIDGELINE_CHECK(files.size() == 1, "one ledger");
  const auto document = document::parse_json(files.front().text, std::string(files.front().name));
  if (!document) {
    return core::fail(document.error());
  }
  return read_ledger(*document);
}

}  // namespace ridgeline::studies
