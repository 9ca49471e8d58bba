#include <algorithm>
#include <string>
#include <string_view>
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
using studies::Status;

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

/// The claims of a status in words, with their ids.
std::string named_claims(const Settlement& settled, Status status) {
  std::vector<std::string> names;
  for (const auto& row : settled.rows) {
    for (const SettledClaim& found : row.claims) {
      if (found.status == status) {
        names.push_back(fmt::format("{} ({})", found.claim->said, found.claim->id));
      }
    }
  }
  return fmt::format("{}", fmt::join(names, "; "));
}

/// The rows that have claims of a status, with their numbers.
std::string counted_rows(const Settlement& settled, Status status) {
  std::vector<std::string> names;
  for (const auto& row : settled.rows) {
    const auto count = std::ranges::count(row.claims, status, &SettledClaim::status);
    if (count > 0) {
      names.push_back(fmt::format("{} ({})", row.row->id, count));
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string verdicts_text(const Settlement& settled) {
  std::vector<std::string> verdicts;
  for (const auto& row : settled.rows) {
    for (const SettledClaim& found : row.claims) {
      if (found.claim->kind == ClaimKind::kVerdict) {
        verdicts.push_back(fmt::format(
            "{} \"{}\" is {}", found.claim->id, found.claim->said, studies::name(found.status)));
      }
    }
  }
  return fmt::format("{}", fmt::join(verdicts, "; "));
}

/// Half a page before the claims: what holds, what falls, what is open.
std::string overview_text(const Settlement& settled) {
  const std::vector<std::pair<std::string_view, std::string>> lines = {
      {"Verdicts", verdicts_text(settled)},
      {"Holds, to the printed digits", counted_rows(settled, Status::kReproduced)},
      {"Falls", named_claims(settled, Status::kRefuted)},
      {"Another number than the printed one", counted_rows(settled, Status::kCorrected)},
      {"Done, against figures from the outside", counted_rows(settled, Status::kDone)},
      {"Works, by a command whose figure is its own", counted_rows(settled, Status::kWorks)},
      {"Not reproducible", named_claims(settled, Status::kNotReproducible)},
      {"Open", named_claims(settled, Status::kOpen)}};
  std::string text = "\n## What holds, what falls, what is open\n\n";
  for (const auto& [title, claims] : lines) {
    if (!claims.empty()) {
      text += fmt::format("* **{}**: {}.\n", title, claims);
    }
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
