#include "api/measured_calls.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/call.hpp"
#include "api/call_document.hpp"
#include "api/errors.hpp"
#include "api/search_contact.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "evidence/calibrate/alternatives.hpp"
#include "evidence/calibrate/calibrate.hpp"
#include "evidence/calibrate/server_file.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/measured_files.hpp"
#include "evidence/validate/prediction.hpp"
#include "evidence/validate/validate.hpp"
#include "evidence/validate/validation_tree.hpp"
#include "report/result_json.hpp"
#include "report/results/calibration.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::api {
namespace {

constexpr std::int64_t kMostHistories = 1000;
constexpr std::int64_t kMostThreads = 1024;
/// The exit code of errors above a limit (docs/cli.md).
constexpr int kThreshold = 99;

/// A value as after a flag.
std::string flag_text(const document::Node& value) {
  switch (value.kind()) {
    case document::Node::Kind::kBool:
      return value.as_bool() ? "true" : "false";
    case document::Node::Kind::kInteger:
      return std::to_string(value.as_integer());
    case document::Node::Kind::kReal:
      return fmt::format("{}", value.as_real());
    default:
      return value.as_string();
  }
}

/// Every value of a scenario's document with its dotted path; a list has no flag.
void flatten(const document::Node& node,
             const std::string& path,
             std::vector<scenario::Override>& overrides,
             core::Errors& errors) {
  for (const auto& member : node.members()) {
    const std::string place = path.empty() ? member.key : path + "." + member.key;
    if (member.value.is_map()) {
      flatten(member.value, place, overrides, errors);
    } else if (member.value.is_list() || member.value.is_null()) {
      errors.push_back({.field = place,
                        .message = fmt::format("found {}, expected a text, a number, true or false",
                                               member.value.describe()),
                        .where = member.value.where()});
    } else {
      overrides.push_back({.path = place, .text = flag_text(member.value)});
    }
  }
}

struct Measured {
  std::vector<evidence::validate::Evidence> records;
  evidence::validate::PredictOptions options;
};

/// The records and options of a document from which the verb took its own keys.
core::Result<Measured> measured(CallDocument& document) {
  Measured job;
  const std::vector<std::string> files = document.take_texts("files");
  job.options.histories = document.take_count("histories", job.options.histories, kMostHistories);
  job.options.threads = document.take_count("threads", job.options.threads, kMostThreads);
  core::Errors errors = document.errors();
  flatten(document.scenario(), "", job.options.overrides, errors);
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  auto records = evidence::validate::read_files(files, job.options.overrides);
  if (!records) {
    return core::fail(records.error());
  }
  job.records = std::move(*records);
  return job;
}

}  // namespace

core::Result<Reply> validate(CallDocument& document, const CallHost& host) {
  auto job = measured(document);
  if (!job) {
    return core::fail(job.error());
  }
  SearchContact contact(host.hooks);
  job->options.interrupt = &contact.stop();
  const SearchContact::Watch watch(contact);
  const auto found = evidence::validate::validate(std::move(job->records), job->options);
  return Reply{.code = contact.stop() ? kStopped : 0,
               .json = report::json_text(evidence::validate::validation_tree(found))};
}

core::Result<Reply> calibrate(CallDocument& document, const CallHost& host) {
  evidence::calibrate::CalibrateOptions options;
  options.wanted = document.take_texts("fit");
  const auto job = measured(document);
  if (!job) {
    return core::fail(job.error());
  }
  options.histories = job->options.histories;
  options.threads = job->options.threads;
  options.overrides = job->options.overrides;
  SearchContact contact(host.hooks);
  options.interrupt = &contact.stop();
  const SearchContact::Watch watch(contact);
  const auto stopped = [](const core::Errors& errors) {
    return Reply{.code = kStopped, .json = report::json_text(errors_tree(errors))};
  };
  const auto calibration = evidence::calibrate::calibrate(job->records, options);
  if (!calibration) {
    return contact.stop() ? core::Result<Reply>(stopped(calibration.error()))
                          : core::fail(calibration.error());
  }
  const auto alternatives =
      evidence::calibrate::find_alternatives(job->records, options, *calibration);
  if (contact.stop()) {
    return stopped({core::Error{.message = "interrupted: nothing is calibrated"}});
  }
  const auto tree =
      document::parse_json(report::calibration_json(*calibration, alternatives), "calibration");
  if (!tree) {
    return core::fail(tree.error());
  }
  std::vector<document::Node::Member> members = tree->members();
  const bool matches = calibration->kernels_match();
  document::Node server;
  if (matches) {
    auto parsed =
        document::parse_json(evidence::calibrate::server_json(*calibration), "calibration");
    if (!parsed) {
      return core::fail(parsed.error());
    }
    server = std::move(*parsed);
  } else {
    members.push_back({.key = "mismatch",
                       .value = document::text_node(
                           report::calibration_mismatch(*calibration, alternatives).message),
                       .where = {}});
  }
  members.push_back({.key = "scenario", .value = std::move(server), .where = {}});
  return Reply{.code = matches ? 0 : kThreshold,
               .json = report::json_text(document::Node::map(std::move(members), {}))};
}

}  // namespace ridgeline::api
