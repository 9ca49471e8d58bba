#include "verbs/measured_files.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "evidence/validate/measured_files.hpp"
#include "scenario/scenario.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {
namespace {

constexpr std::int64_t kMostHistories = 1000;

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

}  // namespace

std::vector<Parameter> measured_parameters() {
  return {
      {.key = "histories",
       .value = "N",
       .help = "Histories to simulate: draws of arrivals and lengths [3]"},
      {.key = "threads", .value = "N", .help = "Threads [all cores]; results do not depend on it"}};
}

core::Result<MeasuredJob> take_measured(Request& request) {
  MeasuredJob job;
  const std::vector<std::string> files = request.take_texts("files");
  job.options.histories = request.take_count("histories", job.options.histories, kMostHistories);
  job.options.threads = request.is_words()
                            ? request.take_threads("threads")
                            : request.take_count("threads", job.options.threads, kMostThreads);
  core::Errors errors = request.errors();
  if (request.is_words()) {
    job.options.overrides = request.stated()->overrides;
  } else {
    flatten(request.document(), "", job.options.overrides, errors);
  }
  auto records = evidence::validate::read_files(files, job.options.overrides);
  if (!records) {
    errors.insert(errors.end(), records.error().begin(), records.error().end());
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  job.evidence = std::move(*records);
  return job;
}

void warn_of_files(const std::vector<evidence::validate::Evidence>& evidence, Host& host) {
  constexpr std::size_t kMostWarnings = 10;
  std::vector<std::string> shown;
  const auto warn = [&](const std::string& code, const std::string& message) {
    if (std::ranges::find(shown, message) != shown.end()) {
      return;
    }
    shown.push_back(message);
    if (shown.size() <= kMostWarnings) {
      host.warn({.code = code, .message = message});
    }
  };
  for (const auto& record : evidence) {
    for (const auto& rows : record.left_out) {
      warn("W-rows-left-out", fmt::format("{}: left out {}", record.file, rows));
    }
    for (const auto& warning : record.warnings) {
      warn(warning.code, fmt::format("{}: {}", record.file, warning.message));
    }
    for (const auto& doubt : record.doubts) {
      warn("W-measured-file", fmt::format("{}: {}", record.file, doubt));
    }
  }
  if (shown.size() > kMostWarnings) {
    host.warn({.code = "W-measured-file",
               .message = fmt::format("{} more of these warnings", shown.size() - kMostWarnings),
               .hint = "--format json has all"});
  }
}

}  // namespace ridgeline::verbs
