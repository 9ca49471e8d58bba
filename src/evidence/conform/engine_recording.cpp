#include "evidence/conform/engine_recording.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "evidence/conform/conform.hpp"
#include "evidence/conform/engines.hpp"
#include "evidence/conform/recording.hpp"

namespace ridgeline::evidence::conform {
namespace {

/// An engine whose recordings we can replay.
struct RecordedEngine {
  std::string_view name;  ///< The file's `engine`.
  /// Our records of a recording's iterations; notes all problems with its cfg.
  std::vector<EngineRecord> (*replay)(const EngineRecording& recording,
                                      const std::string& version,
                                      core::Errors& errors) = nullptr;
  /// In its place: replays and compares a whole file by itself.
  core::Result<std::vector<ConformResult>> (*conform)(const document::Node& document,
                                                      const std::string& file) = nullptr;
};
constexpr auto kEngines = std::to_array<RecordedEngine>({
    {.name = "sglang", .conform = conform_sglang},
    {.name = "tensorrt-llm", .replay = replay_tensorrt_llm},
});

constexpr std::int64_t kMostIterations = 1'000'000;
constexpr std::int64_t kLongestRequest = 1'000'000;

EngineRequest read_request(const document::Node& node,
                           std::size_t index,
                           const std::map<std::string, core::RequestId>& ids,
                           core::Errors& errors) {
  const std::string path = fmt::format("requests[{}]", index);
  document::ObjectReader reader(node, path, errors);
  EngineRequest entry;
  domain::Request& request = entry.request;
  entry.name = reader.required_string("id");
  entry.arrive_step = reader.integer("arrive_step", {0, kMostIterations}).value_or(0);
  request.id = core::RequestId(static_cast<std::uint32_t>(index));
  request.max_tokens =
      core::Tokens(reader.required_integer("max_new_tokens", {1, kLongestRequest}));
  request.output_tokens = core::Tokens(
      reader.integer("stop_at", {1, kLongestRequest}).value_or(request.max_tokens.value()));
  request.priority = static_cast<std::int32_t>(
      reader.integer("priority", {-kLongestRequest, kLongestRequest}).value_or(0));
  if (const auto* prompt = reader.node("prompt")) {
    read_prompt(*prompt, ids, path, request, errors);
  } else {
    reader.problem("prompt", "is missing, expected a list of segments");
  }
  finish_leniently(reader, node);
  return entry;
}

void read_engine_requests(const document::Node& list,
                          EngineRecording& recording,
                          core::Errors& errors) {
  std::map<std::string, core::RequestId> ids;
  for (const auto& node : list.items()) {
    const auto* name = node.is_map() ? node.find("id") : nullptr;
    if (name != nullptr && name->is_string() &&
        !ids.emplace(name->as_string(), core::RequestId(static_cast<std::uint32_t>(ids.size())))
             .second) {
      errors.push_back({.field = "requests",
                        .message = "found two requests named \"" + name->as_string() + "\"",
                        .where = name->where()});
    }
  }
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    recording.requests.push_back(read_request(list.items()[i], i, ids, errors));
  }
}

const document::Node* list_of(document::ObjectReader& reader, const char* key) {
  const document::Node* node = reader.node(key);
  if (node == nullptr || !node->is_list()) {
    reader.problem(key,
                   node == nullptr ? "is missing, expected a list"
                                   : "found " + node->describe() + ", expected a list");
    return nullptr;
  }
  return node;
}

void check_results(const document::Node& results, core::Errors& errors) {
  for (const auto& result : results.items()) {
    const auto* versions = result.is_map() ? result.find("versions") : nullptr;
    const auto* trace = result.is_map() ? result.find("trace") : nullptr;
    const bool is_sound =
        versions != nullptr && versions->is_list() && trace != nullptr && trace->is_list() &&
        std::ranges::all_of(trace->items(), [](const auto& record) { return record.is_map(); });
    if (!is_sound) {
      errors.push_back({.field = "results",
                        .message = "found " + result.describe() +
                                   ", expected a map with lists versions and trace, of maps",
                        .where = result.where()});
    }
  }
}

}  // namespace

EngineRecording read_engine_recording(const document::Node& document, core::Errors& errors) {
  EngineRecording recording;
  document::ObjectReader reader(document, "", errors);
  recording.scenario = reader.required_string("scenario");
  reader.node("engine");
  reader.node("derivation");
  reader.node("note");
  recording.cfg = reader.node("cfg");
  if (recording.cfg == nullptr || !recording.cfg->is_map()) {
    reader.problem("cfg", "is missing, expected a map");
  }
  const document::Node* requests = list_of(reader, "requests");
  recording.results = list_of(reader, "results");
  reader.finish();
  if (requests != nullptr) {
    read_engine_requests(*requests, recording, errors);
  }
  if (recording.results != nullptr) {
    check_results(*recording.results, errors);
  }
  return recording;
}

std::optional<Difference> compare_trace(const document::Node& trace,
                                        const std::vector<EngineRecord>& ours) {
  const auto& recorded = trace.items();
  for (std::size_t i = 0; i < std::max(recorded.size(), ours.size()); ++i) {
    if (i >= recorded.size() || i >= ours.size()) {
      return Difference{
          .where = fmt::format("record {}", i),
          .recorded = i < recorded.size() ? text_of(recorded[i]) : "no record",
          .ours = i < ours.size() ? "a record of step " + ours[i].at("step") : "no record"};
    }
    for (const auto& [key, mine] : ours[i]) {
      const document::Node* value = recorded[i].find(key);
      const std::string text = value == nullptr ? std::string() : text_of(*value);
      const bool is_empty = value == nullptr && (mine == "[]" || mine == "{}");
      if (text != mine && !is_empty) {
        return Difference{
            .where = fmt::format("record {} (step {}): {}", i, ours[i].at("step"), key),
            .recorded = value == nullptr ? "absent" : text,
            .ours = mine};
      }
    }
  }
  return std::nullopt;
}

core::Result<std::vector<ConformResult>> conform_engine(const document::Node& document,
                                                        const std::string& file) {
  const document::Node& name = *document.find("engine");
  const auto* const engine =
      std::ranges::find(kEngines, name.is_string() ? name.as_string() : "", &RecordedEngine::name);
  if (engine == kEngines.end()) {
    return core::fail({.field = "engine",
                       .message = "found " + text_of(name) +
                                  ", expected a recording of vllm, sglang or tensorrt-llm",
                       .where = name.where()});
  }
  if (engine->conform != nullptr) {
    return engine->conform(document, file);
  }
  core::Errors errors;
  const EngineRecording recording = read_engine_recording(document, errors);
  std::vector<ConformResult> lines;
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  for (const auto& result : recording.results->items()) {
    for (const auto& version : result.find("versions")->items()) {
      const auto ours = engine->replay(recording, text_of(version), errors);
      if (!errors.empty()) {
        return core::fail(std::move(errors));
      }
      lines.push_back({.file = file,
                       .scenario = recording.scenario,
                       .version = text_of(version),
                       .profile = std::string(engine->name),
                       .difference = compare_trace(*result.find("trace"), ours)});
    }
  }
  return lines;
}

}  // namespace ridgeline::evidence::conform
