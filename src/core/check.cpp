#include "core/check.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <fmt/core.h>

#include "core/fault.hpp"

namespace ridgeline::core {
namespace {

std::atomic<FaultHandler>& installed() {
  static std::atomic<FaultHandler> handler{nullptr};
  return handler;
}

}  // namespace

FaultHandler set_fault_handler(FaultHandler handler) {
  return installed().exchange(handler);
}

void raise_fault(const Fault& fault) {
  if (const FaultHandler handler = installed().load(); handler != nullptr) {
    handler(fault);
  }
  // No allocation here: there may be no memory.
  std::fprintf(stderr,
               "ridgeline: %s: %.*s\n",
               fault.kind == Fault::Kind::kOutOfMemory ? "out of memory" : "internal error",
               static_cast<int>(fault.text.size()),
               fault.text.data());
  std::abort();
}

void out_of_memory(std::string_view purpose) {
  raise_fault({.kind = Fault::Kind::kOutOfMemory, .text = purpose});
}

void check_failed(const char* condition, const char* file, int line, std::string_view context) {
  raise_fault({.kind = Fault::Kind::kFailedCheck,
               .text = fmt::format("{} at {}:{}: {}", condition, file, line, context)});
}

}  // namespace ridgeline::core
