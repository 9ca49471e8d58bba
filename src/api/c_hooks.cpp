#include "api/c_hooks.hpp"

#include <array>
#include <cstddef>
#include <cstring>

#include "ridgeline.h"
#include "ridgeline/ridgeline.hpp"
#include "verbs/clock.hpp"

namespace ridgeline::api {
namespace {

constexpr double kBetweenPolls = 0.02;  // seconds

/// Whether a signal handler of Python has raised something, which is left to the caller.
bool has_raised(rl_python& python) {
  if (python.raised[1] != nullptr || python.raised[0] != nullptr) {
    return true;
  }
  const int state = python.PyGILState_Ensure();
  const bool raised = python.PyErr_CheckSignals() != 0;
  if (raised) {
    python.PyErr_Fetch(&python.raised[0], &python.raised[1], &python.raised[2]);
  }
  python.PyGILState_Release(state);
  return raised;
}

/// Asks the host's functions so often that it is heard and not so often that it costs.
class Poll {
 public:
  explicit Poll(const rl_hooks& hooks) : hooks_(hooks) {}

  bool operator()() {
    return polls_.now() && ((hooks_.poll != nullptr && hooks_.poll(hooks_.user) != 0) ||
                            (hooks_.python != nullptr && has_raised(*hooks_.python)));
  }

 private:
  const rl_hooks& hooks_;
  verbs::AtMostEvery polls_{kBetweenPolls};
};

}  // namespace

rl_hooks known_fields(const rl_hooks* given) {
  rl_hooks hooks = {};
  if (given == nullptr) {
    return hooks;
  }
  const std::array<std::size_t, 11> ends = {
      offsetof(rl_hooks, user) + sizeof(hooks.user),
      offsetof(rl_hooks, interrupt) + sizeof(hooks.interrupt),
      offsetof(rl_hooks, progress) + sizeof(hooks.progress),
      offsetof(rl_hooks, poll) + sizeof(hooks.poll),
      // NOLINTNEXTLINE(bugprone-sizeof-expression): the field is a pointer
      offsetof(rl_hooks, python) + sizeof(hooks.python),
      offsetof(rl_hooks, route) + sizeof(hooks.route),
      offsetof(rl_hooks, router_reads_cache) + sizeof(hooks.router_reads_cache),
      offsetof(rl_hooks, model_reads_lengths) + sizeof(hooks.model_reads_lengths),
      offsetof(rl_hooks, predict) + sizeof(hooks.predict),
      offsetof(rl_hooks, affine) + sizeof(hooks.affine),
      offsetof(rl_hooks, scale) + sizeof(hooks.scale)};
  std::size_t known = 0;
  for (const std::size_t end : ends) {
    known = given->size >= end ? end : known;
  }
  if (known > 0) {
    std::memcpy(&hooks, given, known);
  }
  return hooks;
}

Hooks hooks_of(const rl_hooks& given) {
  Hooks hooks;
  const bool polls = given.poll != nullptr || given.python != nullptr;
  if (given.interrupt != nullptr || polls) {
    hooks.interrupted = [flag = given.interrupt, polls, poll = Poll(given)]() mutable {
      return (flag != nullptr && __atomic_load_n(flag, __ATOMIC_RELAXED) != 0) || (polls && poll());
    };
  }
  if (given.progress != nullptr) {
    hooks.progress = [&given](const Progress& progress) {
      const rl_progress shown = {.size = sizeof(rl_progress),
                                 .simulated_s = progress.simulated_s,
                                 .done = progress.done,
                                 .total = progress.total.value_or(-1)};
      given.progress(given.user, &shown);
    };
  }
  return hooks;
}

}  // namespace ridgeline::api
