#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "api/c_handle.hpp"
#include "api/c_hooks.hpp"
#include "api/call.hpp"
#include "api/guard.hpp"
#include "api/stepped_run.hpp"
#include "core/result.hpp"
#include "ridgeline.h"
#include "ridgeline/error.hpp"
#include "ridgeline/ridgeline.hpp"
#include "verbs/request.hpp"

/// What C holds by its address alone.
struct rl_session {
  rl_hooks known;
  ridgeline::Hooks heard;
  std::unique_ptr<ridgeline::api::SteppedRun> run;
};

namespace ridgeline::api {
namespace {

std::string_view text_of(const char* text, std::size_t n) {
  return text == nullptr ? std::string_view() : std::string_view(text, n);
}

/// Answers as call() does; a result in all cases but where memory has run out.
template <class Work>
int answered_to(const char* json, std::size_t n, rl_result** out, const Work& work) {
  int code = static_cast<int>(ErrorCode::kInternal);
  if (out != nullptr) {
    *out = nullptr;
  }
  static_cast<void>(guarded([&] {
    auto result = std::make_unique<rl_result>();
    result->answer = answer_to(text_of(json, n), work);
    code = result->answer.code;
    if (out != nullptr) {
      *out = result.release();
    }
  }));
  return code;
}

}  // namespace
}  // namespace ridgeline::api

extern "C" {

int rl_session_open(
    const char* json, std::size_t n, const rl_hooks* hooks, rl_session** session, rl_result** out) {
  using namespace ridgeline;  // NOLINT(google-build-using-namespace)
  return api::answered_to(json, n, out, [&](verbs::Request& request) -> core::Result<api::Answer> {
    auto opened = std::make_unique<rl_session>();
    opened->known = api::known_fields(hooks);
    opened->heard = api::hooks_of(opened->known);
    auto run = api::SteppedRun::open(request, opened->heard, &opened->known);
    if (!run) {
      return core::fail(run.error());
    }
    opened->run = std::move(*run);
    if (session != nullptr) {
      *session = opened.release();
    }
    return api::Answer{.code = 0, .json = "{}"};
  });
}

int rl_session_call(
    rl_session* session, const char* verb, const char* json, std::size_t n, rl_result** out) {
  using namespace ridgeline;  // NOLINT(google-build-using-namespace)
  return api::answered_to(json, n, out, [&](verbs::Request& request) -> core::Result<api::Answer> {
    if (session == nullptr) {
      return core::fail(core::Error{.field = "session", .message = "is not open"});
    }
    return session->run->call(verb == nullptr ? "" : verb, request);
  });
}

void rl_session_free(rl_session* session) {
  delete session;
}

}  // extern "C"
