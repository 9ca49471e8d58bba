#include <cstddef>
#include <string>
#include <string_view>

#include "api/call.hpp"
#include "api/guard.hpp"
#include "report/version.hpp"
#include "ridgeline.h"
#include "ridgeline/error.hpp"
#include "ridgeline/ridgeline.hpp"

/// What C holds by its address alone.
struct rl_result {
  std::string json;
};

namespace ridgeline::api {
namespace {

/// The fields that the caller's header had, each whole; those behind are 0.
rl_hooks known_fields(const rl_hooks* given) {
  rl_hooks hooks = {};
  if (given == nullptr) {
    return hooks;
  }
  const auto holds = [&](std::size_t end) { return given->size >= end; };
  if (holds(offsetof(rl_hooks, user) + sizeof(hooks.user))) {
    hooks.user = given->user;
  }
  if (holds(offsetof(rl_hooks, interrupt) + sizeof(hooks.interrupt))) {
    hooks.interrupt = given->interrupt;
  }
  if (holds(offsetof(rl_hooks, progress) + sizeof(hooks.progress))) {
    hooks.progress = given->progress;
  }
  return hooks;
}

Hooks hooks_of(const rl_hooks& given) {
  Hooks hooks;
  if (given.interrupt != nullptr) {
    hooks.interrupted = [flag = given.interrupt] {
      return __atomic_load_n(flag, __ATOMIC_RELAXED) != 0;
    };
  }
  if (given.progress != nullptr) {
    hooks.progress = [given](const Progress& progress) {
      const rl_progress shown = {.size = sizeof(rl_progress),
                                 .simulated_s = progress.simulated_s,
                                 .done = progress.done,
                                 .total = progress.total.value_or(-1)};
      given.progress(given.user, &shown);
    };
  }
  return hooks;
}

}  // namespace
}  // namespace ridgeline::api

extern "C" {

int rl_abi(void) {
  return RL_ABI;
}

const char* rl_version(void) {
  static const std::string kText(ridgeline::report::version());
  return kText.c_str();
}

int rl_call(
    const char* verb, const char* json, std::size_t n, const rl_hooks* hooks, rl_result** out) {
  int code = static_cast<int>(ridgeline::ErrorCode::kInternal);
  if (out != nullptr) {
    *out = nullptr;
  }
  // What is left to go wrong here is memory: then there is no result.
  static_cast<void>(ridgeline::api::guarded([&] {
    const std::string_view document =
        json == nullptr ? std::string_view() : std::string_view(json, n);
    ridgeline::api::Reply reply =
        ridgeline::api::call(verb == nullptr ? "" : verb,
                             document,
                             ridgeline::api::hooks_of(ridgeline::api::known_fields(hooks)));
    if (out != nullptr) {
      *out = new rl_result{std::move(reply.json)};
    }
    code = reply.code;
  }));
  return code;
}

const char* rl_json(const rl_result* result, std::size_t* n) {
  if (n != nullptr) {
    *n = result == nullptr ? 0 : result->json.size();
  }
  return result == nullptr ? "" : result->json.c_str();
}

void rl_free(rl_result* result) {
  delete result;
}

}  // extern "C"
