#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lab/pages/ledger/ledger_report.hpp"
#include "lab/studies/ledger/ledger.hpp"
#include "lab/studies/ledger/settle.hpp"

namespace ridgeline::report {
namespace {

using studies::Claim;
using studies::ClaimKind;
using studies::LedgerDocument;
using studies::SettledClaim;
using studies::Settlement;

/// A text inside a table of Markdown.
std::string in_table(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '|') {
      safe += "\\|";
    } else if (c == '<') {
      safe += "&lt;";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string status_text(const SettledClaim& found) {
  const std::string why = remark(found);
  return fmt::format(
      "{}{}{}", studies::name(found.status), why.empty() ? "" : ": ", why.empty() ? "" : why);
}

/// Claims of a row; a command that several share stands once.
std::string claims_text(const studies::SettledRow& row) {
  std::string text;
  std::string before;
  for (const SettledClaim& found : row.claims) {
    const std::string command = typed_command(*found.claim);
    text += fmt::format("| {} | {} | {} | {} | {} |\n",
                        found.claim->id,
                        in_table(found.claim->said),
                        in_table(found.computed),
                        in_table(status_text(found)),
                        command.empty()     ? ""
                        : command == before ? "the same"
                                            : "`" + in_table(command) + "`");
    before = command;
  }
  return text;
}

std::string question_text(const SettledClaim& found) {
  const Claim& claim = *found.claim;
  std::string text = fmt::format("**{} {}** {}", claim.id, claim.said, claim.answer);
  if (!claim.command.empty()) {
    text += fmt::format(" `{}`", typed_command(claim));
  }
  if (found.status != studies::Status::kAnswered) {
    text += fmt::format(" ({})", status_text(found));
  }
  return text + "\n\n";
}

/// The claims of a document, then its questions.
std::string content_text(const Settlement& settled, const LedgerDocument& document) {
  std::string claims;
  std::string questions;
  for (const auto& row : settled.rows) {
    if (row.row->document != document.id) {
      continue;
    }
    if (row.claims.front().claim->kind == ClaimKind::kQuestion) {
      for (const SettledClaim& claim : row.claims) {
        questions += question_text(claim);
      }
    } else {
      claims += claims_text(row);
    }
  }
  std::string text;
  if (!claims.empty()) {
    text += "| id | said | computed | status | command |\n|---|---|---|---|---|\n" + claims;
  }
  if (!questions.empty()) {
    questions.pop_back();
    text += (claims.empty() ? "" : "\n") + questions;
  }
  return text;
}

/// Half a page before the claims.
std::string overview_text(const Settlement& settled) {
  std::string text = "\n## What holds, what falls, what is open\n\n";
  for (const auto& [title, claims] : ledger_overview(settled)) {
    text += fmt::format("* **{}**: {}.\n", title, claims);
  }
  return text;
}

std::string head_text(const std::string& title, const std::string& about) {
  return fmt::format("{}\n\n{}{}", title, about, about.empty() ? "" : "\n\n");
}

}  // namespace

std::string ledger_markdown(const Settlement& settled) {
  std::vector<std::pair<const LedgerDocument*, std::string>> parts;
  for (const LedgerDocument& document : settled.ledger->documents) {
    if (std::string content = content_text(settled, document); !content.empty()) {
      parts.emplace_back(&document, std::move(content));
    }
  }
  if (parts.size() == 1) {
    const auto& [document, content] = parts.front();
    return head_text("# " + document->title, document->about) + ledger_summary(settled) + "\n\n" +
           content;
  }
  std::string text = head_text("# " + settled.ledger->title, settled.ledger->about) +
                     ledger_summary(settled) + "\n" + overview_text(settled);
  for (const auto& [document, content] : parts) {
    text += "\n" + head_text("## " + document->title, document->about) + content;
  }
  return text;
}

}  // namespace ridgeline::report
