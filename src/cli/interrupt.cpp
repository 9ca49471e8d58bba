#include "cli/interrupt.hpp"

#include <atomic>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction is POSIX's, not C's

namespace ridgeline::cli {

namespace {

std::atomic<bool>& interrupted() {
  static std::atomic<bool> flag{false};
  static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may set it");
  return flag;
}

extern "C" void on_signal(int) {
  interrupted().store(true, std::memory_order_relaxed);
}

void set_handler(int number, void (*handler)(int), int flags) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  interrupted().store(false, std::memory_order_relaxed);
  for (const int number : {SIGINT, SIGTERM}) {
    set_handler(number, on_signal, static_cast<int>(SA_RESETHAND));
  }
}

InterruptGuard::~InterruptGuard() {
  for (const int number : {SIGINT, SIGTERM}) {
    set_handler(number, SIG_DFL, 0);
  }
}

const std::atomic<bool>& InterruptGuard::flag() {
  return interrupted();
}

void ignore_broken_pipes() {
  set_handler(SIGPIPE, SIG_IGN, 0);
}

}  // namespace ridgeline::cli
