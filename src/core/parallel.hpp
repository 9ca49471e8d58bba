#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace ridgeline::core {

/// Does job(0) to job(count - 1), each once, in any order, on that many threads with this one among
/// them. Where a job throws, jobs that have not begun are left out, and the exception of the lowest
/// job that threw leaves this function when every thread has ended. A fault counts as thrown where
/// the calling thread is inside a FaultScope.
void for_each_job(std::size_t count,
                  std::int64_t threads,
                  const std::function<void(std::size_t)>& job);

}  // namespace ridgeline::core
