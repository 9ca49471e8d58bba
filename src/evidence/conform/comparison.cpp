#include "evidence/conform/comparison.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "engine/probe.hpp"
#include "engine/profiles.hpp"
#include "evidence/conform/conform.hpp"
#include "evidence/conform/recording.hpp"
#include "evidence/conform/replay.hpp"

namespace ridgeline::evidence::conform {
namespace {

/// What a record may hold; those that are sets come first.
constexpr auto kRecordSets = std::to_array<std::string_view>(
    {"new", "resumed", "preempted", "finished", "aborted", "prefix_hit"});
constexpr auto kRecordKeys = std::to_array<std::string_view>({"step",
                                                              "scheduled",
                                                              "spec",
                                                              "running",
                                                              "waiting",
                                                              "free_blocks",
                                                              "blocks",
                                                              "tokens_out",
                                                              "free_blocks_after"});

bool is_set(std::string_view key) {
  return std::find(kRecordSets.begin(), kRecordSets.end(), key) != kRecordSets.end();
}
bool is_known(std::string_view key) {
  return is_set(key) || std::find(kRecordKeys.begin(), kRecordKeys.end(), key) != kRecordKeys.end();
}

std::string sorted_text_of(const document::Node& list) {
  std::set<std::string> items;
  if (list.is_map()) {
    for (const auto& member : list.members()) {
      items.insert(member.key + ":" + text_of(member.value));
    }
    return fmt::format("{{{}}}", fmt::join(items, " "));
  }
  if (!list.is_list()) {
    return text_of(list);
  }
  for (const auto& item : list.items()) {
    items.insert(text_of(item));
  }
  return fmt::format("[{}]", fmt::join(items, " "));
}

/// What comes of a step: no decision of the scheduler's.
bool is_outcome(std::string_view key) {
  return key == "tokens_out" || key == "finished" || key == "free_blocks" ||
         key == "free_blocks_after";
}

/// `last_of_cut`: the trace is cut off behind this record, as those derived by hand are. They state
/// what the step decides; what comes of it was not recorded, and nothing that follows shows it.
std::optional<Difference> compare_record(const document::Node& recorded,
                                         const Record& record,
                                         const std::string& where,
                                         bool last_of_cut) {
  std::map<std::string, Value> ours(record.begin(), record.end());
  if (last_of_cut) {
    std::erase_if(ours, [](const auto& member) { return is_outcome(member.first); });
  }
  for (const auto& member : recorded.members()) {
    if (!is_known(member.key) || member.value.is_null() ||
        (last_of_cut && is_outcome(member.key))) {
      continue;
    }
    const auto mine = ours.find(member.key);
    const std::string text =
        is_set(member.key) ? sorted_text_of(member.value) : text_of(member.value);
    if (mine == ours.end()) {
      return Difference{fmt::format("{}: {}", where, member.key), text, "absent"};
    }
    if (text != mine->second.text && (text != mine->second.or_else || text.empty())) {
      return Difference{fmt::format("{}: {}", where, member.key), text, mine->second.text};
    }
    ours.erase(mine);
  }
  for (const auto& [key, value] : ours) {
    if (!value.is_optional) {
      return Difference{fmt::format("{}: {}", where, key), "absent", value.text};
    }
  }
  return std::nullopt;
}

/// Whether a record says nothing but that requests were aborted.
bool says_nothing(const document::Node& recorded) {
  return recorded.is_map() &&
         std::all_of(recorded.members().begin(), recorded.members().end(), [](const auto& member) {
           return member.key == "step" || member.key == "aborted" || !is_known(member.key) ||
                  member.value.is_null();
         });
}

/// Whether a trace ends while requests are inside, so that nothing is recorded of what follows.
bool is_cut_off(const document::Node& last) {
  if (!last.is_map()) {
    return false;
  }
  const auto size = [&](const char* name) -> std::size_t {
    const document::Node* const list = last.find(name);
    return list != nullptr && list->is_list() ? list->items().size() : 0;
  };
  return size("waiting") > 0 || size("running") > size("finished");
}

std::optional<Difference> compare_records(const document::Node& trace,
                                          const std::vector<Record>& records) {
  std::vector<const document::Node*> recorded;
  for (const auto& item : trace.items()) {
    if (!says_nothing(item)) {
      recorded.push_back(&item);
    }
  }
  const bool ends_early = !recorded.empty() && is_cut_off(*recorded.back());
  const std::size_t compared =
      ends_early ? recorded.size() : std::max(recorded.size(), records.size());
  for (std::size_t i = 0; i < compared; ++i) {
    const std::string where = fmt::format("record {}", i);
    if (i >= records.size()) {
      return Difference{where, text_of(*recorded[i]), "no record"};
    }
    const std::string step = records[i].front().second.text;
    if (i >= recorded.size()) {
      return Difference{where, "no record", "a record of step " + step};
    }
    if (!recorded[i]->is_map()) {
      return Difference{where, recorded[i]->describe(), "a map"};
    }
    if (auto difference = compare_record(*recorded[i],
                                         records[i],
                                         fmt::format("{} (step {})", where, step),
                                         ends_early && i + 1 == recorded.size())) {
      return difference;
    }
  }
  return std::nullopt;
}

/// Members of a map against texts of ours; what we do not know and null are left alone.
std::optional<Difference> compare_members(const document::Node& recorded,
                                          const std::map<std::string, std::string>& ours,
                                          const std::string& where) {
  if (!recorded.is_map()) {
    return Difference{where, recorded.describe(), "a map"};
  }
  for (const auto& member : recorded.members()) {
    const auto mine = ours.find(member.key);
    if (mine == ours.end() || member.value.is_null()) {
      continue;
    }
    if (const std::string text = text_of(member.value); text != mine->second) {
      return Difference{
          where + "." + member.key, text, mine->second.empty() ? "absent" : mine->second};
    }
  }
  return std::nullopt;
}

std::string text_of_statistics(const SchedulerProbe::Statistics& statistics,
                               const engine::Profile& profile) {
  std::string text = fmt::format(
      "requests:{} queries:{} hits:{}", statistics.requests, statistics.queries, statistics.hits);
  if (profile.prefix_stats_split_preempted) {
    text += fmt::format(" preempted_requests:{} preempted_queries:{} preempted_hits:{}",
                        statistics.preempted_requests,
                        statistics.preempted_queries,
                        statistics.preempted_hits);
  }
  return "{" + text + "}";
}

std::optional<Difference> compare_totals(const document::Node& totals,
                                         const Recording& recording,
                                         const SchedulerProbe& probe,
                                         const engine::Profile& profile) {
  std::int64_t preemptions = 0;
  for (const auto& entry : recording.entries) {
    preemptions += probe.preemptions(entry.request.id);
  }
  std::vector<std::uint32_t> free;
  for (const auto block : probe.free_list()) {
    free.push_back(block.value());
  }
  return compare_members(
      totals,
      {{"num_preemptions", std::to_string(profile.counts_preemptions ? preemptions : 0)},
       {"final_free_queue", fmt::format("[{}]", fmt::join(free, " "))},
       {"prefix_stats", text_of_statistics(probe.statistics(), profile)}},
      "totals");
}

std::optional<Difference> compare_rows(const document::Node& table,
                                       const Recording& recording,
                                       const SchedulerProbe& probe,
                                       const std::vector<Replay::Row>& rows) {
  const auto text = [](std::optional<std::int64_t> number) {
    return number ? std::to_string(*number) : std::string();
  };
  for (std::size_t i = 0; i < recording.entries.size(); ++i) {
    const auto& entry = recording.entries[i];
    const document::Node* recorded = table.find(entry.name);
    if (recorded == nullptr) {
      continue;
    }
    // A recorder may take an abort for an end.
    const auto end = rows[i].finished ? rows[i].finished : rows[i].aborted;
    if (auto difference = compare_members(
            *recorded,
            {{"first_sched_step", text(rows[i].first_scheduled)},
             {"first_token_step", text(rows[i].first_token)},
             {"finish_step", text(end)},
             {"output_tokens", std::to_string(probe.output_tokens(entry.request.id))},
             {"preemptions", std::to_string(probe.preemptions(entry.request.id))}},
            "per_request." + entry.name)) {
      return difference;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Difference> compare(const document::Node& result,
                                  const Recording& recording,
                                  const engine::Profile& profile,
                                  SchedulerProbe& probe) {
  const auto& trace = *result.find("trace");
  const bool with_blocks =
      std::any_of(trace.items().begin(), trace.items().end(), [](const auto& record) {
        return record.find("blocks") != nullptr;
      });
  Replay replay(recording, probe, with_blocks);
  if (!replay.can_run()) {
    return std::nullopt;  // This engine knows no KV that arrives over time.
  }
  if (auto difference = compare_records(trace, replay.run())) {
    return difference;
  }
  if (const document::Node* totals = result.find("totals"); totals != nullptr) {
    if (auto difference = compare_totals(*totals, recording, probe, profile)) {
      return difference;
    }
  }
  const document::Node* table = result.find("per_request");
  return table == nullptr ? std::nullopt : compare_rows(*table, recording, probe, replay.rows());
}

}  // namespace ridgeline::evidence::conform
