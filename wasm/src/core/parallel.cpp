#include "core/parallel.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>

namespace ridgeline::core {

void for_each_job(std::size_t count,
                  std::int64_t /*threads*/,
                  const std::function<void(std::size_t)>& job) {
  for (std::size_t i = 0; i < count; ++i) {
    job(i);
  }
}

}  // namespace ridgeline::core
