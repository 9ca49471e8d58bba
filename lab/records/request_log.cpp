#include "lab/records/request_log.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "document/gzip.hpp"
#include "evidence/validate/result_document.hpp"
#include "lab/records/evidence_words.hpp"
#include "workload/traces/reading/csv.hpp"

namespace ridgeline::records {
namespace {

namespace fs = std::filesystem;

/// What logs of load generators call a request that was answered.
constexpr auto kSuccess = std::to_array<std::string_view>(
    {"ok", "success", "successful", "completed", "true", "1", "200"});

std::optional<double> real_of(std::string_view cell, double lowest, double highest) {
  const auto value = core::parse_whole<double>(cell);
  return value && *value >= lowest && *value <= highest ? value : std::nullopt;
}

/// Where the columns stand; those that a log can do without are absent.
struct Columns {
  std::size_t count = 0;
  std::optional<std::size_t> run;
  std::optional<std::size_t> phase;
  std::optional<std::size_t> status;
  std::size_t arrival = 0;
  std::size_t input = 0;
  std::size_t output = 0;
};

core::Result<Columns> read_header(std::string_view line, const std::string& path) {
  const auto names = workload::split_csv(line);
  Columns columns;
  columns.count = names.size();
  core::Errors errors;
  const auto find = [&](std::string_view name) -> std::optional<std::size_t> {
    const auto at = std::ranges::find(names, name);
    return at == names.end() ? std::nullopt
                             : std::optional(static_cast<std::size_t>(at - names.begin()));
  };
  const auto require = [&](std::string_view name) {
    const auto at = find(name);
    if (!at) {
      errors.push_back({.field = std::string(name),
                        .message = fmt::format("column {} is missing from the header", name),
                        .where = {.file = path, .line = 1}});
    }
    return at.value_or(0);
  };
  columns.run = find("exp");
  columns.phase = find("phase");
  columns.status = find("status");
  columns.arrival = require("arrival_s");
  columns.input = require("input_tokens");
  columns.output = require("output_tokens");
  return errors.empty() ? core::Result<Columns>(columns) : core::fail(std::move(errors));
}

/// A row of the run and phase that is looked for.
class RowReader {
 public:
  RowReader(const Columns& columns, const std::string& run, const std::string& phase)
      : columns_(columns), run_(run), phase_(phase) {}

  void read(std::string_view line, std::int64_t number) {
    const auto cells = workload::split_csv(line);
    if (cells.size() != columns_.count) {
      bad(fmt::format("line {} has {} cells, expected {}", number, cells.size(), columns_.count));
      return;
    }
    const bool other_run = columns_.run && !run_.empty() && cells[*columns_.run] != run_;
    const bool other_phase = columns_.phase && cells[*columns_.phase] != phase_;
    if (other_run || other_phase || (columns_.status && failed(cells[*columns_.status]))) {
      return;
    }
    const auto arrival = real_of(cells[columns_.arrival], 0.0, kLongestRunSeconds);
    const auto input = real_of(cells[columns_.input], 1.0, kMostTokens);
    const auto output = real_of(cells[columns_.output], 1.0, kMostTokens);
    if (!arrival) {
      bad_cell(number, "arrival_s", cells[columns_.arrival], 0.0, kLongestRunSeconds);
    } else if (!input) {
      bad_cell(number, "input_tokens", cells[columns_.input], 1.0, kMostTokens);
    } else if (!output) {
      bad_cell(number, "output_tokens", cells[columns_.output], 1.0, kMostTokens);
    } else {
      rows_.push_back({.arrival_s = *arrival,
                       .input_tokens = static_cast<std::int64_t>(*input),
                       .output_tokens = static_cast<std::int64_t>(*output)});
    }
  }

  [[nodiscard]] std::vector<StageLoad::Row> take() { return std::move(rows_); }
  [[nodiscard]] std::int64_t bad_rows() const { return bad_rows_; }
  [[nodiscard]] const std::string& first_problem() const { return first_problem_; }

 private:
  static bool failed(std::string_view status) {
    return std::ranges::find(kSuccess, core::lower_case(status)) == kSuccess.end();
  }
  void bad(std::string problem) {
    if (bad_rows_++ == 0) {
      first_problem_ = std::move(problem);
    }
  }
  void bad_cell(std::int64_t line,
                std::string_view column,
                std::string_view cell,
                double lowest,
                double highest) {
    bad(fmt::format("line {}: {} is {}, expected {:.6g} to {:.6g}",
                    line,
                    column,
                    core::quote(cell),
                    lowest,
                    highest));
  }

  const Columns& columns_;
  const std::string& run_;
  const std::string& phase_;
  std::vector<StageLoad::Row> rows_;
  std::int64_t bad_rows_ = 0;
  std::string first_problem_;
};

core::Result<std::vector<StageLoad::Row>> read_rows(std::string_view text,
                                                    const std::string& path,
                                                    const std::string& run,
                                                    const std::string& phase,
                                                    std::vector<std::string>& notes) {
  std::string_view rest = core::without_byte_order_mark(text);
  const auto columns = read_header(next_line(rest), path);
  if (!columns) {
    return core::fail(columns.error());
  }
  RowReader reader(*columns, run, phase);
  for (std::int64_t number = 2; !rest.empty(); ++number) {
    const std::string_view line = next_line(rest);
    if (!is_blank(line)) {
      reader.read(line, number);
    }
  }
  auto rows = reader.take();
  const bool bad = reader.bad_rows() > 0;
  if (rows.empty()) {
    return core::fail(core::Error{
        .message = bad ? reader.first_problem() : fmt::format("no request of phase {}", phase),
        .where = {.file = path}});
  }
  if (bad) {
    notes.push_back(fmt::format("{} {} of {}: {}",
                                reader.bad_rows(),
                                core::plural("row", reader.bad_rows()),
                                path,
                                reader.first_problem()));
  }
  std::ranges::stable_sort(rows, {}, &StageLoad::Row::arrival_s);
  return rows;
}

/// The file that a record names, if it is one that a record may name: in its folder or below, links
/// followed, and no device or pipe.
core::Result<std::string> log_path(const std::string& folder, const std::string& name) {
  const auto refuse = [&](std::string message) {
    return core::fail(core::Error{.message = std::move(message), .where = {.file = folder}});
  };
  if (name.empty() || name.find('\0') != std::string::npos) {
    return refuse("is no name of a file");
  }
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  const fs::path path = error ? fs::path() : fs::weakly_canonical(root / name, error);
  const auto [end, unused] = std::ranges::mismatch(root, path);
  if (error || end != root.end()) {
    return refuse(fmt::format("is outside the records' folder {}", folder));
  }
  const auto status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    return refuse("no such file");
  }
  if (!fs::is_regular_file(status)) {
    return refuse("is no regular file");
  }
  return path.string();
}

}  // namespace

core::Result<std::vector<StageLoad::Row>> RequestLogs::read(const std::string& name,
                                                            const std::string& run,
                                                            const std::string& phase,
                                                            std::vector<std::string>& notes) {
  const auto path = log_path(folder_, name);
  if (!path) {
    return core::fail(path.error());
  }
  auto known = texts_.find(*path);
  if (known == texts_.end()) {
    if (texts_.size() == kMostLogs) {
      return core::fail(core::Error{
          .message = fmt::format("is one file more than the {} that are read", kMostLogs),
          .where = {.file = *path}});
    }
    std::size_t room = kMostFileBytes;
    for (const auto& text : texts_) {
      room -= std::min(room, text.second.size());
    }
    auto text = document::read_unpacked(*path, room);
    if (!text) {
      return core::fail(text.error());
    }
    known = texts_.emplace(*path, std::move(*text)).first;
  }
  return read_rows(known->second, name, run, phase, notes);
}

}  // namespace ridgeline::records
