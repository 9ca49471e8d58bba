#include "sim/conform/conform.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/document.hpp"
#include "core/reader.hpp"
#include "core/result.hpp"
#include "engine/options.hpp"
#include "engine/probe.hpp"
#include "engine/profiles.hpp"
#include "sim/conform/recording.hpp"
#include "sim/conform/replay.hpp"

namespace ridgeline::sim::conform {
namespace {

/// Keys under which a record holds a set.
bool is_set(const std::string& key) {
  return key == "new" || key == "resumed" || key == "preempted" || key == "finished" ||
         key == "prefix_hit";
}

std::string sorted_text_of(const core::Node& list) {
  std::set<std::string> items;
  if (list.is_map()) {
    for (const auto& member : list.members()) {
      items.insert(member.key + ":" + text_of(member.value));
    }
    return fmt::format("{{{}}}", fmt::join(items, " "));
  }
  for (const auto& item : list.items()) {
    items.insert(text_of(item));
  }
  return fmt::format("[{}]", fmt::join(items, " "));
}

std::optional<Difference> compare_records(const core::Node& trace,
                                          const std::vector<Record>& records) {
  const auto& recorded = trace.items();
  for (std::size_t i = 0; i < std::max(recorded.size(), records.size()); ++i) {
    if (i >= recorded.size() || i >= records.size()) {
      return Difference{
          fmt::format("record {}", i),
          i < recorded.size() ? text_of(recorded[i]) : "no record",
          i < records.size() ? "a record of step " + records[i].front().second : "no record"};
    }
    std::map<std::string, std::string> ours(records[i].begin(), records[i].end());
    const std::string where = fmt::format("record {} (step {})", i, ours["step"]);
    for (const auto& member : recorded[i].members()) {
      const auto mine = ours.find(member.key);
      const std::string text =
          is_set(member.key) ? sorted_text_of(member.value) : text_of(member.value);
      if (mine == ours.end() || mine->second != text) {
        return Difference{
            where + ": " + member.key, text, mine == ours.end() ? "absent" : mine->second};
      }
      ours.erase(mine);
    }
    if (!ours.empty()) {
      return Difference{where + ": " + ours.begin()->first, "absent", ours.begin()->second};
    }
  }
  return std::nullopt;
}

std::optional<Difference> compare_totals(const core::Node& totals,
                                         const SchedulerProbe& probe,
                                         const engine::Profile& profile,
                                         std::int64_t preemptions) {
  const auto statistics = probe.statistics();
  std::string list;
  for (const auto block : probe.free_list()) {
    list += (list.empty() ? "" : " ") + std::to_string(block.value());
  }
  std::string prefix = fmt::format(
      "requests:{} queries:{} hits:{}", statistics.requests, statistics.queries, statistics.hits);
  if (profile.prefix_stats_split_preempted) {
    prefix += fmt::format(" preempted_requests:{} preempted_queries:{} preempted_hits:{}",
                          statistics.preempted_requests,
                          statistics.preempted_queries,
                          statistics.preempted_hits);
  }
  const std::map<std::string, std::string> ours = {
      {"num_preemptions", std::to_string(profile.counts_preemptions ? preemptions : 0)},
      {"final_free_queue", "[" + list + "]"},
      {"prefix_stats", "{" + prefix + "}"}};
  for (const auto& member : totals.members()) {
    const auto mine = ours.find(member.key);
    const std::string text = text_of(member.value);
    if (mine == ours.end() || mine->second != text) {
      return Difference{"totals." + member.key, text, mine == ours.end() ? "absent" : mine->second};
    }
  }
  return std::nullopt;
}

std::optional<Difference> compare_rows(const core::Node& table,
                                       const Recording& recording,
                                       const SchedulerProbe& probe,
                                       const std::vector<Replay::Row>& rows) {
  for (std::size_t i = 0; i < recording.entries.size(); ++i) {
    const auto& entry = recording.entries[i];
    const core::Node* recorded = table.find(entry.name);
    if (recorded == nullptr) {
      continue;
    }
    std::map<std::string, std::string> ours;
    const auto put = [&](const char* key, std::optional<std::int64_t> value) {
      if (value) {
        ours[key] = std::to_string(*value);
      }
    };
    put("first_sched_step", rows[i].first_scheduled);
    put("first_token_step", rows[i].first_token);
    put("finish_step", rows[i].finished);
    put("output_tokens", probe.output_tokens(entry.request.id));
    if (const auto preemptions = probe.preemptions(entry.request.id); preemptions > 0) {
      put("preemptions", preemptions);
    }
    for (const auto& member : recorded->members()) {
      const auto mine = ours.find(member.key);
      const std::string text = text_of(member.value);
      if (mine == ours.end() || mine->second != text) {
        return Difference{"per_request." + entry.name + "." + member.key,
                          text,
                          mine == ours.end() ? "absent" : mine->second};
      }
    }
  }
  return std::nullopt;
}

using MakeProbe = std::unique_ptr<SchedulerProbe> (*)(const engine::EngineOptions&);

std::optional<Difference> compare(const core::Node& result,
                                  const Recording& recording,
                                  const engine::Profile& profile,
                                  MakeProbe make) {
  const auto probe = make(options_for(recording, profile));
  const core::Node* trace = result.find("trace");
  const core::Node* totals = result.find("totals");
  const core::Node* table = result.find("per_request");
  const bool with_blocks =
      std::any_of(trace->items().begin(), trace->items().end(), [](const auto& record) {
        return record.find("blocks") != nullptr;
      });
  Replay replay(recording, *probe, with_blocks);
  const auto records = replay.run();
  if (auto difference = compare_records(*trace, records)) {
    return difference;
  }
  if (totals != nullptr) {
    std::int64_t preemptions = 0;
    for (const auto& entry : recording.entries) {
      preemptions += probe->preemptions(entry.request.id);
    }
    if (auto difference = compare_totals(*totals, *probe, profile, preemptions)) {
      return difference;
    }
  }
  return table == nullptr ? std::nullopt : compare_rows(*table, recording, *probe, replay.rows());
}

/// Whether a result has what the comparison needs.
bool check_result(const core::Node& result, core::Errors& errors) {
  const core::Node* versions = result.find("versions");
  const core::Node* trace = result.find("trace");
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
const core::Node* read_recording(const core::Node& document,
                                 Recording& recording,
                                 core::Errors& errors) {
  core::ObjectReader reader(document, "", errors);
  recording.scenario = reader.required_string("scenario");
  const core::Node* cfg = reader.node("cfg");
  const core::Node* requests = reader.node("requests");
  const core::Node* results = reader.node("results");
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

}  // namespace

core::Result<std::vector<ConformResult>> conform_file(const std::string& path) {
  const auto text = core::read_file(path);
  if (!text) {
    return core::fail(text.error());
  }
  const auto document = core::parse_json(*text, path);
  if (!document) {
    return core::fail(document.error());
  }
  core::Errors errors;
  Recording recording;
  const core::Node* results = read_recording(*document, recording, errors);
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
      if (const auto difference =
              compare(result, recording, *profile, engine::make_reference_probe)) {
        line.difference = *difference;
      }
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

}  // namespace ridgeline::sim::conform
