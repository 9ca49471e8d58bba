#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/embedded_file.hpp"

namespace ridgeline::studies {

/// lab/data/studies/*, compiled in.
std::span<const document::EmbeddedFile> ledger_files();

/// What a document claimed, by its form.
enum class ClaimKind : std::uint8_t {
  kNumber,
  kTable,  ///< A printed table, whole.
  kVerdict,
  kStatement,
  kQuestion,
  kFollowUp,
};
inline constexpr auto kClaimKinds = std::to_array<std::string_view>(
    {"number", "table", "verdict", "statement", "question", "follow-up"});

/// What came of a claim. Computed, never stored.
enum class Status : std::uint8_t {
  kConfirmed,  ///< A verdict that holds.
  kDone,       ///< A follow-up whose result agrees with a figure from the outside.
  kWorks,      ///< A follow-up that a command does; the figure that it gives is its own.
  kAnswered,  ///< A question whose command gives the number that the answer states; of a follow-up,
              ///< a command that is refused with what to do instead.
  kReproduced,       ///< Equal to the printed digits.
  kCorrected,        ///< Another number, the one that the claim derives.
  kDerived,          ///< Ours, beside what was said without a number.
  kRefuted,          ///< A statement or a verdict that does not hold.
  kNotReproducible,  ///< Nothing to compute it from was published.
  kOpen,             ///< None of these yet: the reason says why.
  kSkipped,          ///< Its data are not at hand.
};
inline constexpr auto kStatuses = std::to_array<std::string_view>({"confirmed",
                                                                   "done",
                                                                   "works",
                                                                   "answered",
                                                                   "reproduced",
                                                                   "corrected",
                                                                   "derived",
                                                                   "refuted",
                                                                   "not reproducible",
                                                                   "open",
                                                                   "skipped"});
[[nodiscard]] std::string_view name(ClaimKind kind);
[[nodiscard]] std::string_view name(Status status);

/// How exactly a number was printed.
struct Digits {
  std::int64_t decimals = 0;
  std::optional<std::int64_t> significant = {};  ///< In place of decimals, for powers of ten.
};
/// The number as so many digits print it; thousands are not set apart.
[[nodiscard]] std::string printed(double value, const Digits& digits);

/// A printed table, row by row.
struct PrintedTable {
  std::vector<std::string> columns;    ///< Their names in the command's JSON.
  std::vector<std::int64_t> decimals;  ///< Digits of each column behind the point.
  std::int64_t labels = 1;             ///< Leading columns that only name the row.
  std::vector<document::Node> rows;    ///< Lists, one item per column.
  std::vector<std::string> chart;      ///< Columns drawn against the first one; none: no chart.
};

/// One number, table, verdict, sentence, question or follow-up.
struct Claim {
  std::string id;  ///< "H33.1.2": the second claim of the row H33.1; a row of one gives it its own.
  ClaimKind kind = ClaimKind::kNumber;
  std::string said;     ///< As printed, or what was asked.
  std::string command;  ///< Without the program's name, several joined by " && "; DIR and FILE
                        ///< stand for the data.
  /// Path in the command's JSON (figure.hpp), or a sum over such paths.
  std::string at;
  document::Node value = {};    ///< Printed; of a follow-up or an answer, the result it states.
  document::Node derived = {};  ///< Ours, where it is another one.
  Digits digits;
  std::optional<PrintedTable> table = {};
  std::string says = {};                  ///< Words that the command prints, on either output.
  std::int64_t exit = 0;                  ///< What the command ends with.
  std::string unpublished = {};           ///< What it would take and was not published.
  std::string open = {};                  ///< What is missing on our side.
  std::string answer = {};                ///< Answer to a question.
  std::string why = {};                   ///< Why the computed value is another.
  std::string against = {};               ///< What from the outside a follow-up is held against.
  Status expected = Status::kReproduced;  ///< That of an equal value where the ledger is silent.

  [[nodiscard]] bool needs_tables() const;    ///< The command has DIR.
  [[nodiscard]] bool needs_measured() const;  ///< The command has FILE.
};

/// The status of a claim whose value is the one stated, which most are to have.
[[nodiscard]] Status status_where_equal(const Claim& claim);

/// Claims that one line of a document makes.
struct LedgerRow {
  std::string id;  ///< "H33.1"
  std::string document;
  std::string section;
  std::vector<Claim> claims;
};

struct LedgerDocument {
  std::string id;  ///< "003"
  std::string title;
  std::string about;
};

/// Every claim of the documents.
struct Ledger {
  std::string title;
  std::string about;
  std::vector<LedgerDocument> documents;
  std::vector<LedgerRow> rows;
};

/// A ledger from its document. Problems name row and claim.
[[nodiscard]] core::Result<Ledger> read_ledger(const document::Node& document);
/// lab/data/studies/original.yaml.
[[nodiscard]] core::Result<Ledger> original_ledger();

}  // namespace ridgeline::studies
