#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "core/result.hpp"

namespace ridgeline::api {

/// Does `work` for a host process that is to live on: a check of ours that fails, a lack of memory
/// or any other exception ends the work, and is the error that is returned. Nothing otherwise. Of
/// the calling thread alone; elsewhere faults end the process as before.
[[nodiscard]] std::optional<core::Error> guarded(const std::function<void()>& work);

/// The same for work that has a result.
template <class Work>
[[nodiscard]] auto guarded_result(const Work& work) -> decltype(work()) {
  std::optional<decltype(work())> result;
  if (auto error = guarded([&] { result.emplace(work()); })) {
    return core::fail(std::move(*error));
  }
  return std::move(*result);
}

}  // namespace ridgeline::api
