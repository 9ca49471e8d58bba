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

using studies::SettledClaim;
using studies::SettledRow;
using studies::Settlement;
using studies::Status;

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
