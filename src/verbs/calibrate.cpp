#include "evidence/calibrate/calibrate.hpp"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "evidence/calibrate/alternatives.hpp"
#include "evidence/calibrate/calibration_tree.hpp"
#include "evidence/calibrate/server_file.hpp"
#include "report/palette.hpp"
#include "verbs/calibrate_view.hpp"
#include "verbs/measured_files.hpp"
#include "verbs/registry.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {
namespace {

using evidence::calibrate::Alternative;
using evidence::calibrate::Calibration;

/// Constants of a server are not fitted to what a client measured of itself.
core::Errors unsound_records(const MeasuredJob& job) {
  core::Errors errors;
  for (const auto& record : job.evidence) {
    if (!record.unsound.empty()) {
      errors.push_back({.message = fmt::format("the measurement is unsound: {}", record.unsound),
                        .where = {.file = record.file},
                        .hint = "measure again, or --allow-unsound"});
    }
  }
  return errors;
}

/// What was found, and other flags that would fit better.
struct FoundServer {
  Calibration calibration;
  std::vector<Alternative> alternatives;
};

document::Node fit_tree(const FoundServer& found) {
  return evidence::calibrate::calibration_tree(found.calibration, found.alternatives);
}

/// For a host: `scenario` is the calibrated server, which `run` takes; null where the kernels do
/// not match the measurements, and `mismatch` says why. A command line writes it to a file.
document::Node tree_with_server(const FoundServer& found) {
  std::vector<document::Node::Member> members = fit_tree(found).members();
  document::Node server;
  if (found.calibration.kernels_match()) {
    server =
        document::parse_json(evidence::calibrate::server_json(found.calibration), "calibration")
            .value_or(document::Node());
  } else {
    members.push_back({.key = "mismatch",
                       .value = document::text_node(
                           calibration_mismatch(found.calibration, found.alternatives).message),
                       .where = {}});
  }
  members.push_back({.key = "scenario", .value = std::move(server), .where = {}});
  return document::Node::map(std::move(members), {});
}

Reply reply_of(const Found<FoundServer>& found, bool with_server) {
  const Calibration& calibration = found->calibration;
  Reply reply{.tree = tree_of(found, with_server ? tree_with_server : fit_tree),
              .warnings = calibration_warnings(calibration)};
  add_views(reply, [found] { return fit_tree(*found); }, calibration_sheet);
  if (!calibration.kernels_match()) {
    // Constants of another server's are not written.
    reply.code = kThreshold;
    reply.errors.push_back(calibration_mismatch(calibration, found->alternatives));
    return reply;
  }
  if (calibration.left() > evidence::calibrate::kLeftInDoubt) {
    reply.warnings.push_back(calibration_doubt(calibration, found->alternatives));
  }
  reply.artefacts["yaml"] = [found] {
    return evidence::calibrate::server_yaml(found->calibration);
  };
  reply.artefacts["json"] = [found] {
    return evidence::calibrate::server_json(found->calibration);
  };
  return reply;
}

core::Result<Reply> calibrate(Request& request, Host& host) {
  evidence::calibrate::CalibrateOptions options;
  options.wanted = request.take_texts("fit");
  const bool takes_unsound = request.take_bool("allow_unsound", !request.is_words());
  const auto job = take_measured(request);
  if (!job) {
    return core::fail(job.error());
  }
  if (const auto code = host.hand_over(job->evidence)) {
    return Reply{.code = *code};
  }
  if (auto errors = unsound_records(*job); !errors.empty() && !takes_unsound) {
    return core::fail(std::move(errors));
  }
  warn_of_files(job->evidence, host);
  options.histories = job->options.histories;
  options.threads = job->options.threads;
  options.overrides = job->options.overrides;
  options.interrupt = &host.stop();
  const auto watch = host.watch(Host::Work::kOnThreads);
  const auto stopped = [&](core::Errors errors) {
    return Reply{.code = host.stopped(), .errors = std::move(errors)};
  };
  auto calibration = evidence::calibrate::calibrate(job->evidence, options);
  if (!calibration) {
    return host.stop() ? core::Result<Reply>(stopped(calibration.error()))
                       : core::fail(calibration.error());
  }
  auto alternatives = evidence::calibrate::find_alternatives(job->evidence, options, *calibration);
  if (host.stop()) {
    return stopped({core::Error{.message = "interrupted: nothing is calibrated"}});
  }
  return reply_of(shared(FoundServer{std::move(*calibration), std::move(alternatives)}),
                  !request.is_words());
}

}  // namespace

Verb calibrate_verb() {
  using Kind = Parameter::Kind;
  Verb verb{
      .name = "calibrate",
      .summary = "fit a server's own times to measured runs",
      .usage = "calibrate FILE... -o my-server.yaml [flags]",
      .about =
          "Fits the few times of a server that differ from machine to machine (host, network, API\n"
          "server) to measured runs, and writes them as a scenario that other verbs take. The\n"
          "kernels are left alone. Constants that the measurements do not determine are not\n"
          "fitted; to ask for such a one by name is an error. Exit code 99, and no file, when the\n"
          "errors that are left are the kernels': a wrong GPU, precision or flag.",
      .scenario = ScenarioPart::kServer,
      .words = "files",
      .parameters = {scenario_parameters(),
                     {.key = "fit",
                      .kind = Kind::kWords,
                      .value = "LIST",
                      .help = "Constants to fit, by name [all that the measurements tell]"}},
      .formats = sheet_formats(),
      .run = calibrate};
  for (Parameter& parameter : measured_parameters()) {
    verb.parameters.push_back(std::move(parameter));
  }
  verb.parameters.push_back(
      {.key = "allow_unsound",
       .kind = Kind::kSwitch,
       .help = "Takes measurements, too, whose client was too slow or which were cut off"});
  verb.parameters.push_back({.key = "output", .kind = Kind::kScenarioFile});
  return verb;
}

}  // namespace ridgeline::verbs
