#include "lab/conform/engine_recording.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "lab/conform/conform.hpp"
#include "lab/conform/engines.hpp"
#include "lab/conform/recording.hpp"
#include "lab/conform/result_form.hpp"

namespace ridgeline::conform {
namespace {

/// An engine whose recordings we can replay.
struct RecordedEngine {
  std::string_view name;  ///< The file's `engine`.
  /// Our records of a recording's iterations; notes all problems with its cfg.
  EngineReplay (*replay)(const EngineRecording& recording,
                         const std::string& version,
                         core::Errors& errors);
  ResultForm form;
  /// Keys whose lists and maps have no order.
  std::span<const std::string_view> unordered = {};
  /// A key that a recorder may not write at all.
  std::string_view sometimes = {};
};
constexpr auto kSglangRecord = std::to_array<std::string_view>({"step",
                                                                "received",
                                                                "mode",
                                                                "scheduled",
                                                                "prefix_len",
                                                                "running",
                                                                "waiting",
                                                                "chunked",
                                                                "batch_is_full",
                                                                "new_token_ratio",
                                                                "evicted_tokens",
                                                                "free_tokens",
                                                                "evictable",
                                                                "protected",
                                                                "processed",
                                                                "tokens_out",
                                                                "free_tokens_after",
                                                                "evictable_after",
                                                                "protected_after",
                                                                "finished",
                                                                "retracted",
                                                                "kv_committed",
                                                                "kv_allocated",
                                                                "prealloc",
                                                                "transfer",
                                                                "retracted_queue",
                                                                "kv_arrived",
                                                                "bootstrap",
                                                                "inflight",
                                                                "host_free",
                                                                "host_free_after",
                                                                "loaded_back",
                                                                "backed_up",
                                                                "backed_up_after",
                                                                "mamba_free",
                                                                "mamba_evictable",
                                                                "mamba_protected",
                                                                "mamba_free_after",
                                                                "mamba_evictable_after",
                                                                "mamba_protected_after"});
constexpr auto kSglangTotals =
    std::to_array<std::string_view>({"steps", "retractions", "prefill_tokens", "evicted_tokens"});
constexpr auto kSglangRequest = std::to_array<std::string_view>(
    {"first_sched_step", "first_token_step", "finish_step", "retractions", "output_tokens"});
constexpr auto kSglangUnordered = std::to_array<std::string_view>(
    {"prefix_len", "tokens_out", "finished", "retracted", "kv_committed", "kv_allocated"});
constexpr auto kTensorRtRecord = std::to_array<std::string_view>({"step",
                                                                  "activated",
                                                                  "fitting",
                                                                  "paused",
                                                                  "context",
                                                                  "generation",
                                                                  "scheduled",
                                                                  "prefix_hit",
                                                                  "evicted_blocks",
                                                                  "free_blocks",
                                                                  "active",
                                                                  "waiting",
                                                                  "tokens_out",
                                                                  "dropped",
                                                                  "finished",
                                                                  "states",
                                                                  "free_blocks_after"});
constexpr auto kTensorRtTotals =
    std::to_array<std::string_view>({"steps", "pauses", "reused_blocks", "final_free_blocks"});
constexpr auto kTensorRtRequest = std::to_array<std::string_view>(
    {"first_sched_step", "first_token_step", "finish_step", "pauses", "output_tokens"});
constexpr auto kTensorRtUnordered = std::to_array<std::string_view>({"prefix_hit"});
constexpr auto kEngines = std::to_array<RecordedEngine>({
    {.name = "sglang",
     .replay = replay_sglang,
     .form = {kSglangRecord, kSglangTotals, kSglangRequest},
     .unordered = kSglangUnordered},
    {.name = "tensorrt-llm",
     .replay = replay_tensorrt_llm,
     .form = {kTensorRtRecord, kTensorRtTotals, kTensorRtRequest},
     .unordered = kTensorRtUnordered,
     .sometimes = "evicted_blocks"},
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
  entry.ignore_eos = reader.boolean("ignore_eos").value_or(false);
  const std::int64_t stop =
      reader.integer("stop_at", {1, kLongestRequest}).value_or(kLongestRequest);
  request.output_tokens =
      entry.ignore_eos ? request.max_tokens : std::min(request.max_tokens, core::Tokens(stop));
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

/// A recording whose results have the form; notes all problems.
EngineRecording read_engine_recording(const document::Node& document,
                                      const ResultForm& form,
                                      core::Errors& errors) {
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
    check_results(document, *recording.results, form, errors);
    for (const document::Node& result : recording.results->items()) {
      const document::Node* const trace = result.find("trace");
      const std::int64_t size =
          trace == nullptr || !trace->is_list() ? 0 : std::ssize(trace->items());
      recording.most_iterations = std::max(recording.most_iterations, size + 1);
    }
  }
  return recording;
}

/// Nothing happened: recorders leave it out.
bool is_nothing(std::string_view text) {
  return text.empty() || text == "[]" || text == "{}" || text == "null";
}

/// Recorded fractions have six digits.
bool is_near(const document::Node& recorded, const std::string& ours) {
  constexpr double kDigits = 1e-6;
  return recorded.kind() == document::Node::Kind::kReal &&
         std::abs(recorded.as_real() - std::strtod(ours.c_str(), nullptr)) <= kDigits;
}

std::optional<Difference> compare_record(const document::Node& recorded,
                                         const EngineRecord& ours,
                                         const RecordedEngine& engine,
                                         bool may_leave_out,
                                         const std::string& where) {
  for (const std::string_view key : engine.form.record) {
    const document::Node* const value = recorded.find(key);
    const auto found = ours.find(std::string(key));
    const std::string mine = found == ours.end() ? std::string() : found->second;
    if (value == nullptr) {
      const bool is_number = !mine.empty() && mine.front() != '[' && mine.front() != '{';
      if (is_nothing(mine) || (may_leave_out && is_number)) {
        continue;
      }
    } else {
      const bool is_unordered = std::ranges::find(engine.unordered, key) != engine.unordered.end();
      const std::string theirs = is_unordered ? sorted_text_of(*value) : text_of(*value);
      if (theirs == mine || (found == ours.end() && is_nothing(theirs)) || is_near(*value, mine)) {
        continue;
      }
    }
    return Difference{.where = fmt::format("{}: {}", where, key),
                      .recorded = value == nullptr ? "absent" : text_of(*value),
                      .ours = mine.empty() ? "absent" : mine};
  }
  return std::nullopt;
}

std::optional<Difference> compare_trace(const document::Node& trace,
                                        const std::vector<EngineRecord>& ours,
                                        const RecordedEngine& engine,
                                        bool may_leave_out) {
  const auto& recorded = trace.items();
  const bool writes_all = std::ranges::any_of(
      recorded, [&](const auto& record) { return record.find(engine.sometimes) != nullptr; });
  for (std::size_t i = 0; i < std::max(recorded.size(), ours.size()); ++i) {
    if (i >= recorded.size() || i >= ours.size()) {
      return Difference{
          .where = fmt::format("record {}", i),
          .recorded = i < recorded.size() ? text_of(recorded[i]) : "no record",
          .ours = i < ours.size() ? "a record of step " + ours[i].at("step") : "no record"};
    }
    const std::string where = fmt::format("record {} (step {})", i, ours[i].at("step"));
    EngineRecord mine = ours[i];
    if (!writes_all) {
      mine.erase(std::string(engine.sometimes));
    }
    if (auto difference = compare_record(recorded[i], mine, engine, may_leave_out, where)) {
      return difference;
    }
  }
  return std::nullopt;
}

/// Totals and rows say what the records say, which are equal to ours by now.
class Summary {
 public:
  Summary(const document::Node& trace, std::int64_t tokens_per_block)
      : tokens_per_block_(tokens_per_block) {
    for (const document::Node& record : trace.items()) {
      add(record);
    }
  }
  [[nodiscard]] const std::map<std::string, std::int64_t>& totals() const { return totals_; }
  [[nodiscard]] std::map<std::string, std::int64_t> of(const std::string& request) const {
    const auto row = rows_.find(request);
    return row == rows_.end() ? std::map<std::string, std::int64_t>() : row->second;
  }

 private:
  void add(const document::Node& record) {
    const std::int64_t step = totals_["steps"]++;
    const document::Node* const mode = record.find("mode");
    const bool is_prefill = mode != nullptr && text_of(*mode) == "extend";
    each(record, "scheduled", [&](const std::string& name, std::int64_t tokens) {
      rows_[name].try_emplace("first_sched_step", step);
      totals_["prefill_tokens"] += is_prefill ? tokens : 0;
    });
    each(record, "tokens_out", [&](const std::string& name, std::int64_t tokens) {
      rows_[name].try_emplace("first_token_step", step);
      rows_[name]["output_tokens"] += tokens;
    });
    each(record, "kv_arrived", [&](const std::string& name, std::int64_t one) {
      rows_[name]["output_tokens"] += one;  // The first token comes with it.
    });
    each(record, "finished", [&](const std::string& name, std::int64_t /*one*/) {
      rows_[name].emplace("finish_step", step);
    });
    for (const auto& [key, sum] : {std::pair("retracted", "retractions"), {"paused", "pauses"}}) {
      each(record, key, [&](const std::string& name, std::int64_t one) {
        rows_[name][sum] += one;
        totals_[sum] += one;
      });
    }
    each(record, "prefix_hit", [&](const std::string& /*name*/, std::int64_t tokens) {
      totals_["reused_blocks"] += tokens / tokens_per_block_;
    });
    totals_["evicted_tokens"] += number(record, "evicted_tokens");
    totals_["final_free_blocks"] = number(record, "free_blocks_after");
  }
  static std::int64_t number(const document::Node& record, std::string_view key) {
    const document::Node* const node = record.find(key);
    return node != nullptr && node->kind() == document::Node::Kind::kInteger ? node->as_integer()
                                                                             : 0;
  }
  /// Members of a map of numbers, or names of a list, each counting one.
  static void each(const document::Node& record, std::string_view key, auto&& take) {
    const document::Node* const node = record.find(key);
    if (node != nullptr && node->is_map()) {
      for (const auto& member : node->members()) {
        take(member.key, member.value.is_number() ? number(*node, member.key) : 0);
      }
    } else if (node != nullptr && node->is_list()) {
      for (const document::Node& item : node->items()) {
        take(text_of(item), 1);
      }
    }
  }

  std::int64_t tokens_per_block_;
  std::map<std::string, std::int64_t> totals_;
  std::map<std::string, std::map<std::string, std::int64_t>> rows_;
};

std::optional<Difference> compare_numbers(const document::Node& recorded,
                                          std::span<const std::string_view> keys,
                                          const std::map<std::string, std::int64_t>& ours,
                                          const std::string& where) {
  for (const std::string_view key : keys) {
    const document::Node* const value = recorded.find(key);
    const auto found = ours.find(std::string(key));
    // A request that is never scheduled has no such step.
    const std::string none = key.ends_with("_step") ? "null" : "0";
    const std::string mine = found == ours.end() ? none : std::to_string(found->second);
    if ((value == nullptr && mine != "null") || (value != nullptr && text_of(*value) != mine)) {
      return Difference{.where = fmt::format("{}.{}", where, key),
                        .recorded = value == nullptr ? "absent" : text_of(*value),
                        .ours = mine};
    }
  }
  return std::nullopt;
}

std::optional<Difference> compare_result(const document::Node& result,
                                         const EngineRecording& recording,
                                         const EngineReplay& replay,
                                         const RecordedEngine& engine) {
  const document::Node& trace = *result.find("trace");
  auto difference = compare_trace(trace, replay.trace, engine, is_excerpt(result));
  if (difference || is_excerpt(result)) {
    return difference;
  }
  const document::Node* const block = recording.cfg->find("tokens_per_block");
  const Summary summary(trace, block == nullptr ? 1 : block->as_integer());
  difference =
      compare_numbers(*result.find("totals"), engine.form.totals, summary.totals(), "totals");
  for (const auto& row : result.find("per_request")->members()) {
    if (!difference) {
      difference = compare_numbers(
          row.value, engine.form.request, summary.of(row.key), "per_request." + row.key);
    }
  }
  return difference;
}

}  // namespace

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
  core::Errors errors;
  const EngineRecording recording = read_engine_recording(document, engine->form, errors);
  std::vector<ConformResult> lines;
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  for (const auto& result : recording.results->items()) {
    for (const auto& version : result.find("versions")->items()) {
      const EngineReplay ours = engine->replay(recording, text_of(version), errors);
      if (!errors.empty()) {
        return core::fail(std::move(errors));
      }
      lines.push_back({.file = file,
                       .scenario = recording.scenario,
                       .version = text_of(version),
                       .profile = ours.profile,
                       .difference = compare_result(result, recording, ours, *engine)});
    }
  }
  return lines;
}

}  // namespace ridgeline::conform
