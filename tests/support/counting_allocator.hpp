#pragma once

#include <cstdint>

namespace ridgeline::test {

/// How often the whole program has called operator new so far (this binary replaces it).
[[nodiscard]] std::int64_t num_allocations();

}  // namespace ridgeline::test
