#pragma once

#include <cstdint>
#include <string_view>

namespace ridgeline::core {

/// Why a computation cannot go on, where no Result can be returned.
struct Fault {
  enum class Kind : std::uint8_t { kFailedCheck, kOutOfMemory };
  Kind kind = Kind::kFailedCheck;
  std::string_view text;  ///< One line, without its end.
};

/// Called at a fault, on the thread that meets it. It may end the process, or throw where a host
/// process is to live on; when it returns, or when there is none, the process aborts.
using FaultHandler = void (*)(const Fault& fault);

/// Installs a handler for the whole process; nullptr for none. Returns the one before.
FaultHandler set_fault_handler(FaultHandler handler);

/// Hands a fault to the handler.
[[noreturn]] void raise_fault(const Fault& fault);

/// For allocations that do not throw std::bad_alloc. `purpose` is what the memory was for.
[[noreturn]] void out_of_memory(std::string_view purpose);

}  // namespace ridgeline::core
