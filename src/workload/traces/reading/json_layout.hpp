#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "workload/item.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/json_cursor.hpp"
#include "workload/traces/reading/quick_batch.hpp"
#include "workload/traces/reading/quick_number.hpp"
#include "workload/traces/reading/quick_row.hpp"

namespace ridgeline::workload {

/// How the objects of a file are written: nearly every line has the same keys in the same order
/// with the same blanks, so that what stands between the values need only be compared. Learnt from
/// lines that were read key by key and found to be sound.
class JsonLayouts {
 public:
  /// A member that was read key by key: its value began and ended there. `key` is what the reader
  /// calls it. Call start() before the first one of a line, and learn() when the line has proved
  /// sound.
  void start(const TraceLine& line);
  void member(std::uint32_t key,
              std::string_view name,
              const QuickValue& value,
              const char* begin,
              const char* end);
  void learn();

  /// RowParser::quick_rows() for lines of the layout that fitted last, if a QuickRow holds all that
  /// such a line says.
  const char* read_rows(const char* at,
                        const char* end,
                        core::Duration earliest,
                        QuickBatch& batch) const;
  /// RowParser::quick_row() for lines of a known layout. `restart()` comes before the first value
  /// of each attempt; `read(json, key, name)` reads a value of kind kOther and says whether it
  /// could.
  template <typename Restart, typename Read>
  const char* read(
      const char* at, const char* end, Item& row, const Restart& restart, const Read& read) {
    for (std::size_t i = 0; i < layouts_.size(); ++i) {
      restart();
      if (const char* const next = read_as(layouts_[last_], at, end, row, read)) [[likely]] {
        return next;
      }
      last_ = last_ + 1 == layouts_.size() ? 0 : last_ + 1;
    }
    return nullptr;
  }

 private:
  /// What stands before a value, and what the value is.
  struct Piece {
    std::string text;
    QuickValue value;
    std::uint32_t key = 0;
    std::string name;
  };
  struct Layout {
    std::vector<Piece> pieces;
    std::string end;
    bool is_plain = false;      ///< Nothing but an arrival and both lengths.
    int unit_digits = 0;        ///< Of the arrival, if it is plain.
    std::size_t text_size = 0;  ///< Of all texts, if it is plain.
  };

  static void note_plain(Layout& layout);
  static const char* read_plain(const Layout& layout, const char* at, QuickRow& row);

  template <typename Read>
  const char* read_as(
      const Layout& layout, const char* at, const char* end, Item& row, const Read& read) {
    for (const Piece& piece : layout.pieces) {
      at = over_text(piece.text, at, end);
      if (at == nullptr) [[unlikely]] {
        return nullptr;
      }
      at = piece.value.kind == QuickKind::kOther ? read_other(piece, at, end, read)
           : has_leading_zero(at)                ? nullptr
                                                 : read_quick(piece.value, at, end, row);
      if (at == nullptr) [[unlikely]] {
        return nullptr;
      }
    }
    at = over_text(layout.end, at, end);
    return at == nullptr ? nullptr : line_end(at, end);
  }

  static bool has_leading_zero(const char* at) {
    return *at == '0' && at[1] >= '0' && at[1] <= '9';
  }

  static const char* over_text(const std::string& text, const char* at, const char* end) {
    return end - at > static_cast<std::ptrdiff_t>(text.size()) &&
                   same_bytes(at, text.data(), text.size())
               ? at + text.size()
               : nullptr;
  }

  template <typename Read>
  const char* read_other(const Piece& piece, const char* at, const char* end, const Read& read) {
    const void* const newline = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
    if (newline == nullptr) {
      return nullptr;
    }
    const auto size = static_cast<std::size_t>(static_cast<const char*>(newline) - at);
    const TraceLine rest({at, size}, unnamed_, 0, unheard_);
    JsonCursor json(rest);
    if (!is_ascii(rest.text()) || !read(json, piece.key, std::string_view(piece.name))) {
      unheard_.clear();
      return nullptr;
    }
    return json.place();
  }

  /// More kinds of lines in one file are read key by key.
  static constexpr std::size_t kMostLayouts = 4;

  std::vector<Layout> layouts_;
  std::size_t last_ = 0;
  Layout learning_;
  const char* at_ = nullptr;  ///< Where the value last met ended.
  const char* line_end_ = nullptr;
  std::string unnamed_;
  core::Errors unheard_;
};

}  // namespace ridgeline::workload
