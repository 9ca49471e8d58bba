#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "core/time.hpp"
#include "core/units.hpp"

namespace ridgeline::workload {

/// What most rows say: a request that is a group of its own, and nothing else of it.
struct QuickRow {
  core::Duration arrival;
  core::Tokens input_tokens;
  core::Tokens output_tokens;
};

/// Some such rows of a file, in the order of their arrival.
class QuickBatch {
 public:
  /// As many as a fifth of a first-level cache of 32 KiB holds.
  static constexpr std::size_t kMost = 256;

  /// Empties it.
  void start() {
    size_ = 0;
    taken_ = 0;
  }
  /// Where to write rows; add() then takes the first `count` of them. Requires that it is new.
  [[nodiscard]] std::span<QuickRow, kMost> room() { return rows_; }
  void add(std::size_t count) { size_ = count; }

  [[nodiscard]] bool is_empty() const { return taken_ == size_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// The first row that was not taken yet. Requires !is_empty().
  [[nodiscard]] const QuickRow& take() { return rows_[taken_++]; }
  /// The last row. Requires size() > 0.
  [[nodiscard]] const QuickRow& back() const { return rows_[size_ - 1]; }

 private:
  std::array<QuickRow, kMost> rows_;
  std::size_t size_ = 0;
  std::size_t taken_ = 0;
};

}  // namespace ridgeline::workload
