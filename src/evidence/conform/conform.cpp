#include "evidence/conform/conform.hpp"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "engine/options.hpp"
#include "engine/probe.hpp"
#include "engine/profiles.hpp"
#include "evidence/conform/comparison.hpp"
#include "evidence/conform/decisions/decisions.hpp"
#include "evidence/conform/engine_recording.hpp"
#include "evidence/conform/recording.hpp"

namespace ridgeline::evidence::conform {
namespace {

/// An engine that can be held against a recording.
struct TwinUnderTest {
  const char* name;
  std::unique_ptr<engine::SchedulerProbe> (*make)(const engine::EngineOptions&);
};
constexpr auto kTwinsUnderTest = std::to_array<TwinUnderTest>(
    {{"reference", engine::make_reference_probe}, {"fast", engine::make_fast_probe}});

/// The first difference of any twin.
std::optional<Difference> compare_twins(const document::Node& result,
                                        const Recording& recording,
                                        const engine::Profile& profile) {
  for (const auto& twin : kTwinsUnderTest) {
    const auto probe = twin.make(options_for(recording, profile));
    auto difference = compare(result, recording, profile, *probe);
    if (difference) {
      difference->where = fmt::format("{}: {}", twin.name, difference->where);
      return difference;
    }
  }
  return std::nullopt;
}

/// Whether a result has what the comparison needs.
bool check_result(const document::Node& result, core::Errors& errors) {
  const document::Node* versions = result.find("versions");
  const document::Node* trace = result.find("trace");
  if (versions != nullptr && versions->is_list() && trace != nullptr && trace->is_list()) {
    return true;
  }
  errors.push_back(
      {.field = "results",
       .message = "found " + result.describe() + ", expected a map with lists versions and trace",
       .where = result.where()});
  return false;
}

/// The recording, and the list of results to compare with; notes all problems.
const document::Node* read_recording(const document::Node& document,
                                     Recording& recording,
                                     core::Errors& errors) {
  document::ObjectReader reader(document, "", errors);
  recording.scenario = reader.required_string("scenario");
  reader.node("engine");
  reader.node("derivation");  // For people: why the results are what they are.
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
  for (const auto& result : results->items()) {
    check_result(result, errors);
  }
  return results;
}

/// vLLM's need not name their engine.
bool is_of_other_engine(const document::Node& document) {
  const document::Node* engine = document.is_map() ? document.find("engine") : nullptr;
  return engine != nullptr && text_of(*engine) != "vllm";
}

}  // namespace

core::Result<std::vector<ConformResult>> conform_file(const std::string& path) {
  const auto text = document::read_file(path);
  if (!text) {
    return core::fail(text.error());
  }
  const auto document = document::parse_json(*text, path);
  if (!document) {
    return core::fail(document.error());
  }
  if (is_decisions(*document)) {
    return conform_decisions(*document, path);
  }
  if (is_of_other_engine(*document)) {
    return conform_engine(*document, path);
  }
  core::Errors errors;
  Recording recording;
  const document::Node* results = read_recording(*document, recording, errors);
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
      ConformResult line;
      line.file = path;
      line.scenario = recording.scenario;
      line.version = name;
      line.profile = profile->name;
      line.difference = compare_twins(result, recording, *profile);
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

}  // namespace ridgeline::evidence::conform
