#include "cli/interrupt.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction is POSIX's, not C's
#include <string_view>

#include "cli/exit_code.hpp"
#include "cli/faults.hpp"

namespace ridgeline::cli {

namespace {

struct HandledSignal {
  int number;
  bool can_wait;  ///< A run may go on to its partial result.
  std::string_view text;
};
constexpr std::array<HandledSignal, 4> kSignals = {{
    {SIGINT, true, "error: interrupted (SIGINT): no result was written\n"},
    {SIGTERM, true, "error: terminated (SIGTERM): no result was written\n"},
    {SIGHUP, true, "error: the terminal was closed (SIGHUP): no result was written\n"},
    {SIGXFSZ,
     false,
     "error: a file reached the size limit of the process (SIGXFSZ, ulimit -f): no result was "
     "written\n"},
}};

/// What a shell reports for a process that a signal ended.
constexpr int exit_status(int number) {
  return 128 + number;
}
static_assert(exit_status(SIGINT) == static_cast<int>(ExitCode::kInterrupted));

struct State {
  std::atomic<bool> guarded{false};
  std::atomic<bool> interrupted{false};
  std::atomic<int> number{SIGINT};  ///< The signal that interrupted.
};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "a signal handler may set them");

State& state() {
  static State all;
  return all;
}

extern "C" void on_signal(int number) {
  const auto* const signal = std::ranges::find(kSignals, number, &HandledSignal::number);
  if (signal->can_wait && state().guarded && !state().interrupted) {
    state().number = number;
    state().interrupted = true;
    return;
  }
  end_at_once(exit_status(number), {signal->text});
}

void set_handler(int number, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

bool is_ignored(int number) {
  struct sigaction action{};
  return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

void handle_signals() {
  static_cast<void>(state());  // A handler must not be the first to build it.
  for (const HandledSignal& signal : kSignals) {
    if (signal.number != SIGHUP || !is_ignored(SIGHUP)) {
      set_handler(signal.number, on_signal);
    }
  }
}

InterruptGuard::InterruptGuard() {
  state().interrupted = false;
  state().guarded = true;
}

InterruptGuard::~InterruptGuard() {
  state().guarded = false;
}

const std::atomic<bool>& InterruptGuard::flag() {
  return state().interrupted;
}

ExitCode InterruptGuard::exit_code() {
  return static_cast<ExitCode>(exit_status(state().number));
}

void ignore_broken_pipes() {
  set_handler(SIGPIPE, SIG_IGN);
}

}  // namespace ridgeline::cli
