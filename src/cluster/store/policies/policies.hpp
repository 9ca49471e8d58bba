#pragma once

#include <cstdint>
#include <memory>

#include "cluster/store/eviction.hpp"

namespace ridgeline::store {

// One per file of this folder.
[[nodiscard]] std::unique_ptr<Eviction> make_lru(std::int64_t capacity);
[[nodiscard]] std::unique_ptr<Eviction> make_arc(std::int64_t capacity);

}  // namespace ridgeline::store
