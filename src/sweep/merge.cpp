#include "sweep/merge.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <ios>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "sweep/flat_json.hpp"
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
  std::size_t index_of(std::string_view name) {
    // Rows of one kind have their columns in one order.
    if (next_ < names_.size() && names_[next_] == name) {
      return next_++;
    }
    const auto known = index_.find(name);
    if (known != index_.end()) {
      next_ = known->second + 1;
      return known->second;
    }
    index_.emplace(std::string(name), names_.size());
    names_.emplace_back(name);
    next_ = names_.size();
    return names_.size() - 1;
  }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  std::map<std::string, std::size_t, std::less<>> index_;
  std::vector<std::string> names_;
  std::size_t next_ = 0;  ///< Behind the column of the last look-up.
};

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
  Columns columns;
  auto done = each_row(contents, [&](std::string_view row) {
    flatten(row, [&](std::string_view name, std::string_view) { columns.index_of(name); });
  });
  if (!done) {
    return done;
  }
  std::string text;
  for (const std::string& name : columns.names()) {
    text += text.empty() ? "" : ",";
    append_quoted(text, name);
  }
  text += '\n';
  std::vector<std::string> cells(columns.names().size());
  done = each_row(contents, [&](std::string_view row) {
    std::ranges::fill(cells, std::string());
    flatten(row, [&](std::string_view name, std::string_view value) {
      cells[columns.index_of(name)] = value;
    });
    for (std::size_t i = 0; i < cells.size(); ++i) {
      text += i == 0 ? "" : ",";
      append_quoted(text, cells[i]);
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

}  // namespace ridgeline::sweep
