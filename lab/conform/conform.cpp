#include "lab/conform/conform.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "engine/options.hpp"
#include "engine/probe.hpp"
#include "engine/profiles.hpp"
#include "lab/conform/agentx.hpp"
#include "lab/conform/comparison.hpp"
#include "lab/conform/decisions/decisions.hpp"
#include "lab/conform/engine_recording.hpp"
#include "lab/conform/recording.hpp"
#include "lab/conform/replay.hpp"
#include "lab/conform/result_form.hpp"

namespace ridgeline::conform {
namespace {

/// An engine that can be held against a recording.
struct TwinUnderTest {
  const char* name;
  std::unique_ptr<engine::SchedulerProbe> (*make)(const engine::EngineOptions&);
};
constexpr auto kTwinsUnderTest = std::to_array<TwinUnderTest>(
    {{"reference", engine::make_reference_probe}, {"fast", engine::make_fast_probe}});

/// The first difference of any twin that can run the recording.
std::optional<Difference> compare_twins(const document::Node& result,
                                        const Recording& recording,
                                        const engine::Profile& profile) {
  bool has_run = false;
  for (const auto& twin : kTwinsUnderTest) {
    const auto probe = twin.make(options_for(recording, profile));
    if (!can_run(recording, *probe)) {
      continue;
    }
    has_run = true;
    auto difference = compare(result, recording, profile, *probe);
    if (difference) {
      difference->where = fmt::format("{}: {}", twin.name, difference->where);
      return difference;
    }
  }
  return has_run ? std::nullopt
                 : std::optional(Difference{.where = "the whole recording",
                                            .recorded = "KV that arrives over time",
                                            .ours = "no scheduler that takes it"});
}

/// As compare_twins(), with each order of what vLLM keeps in a set, until one is the recording's.
std::optional<Difference> compare_orders(const document::Node& result,
                                         const Recording& recording,
                                         const engine::Profile& profile) {
  constexpr std::uint64_t kMostOrders = 64;
  auto difference = compare_twins(result, recording, profile);
  if (!recording.offload || profile.chunks_follow_requests) {
    return difference;
  }
  Recording other = recording;
  for (std::uint64_t order = 1; difference && order < kMostOrders; ++order) {
    other.offload->set_order = order;
    if (!compare_twins(result, other, profile)) {
      difference.reset();
    }
  }
  return difference;
}

/// The recording, and the list of results to compare with; notes all problems.
const document::Node* read_recording(const document::Node& document,
                                     Recording& recording,
                                     core::Errors& errors) {
  document::ObjectReader reader(document, "", errors);
  recording.scenario = reader.required_string("scenario");
  reader.node("engine");
  reader.node("derivation");  // For people: why the results are what they are.
  const document::Node* actions = reader.node("actions");
  const document::Node* cfg = reader.node("cfg");
  const document::Node* requests = reader.node("requests");
  const document::Node* results = reader.node("results");
  for (const auto& [key, node] : {std::pair("requests", requests), std::pair("results", results)}) {
    if (node == nullptr || !node->is_list()) {
      reader.problem(key,
                     node == nullptr ? "is missing, expected a list"
                                     : "found " + node->describe() + ", expected a list");
    }
  }
  if (cfg == nullptr) {
    reader.problem("cfg", "is missing, expected a map");
  }
  reader.finish();
  if (!errors.empty()) {
    return nullptr;
  }
  read_configuration(*cfg, recording, errors);
  read_requests(*requests, recording, errors);
  if (actions != nullptr) {
    read_actions(*actions, recording, errors);
  }
  check_results(document, *results, kResultForm, errors);
  return results;
}

/// vLLM's need not name their engine.
bool is_of_other_engine(const document::Node& document) {
  const document::Node* engine = document.is_map() ? document.find("engine") : nullptr;
  return engine != nullptr && text_of(*engine) != "vllm";
}

}  // namespace

core::Result<std::vector<ConformResult>> conform_document(const document::Node& document,
                                                          const std::string& file) {
  if (is_agentx(document)) {
    return conform_agentx(document, file);
  }
  if (is_decisions(document)) {
    return conform_decisions(document, file);
  }
  if (is_of_other_engine(document)) {
    return conform_engine(document, file);
  }
  core::Errors errors;
  Recording recording;
  const document::Node* results = read_recording(document, recording, errors);
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  std::vector<ConformResult> lines;
  for (const auto& result : results->items()) {
    for (const auto& version : result.find("versions")->items()) {
      const std::string name = text_of(version);
      const auto profile = engine::find_profile(version_number(name));
      if (!profile) {
        return core::fail(profile.error());
      }
      lines.push_back({.file = file,
                       .scenario = recording.scenario,
                       .version = name,
                       .profile = profile->name,
                       .difference = compare_orders(result, recording, *profile)});
    }
  }
  return lines;
}

core::Result<std::vector<ConformResult>> conform_file(const std::string& path) {
  const auto text = document::read_file(path);
  if (!text) {
    return core::fail(text.error());
  }
  const auto document = document::parse_json(*text, path);
  if (!document) {
    return core::fail(document.error());
  }
  return conform_document(*document, path);
}

core::Result<std::vector<ConformResult>> conform_files(const std::vector<std::string>& paths) {
  std::vector<ConformResult> results;
  core::Errors errors;
  for (const std::string& path : paths) {
    const auto lines = conform_file(path);
    if (lines) {
      results.insert(results.end(), lines->begin(), lines->end());
    } else {
      errors.insert(errors.end(), lines.error().begin(), lines.error().end());
    }
  }
  if (errors.empty() && results.empty()) {
    errors.push_back(
        {.field = "recording",
         .message = "found nothing to compare, expected decisions of one case at least",
         .where = {.file = paths.empty() ? "" : paths.front()}});
  }
  constexpr std::size_t kMostProblems = 20;
  if (errors.size() > kMostProblems) {
    const std::size_t more = errors.size() - kMostProblems;
    errors.resize(kMostProblems);
    errors.push_back({.field = "recording",
                      .message = fmt::format("and {} {} more", more, core::plural("problem", more)),
                      .where = {.file = errors.back().where.file}});
  }
  return errors.empty() ? core::Result<std::vector<ConformResult>>(std::move(results))
                        : core::fail(std::move(errors));
}

}  // namespace ridgeline::conform
