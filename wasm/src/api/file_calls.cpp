#include "api/file_calls.hpp"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "api/call.hpp"
#include "api/call_document.hpp"
#include "api/measured_calls.hpp"
#include "api/searches.hpp"
#include "core/result.hpp"

// Verbs that need files or threads.
namespace ridgeline::api {
namespace {

core::Result<Reply> not_here(std::string_view verb) {
  return core::fail(core::Error{.field = "verb",
                                .message = fmt::format("{} is not in the WebAssembly build", verb),
                                .hint = "use the program or the Python package"});
}

}  // namespace

core::Result<Reply> describe_trace(CallDocument& /*document*/) {
  return not_here("trace");
}
core::Result<Reply> load_result(CallDocument& /*document*/) {
  return not_here("report");
}
core::Result<Reply> validate(CallDocument& /*document*/, const CallHost& /*host*/) {
  return not_here("validate");
}
core::Result<Reply> calibrate(CallDocument& /*document*/, const CallHost& /*host*/) {
  return not_here("calibrate");
}
core::Result<Reply> sweep_points(CallDocument& /*document*/, const CallHost& /*host*/) {
  return not_here("sweep");
}
core::Result<Reply> plan_deployment(CallDocument& /*document*/, const CallHost& /*host*/) {
  return not_here("plan");
}

}  // namespace ridgeline::api
