#include "lab/conform/comparison.hpp"

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
#include "lab/conform/conform.hpp"
#include "lab/conform/recording.hpp"
#include "lab/conform/replay.hpp"

namespace ridgeline::conform {
namespace {

/// What a record may hold; those that are sets come first.
constexpr std::size_t kNumSets = 11;
constexpr auto kRecordKeys = std::to_array<std::string_view>(
    {"new",        "resumed",     "preempted",   "finished",   "aborted",
     "prefix_hit", "parked",      "failed",      "sent",       "invalid_blocks",
     "offload",    "step",        "scheduled",   "spec",       "running",
     "waiting",    "free_blocks", "blocks",      "tokens_out", "free_blocks_after",
     "encode",     "next_drafts", "skip_drafts", "actions"});
constexpr auto kTotalKeys =
    std::to_array<std::string_view>({"num_preemptions", "final_free_queue", "prefix_stats"});
constexpr auto kRowKeys = std::to_array<std::string_view>(
    {"first_sched_step", "first_token_step", "finish_step", "output_tokens", "preemptions"});

bool is_set(std::string_view key) {
  return std::find(kRecordKeys.begin(), kRecordKeys.begin() + kNumSets, key) !=
         kRecordKeys.begin() + kNumSets;
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
    if (last_of_cut && is_outcome(member.key)) {
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
           return member.key == "step" || member.key == "aborted";
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
                                          const std::vector<Record>& records,
                                          bool may_end_early) {
  std::vector<const document::Node*> recorded;
  for (const auto& item : trace.items()) {
    if (!says_nothing(item)) {
      recorded.push_back(&item);
    }
  }
  const bool ends_early = may_end_early && !recorded.empty() && is_cut_off(*recorded.back());
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

/// Numbers and lists of ours against the members of a map. Recorders leave out what is not there
/// (an empty text of ours) and null stands for it.
std::optional<Difference> compare_members(const document::Node& recorded,
                                          const std::map<std::string, std::string>& ours,
                                          const std::string& where) {
  for (const auto& [key, mine] : ours) {
    const document::Node* const value = recorded.find(key);
    const std::string theirs = value == nullptr || value->is_null() ? "" : text_of(*value);
    if (theirs != mine) {
      return Difference{.where = fmt::format("{}.{}", where, key),
                        .recorded = theirs.empty() ? "absent" : theirs,
                        .ours = mine.empty() ? "absent" : mine};
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

/// Recorders leave out the free list of a larger pool.
constexpr core::Blocks kMostListed{64};

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
  std::map<std::string, std::string> ours = {
      {"num_preemptions", std::to_string(profile.counts_preemptions ? preemptions : 0)}};
  if (recording.options.enable_prefix_caching) {
    ours["prefix_stats"] = text_of_statistics(probe.statistics(), profile);
  }
  if (recording.options.num_gpu_blocks <= kMostListed ||
      totals.find("final_free_queue") != nullptr) {
    ours["final_free_queue"] = fmt::format("[{}]", fmt::join(free, " "));
  }
  return compare_members(totals, ours, "totals");
}

/// How often each request was preempted, by the records, which are equal to ours by now: a
/// scheduler may count what a recorder did not see.
std::map<std::string, std::int64_t> preemptions_of(const document::Node& trace) {
  std::map<std::string, std::int64_t> preemptions;
  for (const document::Node& record : trace.items()) {
    const document::Node* const preempted = record.find("preempted");
    if (preempted != nullptr && preempted->is_list()) {
      for (const document::Node& name : preempted->items()) {
        ++preemptions[text_of(name)];
      }
    }
  }
  return preemptions;
}

std::optional<Difference> compare_rows(const document::Node& result,
                                       const Recording& recording,
                                       const SchedulerProbe& probe,
                                       const std::vector<Replay::Row>& rows) {
  const auto text = [](std::optional<std::int64_t> number) {
    return number ? std::to_string(*number) : std::string();
  };
  auto preemptions = preemptions_of(*result.find("trace"));
  for (std::size_t i = 0; i < recording.entries.size(); ++i) {
    const auto& entry = recording.entries[i];
    const document::Node& recorded = *result.find("per_request")->find(entry.name);
    // A recorder may take an abort for an end.
    const bool is_end = rows[i].finished || recorded.find("finish_step") == nullptr;
    if (auto difference = compare_members(
            recorded,
            {{"first_sched_step", text(rows[i].first_scheduled)},
             {"first_token_step", text(rows[i].first_token)},
             {"finish_step", text(is_end ? rows[i].finished : rows[i].aborted)},
             {"output_tokens", std::to_string(probe.output_tokens(entry.request.id))},
             {"preemptions",
              preemptions[entry.name] == 0 ? "" : std::to_string(preemptions[entry.name])}},
            "per_request." + entry.name)) {
      return difference;
    }
  }
  return std::nullopt;
}

}  // namespace

const ResultForm kResultForm = {kRecordKeys, kTotalKeys, kRowKeys};

std::optional<Difference> compare(const document::Node& result,
                                  const Recording& recording,
                                  const engine::Profile& profile,
                                  SchedulerProbe& probe) {
  const auto& trace = *result.find("trace");
  const auto writes = [&](std::string_view key) {
    return std::any_of(trace.items().begin(), trace.items().end(), [&](const auto& record) {
      return record.find(key) != nullptr;
    });
  };
  Replay replay(recording,
                profile,
                probe,
                {.blocks = writes("blocks"),
                 .parked = writes("parked"),
                 .aborted = writes("aborted"),
                 .idle = std::ranges::any_of(trace.items(),
                                             [](const auto& one) {
                                               return one.find("scheduled") == nullptr &&
                                                      one.find("waiting") != nullptr;
                                             }),
                 .next_drafts = writes("next_drafts"),
                 .failed = writes("failed")});
  auto difference = compare_records(trace, replay.run(), is_excerpt(result));
  if (difference || is_excerpt(result)) {
    return difference;
  }
  difference = compare_totals(*result.find("totals"), recording, probe, profile);
  return difference ? difference : compare_rows(result, recording, probe, replay.rows());
}

}  // namespace ridgeline::conform
