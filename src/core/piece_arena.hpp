#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

namespace ridgeline::core {

/// Memory for lists that grow as long as they are: pieces of one size, given back all together.
/// The first come out of small regions; those of a large run come out of huge pages where the
/// system has such, because the first touch of each small page costs as much as filling it.
class PieceArena {
 public:
  static constexpr std::size_t kPiece = std::size_t{16} * 1024;

  /// kPiece bytes of any content, valid as long as the arena.
  [[nodiscard]] std::byte* take() {
    if (left_ == 0) [[unlikely]] {
      add_region();
    }
    --left_;
    return next_piece();
  }

 private:
  struct Free {
    void operator()(std::byte* region) const { std::free(region); }
  };

  [[nodiscard]] std::byte* next_piece() {
    std::byte* const piece = next_;
    next_ += kPiece;
    return piece;
  }
  void add_region();

  std::vector<std::unique_ptr<std::byte, Free>> regions_;
  std::byte* next_ = nullptr;  ///< In the last of them.
  std::size_t left_ = 0;       ///< Pieces of it.
};

}  // namespace ridgeline::core
