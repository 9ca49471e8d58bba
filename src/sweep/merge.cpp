#include "sweep/merge.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <ios>
#include <map>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "sweep/flat_json.hpp"
#include "sweep/row_shape.hpp"
#include "sweep/store.hpp"

namespace ridgeline::sweep {
namespace {

/// Files that are open at once (ours: a quarter of the 1,024 that a process may have by default).
constexpr std::size_t kMostOpen = 256;
/// Bytes between two rows that are read over (ours: what a row has of its run, with room to spare).
constexpr std::uint64_t kShortGap = 4096;
/// A table is written in pieces of this size (ours: the number of calls does not count then).
constexpr std::size_t kPieceBytes = std::size_t{1} << 16U;

/// Reads rows from the files of a store, each of which is open from its first row on.
class RowReader {
 public:
  explicit RowReader(const std::vector<std::string>& names) : names_(names) {}

  core::Result<void> read(const RowPlace& place, std::string& text) {
    Open& file = open(place.file);
    text.resize(place.length);
    if (place.offset > file.at && place.offset - file.at < kShortGap) {
      // A seek would throw away what was read ahead.
      file.in.ignore(static_cast<std::streamsize>(place.offset - file.at));
    } else if (file.at != place.offset) {
      file.in.seekg(static_cast<std::streamoff>(place.offset));
    }
    file.in.read(text.data(), static_cast<std::streamsize>(place.length));
    file.at = place.offset + place.length;
    if (!file.in) {
      return core::fail(
          core::Error{.field = "--store",
                      .message = fmt::format("'{}' changed while it was read", names_[place.file]),
                      .where = {.file = "command line"}});
    }
    return {};
  }

 private:
  struct Open {
    std::ifstream in;
    std::uint64_t at = 0;
  };

  Open& open(std::uint32_t file) {
    const auto known = files_.find(file);
    if (known != files_.end()) {
      return known->second;
    }
    if (files_.size() == kMostOpen) {
      files_.clear();
    }
    Open& opened = files_[file];
    opened.in.open(names_[file], std::ios::binary);
    return opened;
  }

  const std::vector<std::string>& names_;
  std::map<std::uint32_t, Open> files_;
};

void append_quoted(std::string& out, std::string_view text) {
  const auto needs_quotes = [](char c) { return c == ',' || c == '"' || c == '\r' || c == '\n'; };
  if (std::ranges::none_of(text, needs_quotes)) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    out.append(c == '"' ? 2 : 1, c);
  }
  out += '"';
}

/// The columns of a table, in the order in which rows first have them.
class Columns {
 public:
  /// The values of a row in their columns, valid until the next call; a column that it lacks is
  /// empty, new columns come last.
  const std::vector<std::string_view>& take(std::string_view row) {
    if (!shape_ || !shape_->values(row, values_)) {
      learn(row);
    }
    cells_.assign(names_.size(), std::string_view());
    for (std::size_t i = 0; i < values_.size(); ++i) {
      cells_[places_[i]] = values_[i];
    }
    return cells_;
  }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  /// Takes a row apart, and its shape for those to come.
  void learn(std::string_view row) {
    places_.clear();
    texts_.clear();
    flatten(row, [&](std::string_view name, std::string_view value) {
      const auto [known, is_new] = index_.try_emplace(std::string(name), names_.size());
      if (is_new) {
        names_.emplace_back(name);
      }
      places_.push_back(known->second);
      texts_.emplace_back(value);
    });
    values_.assign(texts_.begin(), texts_.end());
    shape_ = RowShape::of(row);
    if (shape_ && shape_->size() != places_.size()) {
      shape_.reset();
    }
  }

  std::map<std::string, std::size_t, std::less<>> index_;
  std::vector<std::string> names_;
  std::optional<RowShape> shape_;    ///< Shape of the last row that had another than that before.
  std::vector<std::size_t> places_;  ///< The column of each of its values.
  std::vector<std::string_view> values_;  ///< Values of the last row.
  std::vector<std::string> texts_;        ///< What they point into where it had a new shape.
  std::vector<std::string_view> cells_;
};

/// Rows as a table, in two passes over them: the first finds the columns.
core::Result<void> write_table(
    const std::function<core::Result<void>(const std::function<void(std::string_view)>&)>& each,
    std::ostream& out) {
  Columns columns;
  auto done = each([&](std::string_view row) { columns.take(row); });
  if (!done) {
    return done;
  }
  std::string text;
  for (const std::string& name : columns.names()) {
    text += text.empty() ? "" : ",";
    append_quoted(text, name);
  }
  text += '\n';
  done = each([&](std::string_view row) {
    bool is_first = true;
    for (const std::string_view cell : columns.take(row)) {
      text += is_first ? "" : ",";
      is_first = false;
      append_quoted(text, cell);
    }
    text += '\n';
    if (text.size() >= kPieceBytes) {
      out << text;
      text.clear();
    }
  });
  out << text;
  return done;
}

}  // namespace

core::Result<void> each_row(Contents& contents, const std::function<void(std::string_view)>& use) {
  std::ranges::sort(contents.rows, {}, [](const RowPlace& row) {
    return std::tuple(row.ordinal, row.file, row.offset);
  });
  RowReader reader(contents.files);
  std::string text;
  std::string other;
  const RowPlace* last = nullptr;
  for (const RowPlace& place : contents.rows) {
    const bool is_again = last != nullptr && last->ordinal == place.ordinal;
    if (auto done = reader.read(place, is_again ? other : text); !done) {
      return done;
    }
    if (!is_again) {
      text += '}';
      use(text);
      last = &place;
      continue;
    }
    other += '}';
    if (other != text) {
      return core::fail(
          core::Error{.code = core::ErrorCode::kInternal,
                      .field = fmt::format("point {}", place.ordinal),
                      .message = fmt::format("two results differ: '{}' and '{}'",
                                             contents.files[last->file],
                                             contents.files[place.file]),
                      .where = {},
                      .hint = "a point has one result on every machine: please report this"});
    }
  }
  return {};
}

core::Result<void> merge_ndjson(Contents& contents, std::ostream& out) {
  return each_row(contents, [&](std::string_view row) {
    out.write(row.data(), static_cast<std::streamsize>(row.size()));
    out.put('\n');
  });
}

core::Result<void> merge_csv(Contents& contents, std::ostream& out) {
  return write_table([&](const auto& use) { return each_row(contents, use); }, out);
}

std::string csv_of(const std::vector<std::string>& rows) {
  std::ostringstream out;
  const auto each = [&](const auto& use) -> core::Result<void> {
    std::ranges::for_each(rows, use);
    return {};
  };
  static_cast<void>(write_table(each, out));
  return out.str();
}

}  // namespace ridgeline::sweep
