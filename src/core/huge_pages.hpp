#pragma once

#include <cstddef>

namespace ridgeline::core {

/// What an entry of the page tables spans one level above 4 KiB pages, on x86-64 and with the usual
/// pages of AArch64.
inline constexpr std::size_t kHugePage = std::size_t{2} * 1024 * 1024;

/// Asks the system to back memory that is about to be filled with huge pages; `begin` is a multiple
/// of kHugePage. It may do otherwise: nothing but the cost of the first touch depends on it.
void prefer_huge_pages(void* begin, std::size_t bytes);

}  // namespace ridgeline::core
