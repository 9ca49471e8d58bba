#include "sim/validate/request_log.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "core/gzip.hpp"
#include "core/result.hpp"
#include "sim/validate/evidence.hpp"

namespace ridgeline::sim::validate {
namespace {

constexpr std::size_t kLargestLog = std::size_t{256} * 1024 * 1024;

/// The cells of a line without quoted commas, which these logs do not hold.
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t comma = line.find(',');
    cells.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) {
      return cells;
    }
    line.remove_prefix(comma + 1);
  }
}

std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  if (!line.empty() && line.back() == '\r') {
    line.remove_suffix(1);
  }
  return line;
}

std::optional<double> real_of(std::string_view cell) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc{} || end != cell.data() + cell.size() || !(value >= 0.0) || value > 1e9) {
    return std::nullopt;
  }
  return value;
}

class RequestTable {
 public:
  RequestTable(const std::string& path, std::string_view header)
      : path_(path), columns_(cells_of(header)) {}

  [[nodiscard]] core::Result<std::size_t> column(std::string_view name) const {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i] == name) {
        return i;
      }
    }
    return core::fail(
        core::Error{.field = std::string(name),
                    .message = fmt::format("column {} is missing from the header", name),
                    .where = {.file = path_, .line = 1}});
  }
  [[nodiscard]] std::size_t size() const { return columns_.size(); }

 private:
  const std::string& path_;
  std::vector<std::string_view> columns_;
};

}  // namespace

core::Result<std::vector<StageLoad::Row>> read_request_log(const std::string& path,
                                                           const std::string& run,
                                                           const std::string& phase) {
  const auto text = core::read_unpacked(path, kLargestLog);
  if (!text) {
    return core::fail(text.error());
  }
  std::string_view rest = *text;
  const RequestTable table(path, next_line(rest));
  std::vector<std::size_t> at;
  for (const std::string_view name :
       {"exp", "phase", "arrival_s", "input_tokens", "output_tokens"}) {
    const auto column = table.column(name);
    if (!column) {
      return core::fail(column.error());
    }
    at.push_back(*column);
  }
  const auto status = table.column("status");
  std::vector<StageLoad::Row> rows;
  for (int line = 2; !rest.empty(); ++line) {
    const auto cells = cells_of(next_line(rest));
    if (cells.size() != table.size()) {
      return core::fail(core::Error{
          .message =
              fmt::format("line {} has {} cells, expected {}", line, cells.size(), table.size()),
          .where = {.file = path, .line = line}});
    }
    if ((!run.empty() && cells[at[0]] != run) || cells[at[1]] != phase ||
        (status && cells[*status] != "ok")) {
      continue;
    }
    const auto arrival = real_of(cells[at[2]]);
    const auto input = real_of(cells[at[3]]);
    const auto output = real_of(cells[at[4]]);
    if (!arrival || !input || !output || *input < 1.0 || *output < 1.0) {
      return core::fail(core::Error{
          .message = fmt::format("line {} has no arrival_s, input_tokens or output_tokens", line),
          .where = {.file = path, .line = line}});
    }
    rows.push_back({.arrival_s = *arrival,
                    .input_tokens = static_cast<std::int64_t>(*input),
                    .output_tokens = static_cast<std::int64_t>(*output)});
  }
  if (rows.empty()) {
    return core::fail(core::Error{.message = fmt::format("no request of phase {}", phase),
                                  .where = {.file = path}});
  }
  std::ranges::stable_sort(rows, {}, &StageLoad::Row::arrival_s);
  return rows;
}

}  // namespace ridgeline::sim::validate
