#include "api/guard.hpp"

#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "core/fault.hpp"
#include "core/fault_scope.hpp"
#include "core/result.hpp"

namespace ridgeline::api {
namespace {

/// A fault on its way to the call that it ends.
class FaultError final : public std::exception {
 public:
  explicit FaultError(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

/// The handler of the process before ours.
core::FaultHandler& handler_before() {
  static core::FaultHandler handler = nullptr;
  return handler;
}

void on_fault(const core::Fault& fault) {
  if (core::FaultScope::active()) {
    if (fault.kind == core::Fault::Kind::kOutOfMemory) {
      throw std::bad_alloc();
    }
    throw FaultError(std::string(fault.text));
  }
  if (handler_before() != nullptr) {
    handler_before()(fault);
  }
}

/// Once for the process; it changes nothing outside guarded calls.
void install_handler() {
  static const bool kOnce = [] {
    handler_before() = core::set_fault_handler(on_fault);
    return true;
  }();
  static_cast<void>(kOnce);
}

core::Error internal(std::string message) {
  return {.code = core::ErrorCode::kInternal, .message = std::move(message)};
}

}  // namespace

std::optional<core::Error> guarded(const std::function<void()>& work) {
  install_handler();
  try {
    const core::FaultScope inside;
    work();
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    return internal("out of memory");
  } catch (const std::exception& problem) {
    return internal(std::string("a fault of this library: ") + problem.what());
  } catch (...) {
    return internal("an exception without a text");
  }
}

}  // namespace ridgeline::api
