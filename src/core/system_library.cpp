#include "core/system_library.hpp"

#include <string>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>

#include "core/result.hpp"

namespace ridgeline::core {

SystemLibrary::SystemLibrary(const char* file, const char* package, const char* need)
    : file_(file), package_(package), handle_(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) {
    refuse(fmt::format("{} {}, which is not there", need, file));
  }
}

void* SystemLibrary::symbol(const char* name) {
  void* const found = handle_ == nullptr ? nullptr : dlsym(handle_, name);
  if (found == nullptr) {
    refuse(fmt::format("{} has no {}", file_, name));
  }
  return found;
}

void SystemLibrary::refuse(std::string problem) {
  if (problem_.empty()) {
    problem_ = std::move(problem);
  }
}

Result<void> SystemLibrary::check() const {
  if (problem_.empty()) {
    return {};
  }
  return fail(Error{.message = problem_, .hint = fmt::format("apt install {}", package_)});
}

}  // namespace ridgeline::core
