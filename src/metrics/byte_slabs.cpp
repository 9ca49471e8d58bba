#include "metrics/byte_slabs.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "core/fault.hpp"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace ridgeline::metrics {
namespace {

constexpr std::size_t kFirstSlab = std::size_t{16} * 1024;
/// What an entry of the page tables spans one level above 4 KiB pages, on x86-64 and with the usual
/// pages of AArch64.
constexpr std::size_t kHugePage = std::size_t{2} * 1024 * 1024;

}  // namespace

void ByteSlabs::add_slab(std::size_t least) {
  const std::size_t wanted = slabs_.empty() ? kFirstSlab : 2 * slabs_.back().size;
  std::size_t size = std::min(wanted, kHugePage);
  while (size < least) {
    size *= 2;
  }
  // A power of two and a multiple of itself, as std::aligned_alloc() asks.
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(std::min(size, kHugePage), size));
  if (memory == nullptr) {
    core::out_of_memory("the samples of a run");
  }
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  if (size >= kHugePage) {
    // The system may do otherwise: nothing but the cost of the first touch depends on it.
    static_cast<void>(madvise(memory, size, MADV_HUGEPAGE));
  }
#endif
  Slab& slab = slabs_.emplace_back();
  slab.memory.reset(memory);
  slab.size = size;
}

}  // namespace ridgeline::metrics
