#include "core/huge_pages.hpp"

#include <cstddef>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace ridgeline::core {

void prefer_huge_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  static_cast<void>(madvise(begin, bytes, MADV_HUGEPAGE));
#endif
}

}  // namespace ridgeline::core
