#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "lab/pages/ledger/ledger_report.hpp"
#include "lab/studies/ledger/ledger.hpp"
#include "lab/studies/ledger/settle.hpp"

namespace ridgeline::report {
namespace {

using document::integer_node;
using document::list_node;
using document::MapBuilder;
using document::text_node;

using document::Node;
using studies::Claim;
using studies::SettledClaim;

constexpr std::int64_t kLedgerSchemaVersion = 1;

/// Null for a text that is empty.
Node optional_text(const std::string& text) {
  return text.empty() ? Node() : text_node(text);
}

Node needs_tree(const Claim& claim) {
  std::vector<Node> needs;
  if (claim.needs_tables()) {
    needs.push_back(text_node("tables"));
  }
  if (claim.needs_measured()) {
    needs.push_back(text_node("measured"));
  }
  return list_node(std::move(needs));
}

Node cells_tree(const SettledClaim& found) {
  std::vector<Node> columns;
  for (const std::string& column : found.claim->table->columns) {
    columns.push_back(text_node(column));
  }
  return MapBuilder()
      .add("printed", found.cells)
      .add("equal", found.equal_cells)
      .add("columns", list_node(std::move(columns)))
      .add("published_rows", list_node(found.claim->table->rows))
      .add("computed_rows", list_node(found.rows))
      .build();
}

Node claim_tree(const SettledClaim& found) {
  const Claim& claim = *found.claim;
  return MapBuilder()
      .add("id", claim.id)
      .add("kind", studies::name(claim.kind))
      .add("said", claim.said)
      .add("value", claim.value)
      .add("derived", claim.derived)
      .add("computed", optional_text(found.computed))
      .add("status", studies::name(found.status))
      .add("expected", studies::name(claim.expected))
      .add("needs", needs_tree(claim))
      .add("command", claim.command.empty() ? Node() : text_node(typed_command(claim)))
      .add("at", optional_text(claim.at))
      .add("answer", optional_text(claim.answer))
      .add("why", optional_text(claim.why))
      .add("reason", optional_text(found.reason))
      .add("table", claim.table ? cells_tree(found) : Node())
      .build();
}

}  // namespace

Node ledger_tree(const studies::Settlement& settled) {
  MapBuilder statuses;
  for (std::size_t i = 0; i < studies::kStatuses.size(); ++i) {
    statuses.add(studies::kStatuses[i],
                 integer_node(settled.count(static_cast<studies::Status>(i))));
  }
  std::int64_t cells = 0;
  std::int64_t equal = 0;
  std::vector<Node> rows;
  for (const auto& row : settled.rows) {
    std::vector<Node> claims;
    for (const SettledClaim& claim : row.claims) {
      claims.push_back(claim_tree(claim));
      cells += claim.cells;
      equal += claim.equal_cells;
    }
    rows.push_back(MapBuilder()
                       .add("id", row.row->id)
                       .add("document", row.row->document)
                       .add("section", row.row->section)
                       .add("claims", list_node(std::move(claims)))
                       .build());
  }
  std::vector<Node> surprises;
  for (const SettledClaim* claim : settled.surprises(false)) {
    surprises.push_back(text_node(claim->claim->id));
  }
  return MapBuilder()
      .add("schema_version", kLedgerSchemaVersion)
      .add("statuses", statuses.build())
      .add("cells", cells)
      .add("cells_equal", equal)
      .add("unexpected", list_node(std::move(surprises)))
      .add("rows", list_node(std::move(rows)))
      .build();
}

}  // namespace ridgeline::report
