#include "core/piece_arena.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace ridgeline::core {
namespace {

/// A page table's entry for the level above 4 KiB pages spans as much, on x86-64 and with the usual
/// pages of AArch64.
constexpr std::size_t kHugePage = std::size_t{2} * 1024 * 1024;
/// What small runs need: a huge page would be cleared for nothing.
constexpr std::size_t kSmallRegion = std::size_t{4} * PieceArena::kPiece;
constexpr std::size_t kSmallRegions = 16;

/// A request that the system may ignore: nothing but the cost of the first touch depends on it.
void prefer_huge_pages([[maybe_unused]] std::byte* region) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  static_cast<void>(madvise(region, kHugePage, MADV_HUGEPAGE));
#endif
}

}  // namespace

void PieceArena::add_region() {
  const bool is_small = regions_.size() < kSmallRegions;
  const std::size_t bytes = is_small ? kSmallRegion : kHugePage;
  auto* const region =
      static_cast<std::byte*>(is_small ? std::malloc(bytes) : std::aligned_alloc(bytes, bytes));
  if (region == nullptr) {
    throw std::bad_alloc();
  }
  if (!is_small) {
    prefer_huge_pages(region);
  }
  regions_.emplace_back(region);
  next_ = region;
  left_ = bytes / kPiece;
}

}  // namespace ridgeline::core
