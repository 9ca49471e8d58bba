#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lab/pages/ledger/ledger_report.hpp"
#include "lab/studies/ledger/ledger.hpp"
#include "lab/studies/ledger/settle.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/table/grid.hpp"

namespace ridgeline::report {

using studies::ClaimKind;
using studies::SettledClaim;
using studies::SettledRow;
using studies::Settlement;
using studies::Status;

namespace {

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
    const auto count = std::ranges::count_if(row.claims, [&](const SettledClaim& found) {
      return found.status == status && found.claim->kind != ClaimKind::kQuestion;
    });
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

/// "36 of 36"
std::string answered_questions(const Settlement& settled) {
  std::int64_t asked = 0;
  std::int64_t answered = 0;
  for (const SettledRow& row : settled.rows) {
    for (const SettledClaim& found : row.claims) {
      asked += found.claim->kind == ClaimKind::kQuestion ? 1 : 0;
      answered +=
          found.claim->kind == ClaimKind::kQuestion && found.status == Status::kAnswered ? 1 : 0;
    }
  }
  return asked == 0 ? "" : fmt::format("{} of {}", answered, asked);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> ledger_overview(const Settlement& settled) {
  std::vector<std::pair<std::string, std::string>> lines = {
      {"Verdicts", verdicts_text(settled)},
      {"Holds, to the printed digits", counted_rows(settled, Status::kReproduced)},
      {"Falls", named_claims(settled, Status::kRefuted)},
      {"Another number than the printed one", counted_rows(settled, Status::kCorrected)},
      {"Ours, where no number was printed", counted_rows(settled, Status::kDerived)},
      {"Done, against figures from the outside", counted_rows(settled, Status::kDone)},
      {"Works, by a command whose figure is its own", counted_rows(settled, Status::kWorks)},
      {"Refused, with what to do instead", counted_rows(settled, Status::kAnswered)},
      {"Questions answered", answered_questions(settled)},
      {"Not reproducible", named_claims(settled, Status::kNotReproducible)},
      {"Open", named_claims(settled, Status::kOpen)}};
  std::erase_if(lines, [](const auto& line) { return line.second.empty(); });
  return lines;
}

std::string ledger_summary(const Settlement& settled) {
  std::int64_t claims = 0;
  std::int64_t cells = 0;
  std::int64_t equal = 0;
  for (const SettledRow& row : settled.rows) {
    claims += std::ssize(row.claims);
    for (const SettledClaim& claim : row.claims) {
      cells += claim.cells;
      equal += claim.equal_cells;
    }
  }
  std::vector<std::string> counts;
  for (std::size_t i = 0; i < studies::kStatuses.size(); ++i) {
    if (const auto count = settled.count(static_cast<Status>(i)); count > 0) {
      counts.push_back(fmt::format("{} {}", count, studies::kStatuses[i]));
    }
  }
  std::string text = fmt::format("{}: {}", counted(claims, "claim"), fmt::join(counts, ", "));
  if (cells > 0) {
    text += fmt::format("; of {} printed table cells {} are equal", cells, equal);
  }
  return text + ".";
}

std::string remark(const SettledClaim& claim) {
  std::vector<std::string> remarks;
  if (claim.status == Status::kDone) {
    remarks.push_back("against " + claim.claim->against);
  }
  if (!claim.reason.empty()) {
    remarks.push_back(claim.reason);
  }
  if (claim.status != Status::kSkipped && !claim.claim->why.empty()) {
    remarks.push_back(claim.claim->why);
  }
  return fmt::format("{}", fmt::join(remarks, "; "));
}

std::string typed_command(const studies::Claim& claim) {
  if (claim.command.empty()) {
    return claim.at;
  }
  std::string typed = "ridgeline " + claim.command;
  constexpr std::string_view kAnd = "&& ";
  for (std::size_t at = typed.find(kAnd); at != std::string::npos; at = typed.find(kAnd, at + 1)) {
    typed.insert(at + kAnd.size(), "ridgeline ");
  }
  return typed;
}

std::string ledger_table(const Settlement& settled, const TextStyle& style) {
  constexpr std::size_t kSaid = 1;
  constexpr std::size_t kComputed = 2;
  Grid grid({{.title = "id", .left = true},
             {.title = "said", .left = true},
             {.title = "computed", .left = true},
             {.title = "status", .left = true}});
  for (const SettledRow& row : settled.rows) {
    for (const SettledClaim& claim : row.claims) {
      std::string status(studies::name(claim.status));
      if (claim.status == Status::kSkipped) {
        status += ": " + claim.reason;
      }
      const auto& palette = style.palette;
      grid.add({claim.claim->id,
                printable(claim.claim->said, style.ascii),
                printable(claim.computed, style.ascii),
                claim.is_expected() ? std::move(status) : palette.paint(palette.bad, status)});
    }
  }
  const std::vector<std::size_t> shrinkable = {kSaid, kComputed};
  return grid.render(style, shrinkable) + "\n" + ledger_summary(settled) + "\n";
}

}  // namespace ridgeline::report
