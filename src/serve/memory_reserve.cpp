#include "serve/memory_reserve.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

namespace ridgeline::serve {
namespace {

constexpr std::size_t kBytes = std::size_t{16} << 20U;

struct State {
  void* reserve = nullptr;
  bool is_wanted = false;
};

// A new handler gets no argument.
State& state() {
  static State of_process;
  return of_process;
}

/// Gives the reserve away, once; the allocation is then tried again, and fails where that is not
/// enough.
void give_way() {
  std::free(std::exchange(state().reserve, nullptr));
  std::set_new_handler(nullptr);
}

}  // namespace

MemoryReserve::MemoryReserve() {
  state().is_wanted = true;
  static_cast<void>(is_whole());
}

MemoryReserve::~MemoryReserve() {
  std::set_new_handler(nullptr);
  std::free(state().reserve);
  state() = {};
}

bool MemoryReserve::is_whole() {
  State& own = state();
  if (own.is_wanted && own.reserve == nullptr) {
    own.reserve = std::malloc(kBytes);
    std::set_new_handler(own.reserve == nullptr ? nullptr : give_way);
  }
  return !own.is_wanted || own.reserve != nullptr;
}

}  // namespace ridgeline::serve
