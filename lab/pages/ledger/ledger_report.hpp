#pragma once

#include <string>
#include <utility>
#include <vector>

#include "document/document.hpp"
#include "lab/studies/ledger/settle.hpp"
#include "report/palette.hpp"

namespace ridgeline::report {

/// A settled ledger as a tree (data/schemas/ledger.schema.json): counts, then rows with their
/// claims.
[[nodiscard]] document::Node ledger_tree(const studies::Settlement& settled);
/// One line per claim, and the counts.
[[nodiscard]] std::string ledger_table(const studies::Settlement& settled, const TextStyle& style);
/// A page of Markdown: a section per document; questions with their answers.
[[nodiscard]] std::string ledger_markdown(const studies::Settlement& settled);
/// One HTML file that asks nothing of the network: published beside computed, with charts.
[[nodiscard]] std::string ledger_html(const studies::Settlement& settled);

/// What holds, what falls and what is open: titles with their claims.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> ledger_overview(
    const studies::Settlement& settled);
/// "187 claims: 120 reproduced, 9 refuted; of 620 printed cells 620 equal."
[[nodiscard]] std::string ledger_summary(const studies::Settlement& settled);
/// What a claim says beyond its two values: why, or the reason for its status; may be empty.
[[nodiscard]] std::string remark(const studies::SettledClaim& claim);
/// The command as a person types it; of a claim that needs none, its sum.
[[nodiscard]] std::string typed_command(const studies::Claim& claim);

}  // namespace ridgeline::report
