#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/studies/ledger/ledger.hpp"

namespace ridgeline::studies {

/// What a command printed.
struct CommandOutput {
  int exit = 0;
  std::string out;
  std::string err;
};
/// Runs the words behind the program's name, as the command line would.
using CommandRunner = std::function<CommandOutput(const std::vector<std::string>& words)>;

/// The data that commands are given.
struct LedgerData {
  std::string bench_data;  ///< For DIR; empty: none.
  std::string measured;    ///< For FILE; empty: none.
};

/// A claim with what came of it.
struct SettledClaim {
  const Claim* claim = nullptr;
  Status status = Status::kOpen;
  std::string computed;  ///< As the printed digits have it.
  std::string reason;    ///< Where the status is not plain from the two values.
  /// For a table: cells that the document printed, those that are equal, and ours in its columns.
  std::int64_t cells = 0;
  std::int64_t equal_cells = 0;
  std::vector<document::Node> rows;

  [[nodiscard]] bool is_expected() const {
    return status == claim->expected || status == Status::kSkipped;
  }
};

struct SettledRow {
  const LedgerRow* row = nullptr;
  std::vector<SettledClaim> claims;
};

/// A ledger's rows, in its order.
struct Settlement {
  const Ledger* ledger = nullptr;
  std::vector<SettledRow> rows;

  [[nodiscard]] std::int64_t count(Status status) const;
  /// The claims whose status is not the expected one; with `strict`, skipped ones too.
  [[nodiscard]] std::vector<const SettledClaim*> surprises(bool strict) const;
};

/// Runs what the claims of the documents named need, each command once, and computes their status.
/// `documents` empty: all.
[[nodiscard]] Settlement settle(const Ledger& ledger,
                                const std::vector<std::string>& documents,
                                const LedgerData& data,
                                const CommandRunner& run);

}  // namespace ridgeline::studies
