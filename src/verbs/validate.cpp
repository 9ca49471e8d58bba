#include "evidence/validate/validate.hpp"

#include <utility>

#include "core/result.hpp"
#include "evidence/validate/validation_tree.hpp"
#include "verbs/measured_files.hpp"
#include "verbs/registry.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {
namespace {

core::Result<Reply> validate(Request& request, Host& host) {
  auto job = take_measured(request);
  if (!job) {
    return core::fail(job.error());
  }
  job->options.interrupt = &host.stop();
  const auto watch = host.watch(Host::Work::kOnThreads);
  const auto found = shared(evidence::validate::validate(std::move(job->evidence), job->options));
  return Reply{.code = host.stop() ? host.stopped() : 0,
               .tree = tree_of(found, evidence::validate::validation_tree)};
}

}  // namespace

Verb validate_verb() {
  return {.name = "validate",
          .summary = "compare with measured runs",
          .scenario = ScenarioPart::kServer,
          .words = "files",
          .parameters = measured_parameters(),
          .run = validate,
          .own = Own::kValidate};
}

}  // namespace ridgeline::verbs
