#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/result.hpp"
#include "deploy/read.hpp"
#include "document/document.hpp"
#include "scenario/scenario.hpp"
#include "verbs/registry.hpp"
#include "verbs/verb.hpp"

// Verbs that need files or threads.
namespace ridgeline::verbs {
namespace {

core::Result<Reply> not_here(std::string_view verb) {
  return core::fail(core::Error{.field = "verb",
                                .message = fmt::format("{} is not in the WebAssembly build", verb),
                                .hint = "use the program or the Python package"});
}

Verb absent(std::string name, core::Result<Reply> (*run)(Request&, Host&)) {
  return {.name = std::move(name), .run = run};
}

}  // namespace

Verb steps_verb() {
  return absent("steps", [](Request&, Host&) { return not_here("steps"); });
}
Verb report_verb() {
  return absent("report", [](Request&, Host&) { return not_here("report"); });
}
Verb trace_verb() {
  return absent("trace", [](Request&, Host&) { return not_here("trace"); });
}
Verb convert_verb() {
  return absent("convert", [](Request&, Host&) { return not_here("convert"); });
}
Verb kernels_check_verb() {
  return absent("kernels check", [](Request&, Host&) { return not_here("kernels check"); });
}
Verb kernels_fit_verb() {
  return absent("kernels fit", [](Request&, Host&) { return not_here("kernels fit"); });
}
Verb kernels_lookup_verb() {
  return absent("kernels lookup", [](Request&, Host&) { return not_here("kernels lookup"); });
}
Verb kernels_make_verb() {
  return absent("kernels make", [](Request&, Host&) { return not_here("kernels make"); });
}
Verb kernels_plan_verb() {
  return absent("kernels plan", [](Request&, Host&) { return not_here("kernels plan"); });
}
Verb validate_verb() {
  return absent("validate", [](Request&, Host&) { return not_here("validate"); });
}
Verb calibrate_verb() {
  return absent("calibrate", [](Request&, Host&) { return not_here("calibrate"); });
}
Verb sweep_verb() {
  return absent("sweep", [](Request&, Host&) { return not_here("sweep"); });
}
Verb deploy_verb() {
  return absent("deploy", [](Request&, Host&) { return not_here("deploy"); });
}
Verb plan_verb() {
  return absent("plan", [](Request&, Host&) { return not_here("plan"); });
}

core::Result<Reply> compared_runs(Request& /*request*/,
                                  Host& /*host*/,
                                  scenario::Purpose /*purpose*/) {
  return not_here("compare");
}
core::Result<Reply> list_folder(const std::string& /*folder*/) {
  return not_here("path");
}

}  // namespace ridgeline::verbs

namespace ridgeline::deploy {

/// Of command lines alone.
core::Result<std::optional<Deployed>> scenario_in_file(const std::string& /*path*/,
                                                       const LaunchChoice& /*choice*/) {
  return std::nullopt;
}

}  // namespace ridgeline::deploy
