#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "core/result.hpp"

namespace ridgeline::api {

/// Does `work` for a host process that is to live on. Where a check of ours fails, memory runs out
/// or another exception is thrown, the work ends and the fault is returned as an error; nothing is
/// returned where the work succeeds. Of other threads only those of core::for_each_job are covered.
[[nodiscard]] std::optional<core::Error> guarded(const std::function<void()>& work);

/// guarded() for work that has a result.
template <class Work>
[[nodiscard]] auto guarded_result(const Work& work) -> decltype(work()) {
  std::optional<decltype(work())> result;
  if (auto error = guarded([&] { result.emplace(work()); })) {
    return core::fail(std::move(*error));
  }
  return std::move(*result);
}

}  // namespace ridgeline::api
