#pragma once

namespace ridgeline::serve {

/// Memory that is set aside for the time when no more can be had. A request that asks for more than
/// it then fails (std::bad_alloc) and is refused, while what is small goes on: the answers that are
/// under way. One of a process, for as long as it lives.
class MemoryReserve {
 public:
  MemoryReserve();
  MemoryReserve(const MemoryReserve&) = delete;
  MemoryReserve& operator=(const MemoryReserve&) = delete;
  ~MemoryReserve();

  /// Whether it is there; taken anew where it was given away and can be had again. Without any
  /// reserve in the process: true.
  [[nodiscard]] static bool is_whole();
};

}  // namespace ridgeline::serve
