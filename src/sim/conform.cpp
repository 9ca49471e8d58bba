#include "sim/conform.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/document.hpp"
#include "core/ids.hpp"
#include "core/reader.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "engine/probe.hpp"
#include "engine/profiles.hpp"

namespace ridgeline::sim {
namespace {

using core::RequestId;
using engine::SchedulerProbe;

/// A recorded workload, free of any version.
struct Recording {
  struct Entry {
    std::string name;
    std::int64_t arrive_step = 0;
    std::optional<std::int64_t> abort_step;
    core::Tokens remote_tokens;
    domain::Request request;
  };
  std::string scenario;
  std::vector<Entry> entries;
  engine::EngineOptions options;  ///< Without profile.
  double watermark = 0.0;
  bool reserve_full_prompt = true;
};

/// Compact text of a value, the same for equal values: what is compared and shown.
std::string text_of(const core::Node& node) {
  std::string text;
  switch (node.kind()) {
    case core::Node::Kind::kNull:
      return "null";
    case core::Node::Kind::kBool:
      return node.as_bool() ? "true" : "false";
    case core::Node::Kind::kInteger:
      return std::to_string(node.as_integer());
    case core::Node::Kind::kReal:
      return fmt::format("{}", node.as_real());
    case core::Node::Kind::kString:
      return node.as_string();
    case core::Node::Kind::kList:
      for (const auto& item : node.items()) {
        text += (text.empty() ? "" : " ") + text_of(item);
      }
      return "[" + text + "]";
    case core::Node::Kind::kMap:
      for (const auto& member : node.members()) {
        text += (text.empty() ? "" : " ") + member.key + ":" + text_of(member.value);
      }
      return "{" + text + "}";
  }
  return text;
}

// --- reading
// -------------------------------------------------------------------------------------------------

/// Prompt content ids of a recording: a segment's seed, kept apart from what requests generate.
std::uint64_t content_of_seed(std::int64_t seed) {
  return static_cast<std::uint64_t>(seed) + 1;
}

void read_prompt(const core::Node& prompt,
                 const std::map<std::string, RequestId>& ids,
                 const std::string& path,
                 domain::Request& request,
                 core::Errors& errors) {
  const auto refuse = [&](const core::Node& node) {
    errors.push_back({.field = path + ".prompt",
                      .message = "found " + text_of(node) +
                                 ", expected segments [seed, tokens] or [\"out\", request, tokens]",
                      .where = node.where()});
  };
  if (!prompt.is_list()) {
    refuse(prompt);
    return;
  }
  for (const auto& segment : prompt.items()) {
    using Kind = core::Node::Kind;
    const auto kind = [&](std::size_t i) { return segment.items()[i].kind(); };
    const std::size_t size = segment.is_list() ? segment.items().size() : 0;
    if (size == 2 && kind(0) == Kind::kInteger && kind(1) == Kind::kInteger) {
      request.prompt.push_back({content_of_seed(segment.items()[0].as_integer()),
                                core::Tokens(segment.items()[1].as_integer())});
    } else if (size == 3 && kind(0) == Kind::kString && kind(1) == Kind::kString &&
               kind(2) == Kind::kInteger && ids.contains(segment.items()[1].as_string())) {
      request.prompt.push_back({domain::output_content(ids.at(segment.items()[1].as_string())),
                                core::Tokens(segment.items()[2].as_integer())});
    } else {
      refuse(segment);
      return;
    }
    if (request.prompt.back().length < core::Tokens(1)) {
      refuse(segment);
      return;
    }
    request.prompt_tokens += request.prompt.back().length;
  }
}

void read_requests(const core::Node& list, Recording& recording, core::Errors& errors) {
  // Ids are ranks of the names: vLLM breaks ties by comparing them as text.
  std::set<std::string> names;
  for (const auto& node : list.items()) {
    if (const auto* name = node.find("id"); name != nullptr && name->is_string()) {
      names.insert(name->as_string());
    }
  }
  std::map<std::string, RequestId> ids;
  for (const auto& name : names) {
    ids.emplace(name, RequestId(static_cast<std::uint32_t>(ids.size())));
  }
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    const std::string path = fmt::format("requests[{}]", i);
    core::ObjectReader reader(list.items()[i], path, errors);
    Recording::Entry entry;
    entry.name = reader.required_string("id");
    entry.arrive_step = reader.required_integer("arrive_step", {0, 1'000'000});
    entry.abort_step = reader.integer("abort_step", {0, 1'000'000});
    entry.remote_tokens = core::Tokens(reader.integer("remote_tokens", {0, 1'000'000}).value_or(0));
    domain::Request& request = entry.request;
    if (ids.contains(entry.name)) {
      request.id = ids.at(entry.name);
    }
    request.max_tokens = core::Tokens(reader.required_integer("max_tokens", {1, 1'000'000}));
    request.output_tokens = request.max_tokens;
    request.priority =
        static_cast<std::int32_t>(reader.integer("priority", {-1'000'000, 1'000'000}).value_or(0));
    const double arrival =
        reader.real("arrival_time", {0.0, 1e6}).value_or(static_cast<double>(i) * 1e-6);
    request.arrival =
        core::SimTime::at(core::Duration::from_seconds(arrival).value_or(core::Duration()));
    if (const auto lora = reader.integer("lora", {1, 1'000'000})) {
      request.lora = core::LoraId(static_cast<std::uint32_t>(*lora));
    }
    if (const auto* prompt = reader.node("prompt")) {
      read_prompt(*prompt, ids, path, request, errors);
    } else {
      reader.problem("prompt", "is missing, expected a list of segments");
    }
    reader.finish();
    recording.entries.push_back(std::move(entry));
  }
}

void read_configuration(const core::Node& cfg, Recording& recording, core::Errors& errors) {
  core::ObjectReader reader(cfg, "cfg", errors);
  engine::EngineOptions& options = recording.options;
  options.num_gpu_blocks = core::Blocks(reader.required_integer("num_blocks", {2, 10'000'000}));
  options.block_size = core::Tokens(reader.required_integer("block_size", {1, 4096}));
  options.max_num_seqs = reader.required_integer("max_num_seqs", {1, 1'000'000});
  options.max_num_batched_tokens =
      core::Tokens(reader.required_integer("max_num_batched_tokens", {1, 100'000'000}));
  options.max_model_len = core::Tokens(reader.required_integer("max_model_len", {1, 100'000'000}));
  options.long_prefill_token_threshold =
      core::Tokens(reader.integer("long_prefill_token_threshold", {0, 100'000'000}).value_or(0));
  static const std::array<std::string, 2> kPolicies = {"fcfs", "priority"};
  options.policy = reader.choice("policy", kPolicies).value_or("fcfs") == "priority"
                       ? engine::SchedulingPolicy::kPriority
                       : engine::SchedulingPolicy::kFcfs;
  options.enable_prefix_caching = reader.boolean("enable_prefix_caching").value_or(true);
  options.enable_chunked_prefill = reader.boolean("chunked_prefill").value_or(true);
  options.async_scheduling = reader.boolean("async_scheduling").value_or(false);
  options.num_speculative_tokens = reader.integer("num_spec", {0, 64}).value_or(0);
  static const std::array<std::string, 3> kMethods = {"eagle", "draft_model", "ngram"};
  const std::string method = reader.choice("spec_method", kMethods).value_or("eagle");
  options.draft_method = method == "eagle"   ? engine::DraftMethod::kEagle
                         : method == "ngram" ? engine::DraftMethod::kNgram
                                             : engine::DraftMethod::kDraftModel;
  recording.watermark = reader.real("watermark", {0.0, 1.0}).value_or(0.0);
  recording.reserve_full_prompt = reader.boolean("reserve_full_isl").value_or(true);
  options.pipeline_depth = reader.integer("pipeline_depth", {1, 64}).value_or(0);
  options.max_loras = reader.integer("max_loras", {1, 1'000'000}).value_or(0);
  const auto windows =
      reader.integers("swa_windows", {1, 100'000'000}).value_or(std::vector<std::int64_t>{});
  const bool windows_only = reader.boolean("swa_only").value_or(false);
  options.cache_groups.clear();
  if (!windows_only) {
    options.cache_groups.push_back({});
  }
  for (const auto window : windows) {
    options.cache_groups.push_back({.sliding_window = core::Tokens(window)});
  }
  reader.finish();
}

/// "main@2025-10-01 (~0.11.0)" -> "0.11.0"; "0.8.5.post1" stays.
std::string version_number(const std::string& text) {
  const auto tilde = text.find('~');
  std::string number = tilde == std::string::npos ? text : text.substr(tilde + 1);
  const auto end = number.find_first_not_of("0123456789.");
  number = number.substr(0, end);
  while (!number.empty() && number.back() == '.') {
    number.pop_back();
  }
  return number;
}

engine::EngineOptions options_for(const Recording& recording, const engine::Profile& profile) {
  engine::EngineOptions options = recording.options;
  options.profile = profile;
  options.profile.watermark = recording.watermark;
  options.profile.reserve_full_prompt =
      profile.reserve_full_prompt && recording.reserve_full_prompt;
  return options;
}

// --- replaying
// -----------------------------------------------------------------------------------------------

/// One record as (key, text), in the file's order of keys.
using Record = std::vector<std::pair<std::string, std::string>>;

class Replay {
 public:
  Replay(const Recording& recording, SchedulerProbe& probe, bool with_blocks)
      : recording_(recording), probe_(probe), with_blocks_(with_blocks) {
    for (std::size_t i = 0; i < recording.entries.size(); ++i) {
      index_[recording.entries[i].request.id] = i;
    }
    draws_.resize(recording.entries.size());
    rows_.resize(recording.entries.size());
  }

  struct Row {
    std::optional<std::int64_t> first_scheduled, first_token, finished;
    std::int64_t preemptions = 0;
  };

  /// The records of the whole run.
  std::vector<Record> run();
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }

 private:
  [[nodiscard]] const std::string& name(RequestId id) const {
    return recording_.entries[index_.at(id)].name;
  }
  [[nodiscard]] std::string names(const std::vector<RequestId>& ids) const;
  /// The recording keeps these as sets. Ids are ranks of the names.
  [[nodiscard]] std::string sorted_names(std::vector<RequestId> ids) const {
    std::sort(ids.begin(), ids.end());
    return names(ids);
  }
  Record iteration(std::int64_t step);
  bool form_step(std::int64_t step, Record& record);
  void end_step(std::int64_t step, Record& record);
  [[nodiscard]] std::string block_tables() const;

  const Recording& recording_;
  SchedulerProbe& probe_;
  bool with_blocks_;
  std::map<RequestId, std::size_t> index_;
  std::vector<std::int64_t> draws_;  ///< Sampling events so far, per request.
  std::vector<Row> rows_;
  std::deque<std::vector<SchedulerProbe::Scheduled>> in_flight_;
  std::size_t alive_ = 0;
};

std::string Replay::names(const std::vector<RequestId>& ids) const {
  std::string text;
  for (const auto id : ids) {
    text += (text.empty() ? "" : " ") + name(id);
  }
  return "[" + text + "]";
}

std::string Replay::block_tables() const {
  std::string text;
  for (const auto id : probe_.running()) {
    const auto tables = probe_.blocks(id);
    std::vector<std::string> groups;
    for (const auto& table : tables) {
      std::string blocks;
      for (const auto block : table) {
        blocks += (blocks.empty() ? "" : " ") + std::to_string(block.value());
      }
      groups.push_back("[" + blocks + "]");
    }
    std::string joined;
    for (const auto& group : groups) {
      joined += (joined.empty() ? "" : " ") + group;
    }
    text += (text.empty() ? "" : " ") + name(id) + ":" +
            (groups.size() > 1 ? "[" + joined + "]" : joined);
  }
  return "{" + text + "}";
}

bool Replay::form_step(std::int64_t step, Record& record) {
  const SchedulerProbe::Step formed = probe_.schedule();
  if (formed.scheduled.empty()) {
    return false;
  }
  std::string scheduled;
  std::string drafts;
  for (const auto& item : formed.scheduled) {
    scheduled += fmt::format("{}{}:{}", scheduled.empty() ? "" : " ", name(item.id), item.tokens);
    if (item.drafts > 0) {
      drafts += fmt::format("{}{}:{}", drafts.empty() ? "" : " ", name(item.id), item.drafts);
    }
  }
  record.emplace_back("scheduled", "{" + scheduled + "}");
  if (!drafts.empty()) {
    record.emplace_back("spec", "{" + drafts + "}");
  }
  std::vector<RequestId> fresh;
  std::vector<RequestId> resumed;
  std::set<std::string> hits;
  bool any_hit = false;
  for (const auto& admitted : formed.admitted) {
    (admitted.resumed ? resumed : fresh).push_back(admitted.id);
    any_hit = any_hit || admitted.computed_tokens > 0;
    hits.insert(fmt::format("{}:{}", name(admitted.id), admitted.computed_tokens));
    auto& row = rows_[index_.at(admitted.id)];
    row.first_scheduled = row.first_scheduled.value_or(step);
  }
  if (!fresh.empty()) {
    record.emplace_back("new", sorted_names(fresh));
  }
  if (!resumed.empty()) {
    record.emplace_back("resumed", sorted_names(resumed));
  }
  if (any_hit) {
    record.emplace_back("prefix_hit", fmt::format("{{{}}}", fmt::join(hits, " ")));
  }
  if (!formed.preempted.empty()) {
    record.emplace_back("preempted", sorted_names(formed.preempted));
  }
  record.emplace_back("running", names(probe_.running()));
  record.emplace_back("waiting", names(probe_.waiting()));
  record.emplace_back("free_blocks", std::to_string(probe_.num_free_blocks()));
  if (with_blocks_) {
    record.emplace_back("blocks", block_tables());
  }
  in_flight_.push_back(formed.scheduled);
  return true;
}

void Replay::end_step(std::int64_t step, Record& record) {
  const auto items = in_flight_.front();
  in_flight_.pop_front();
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> known_before;
  for (const auto& item : items) {
    const std::size_t i = index_.at(item.id);
    std::int64_t count = 0;
    if (item.samples) {
      // The recording's stand-in for a draft model: how many drafts request i has accepted at its
      // d-th draw.
      const auto drafts = recording_.options.num_speculative_tokens;
      const std::int64_t accepted =
          drafts == 0 ? 0 : (7 * static_cast<std::int64_t>(i) + 3 * draws_[i]) % (drafts + 1);
      count = 1 + std::min(item.drafts, accepted);
      ++draws_[i];
      rows_[i].first_token = rows_[i].first_token.value_or(step);
    }
    tokens.push_back(count);
    known_before.push_back(probe_.output_tokens(item.id));
  }
  const auto ended = probe_.update(tokens);
  std::string out;
  for (std::size_t k = 0; k < items.size(); ++k) {
    if (items[k].samples) {
      // What lies behind a request's end is cut off, unless it had ended before: then all is thrown away.
      const bool was_alive = !rows_[index_.at(items[k].id)].finished.has_value();
      const std::int64_t shown =
          was_alive ? probe_.output_tokens(items[k].id) - known_before[k] : tokens[k];
      out += fmt::format("{}{}:{}", out.empty() ? "" : " ", name(items[k].id), shown);
    }
  }
  record.emplace_back("tokens_out", "{" + out + "}");
  for (const auto id : ended) {
    rows_[index_.at(id)].finished = step;
    --alive_;
  }
  if (!ended.empty()) {
    record.emplace_back("finished", sorted_names(ended));
    record.emplace_back("free_blocks_after", std::to_string(probe_.num_free_blocks()));
  }
}

std::vector<Record> Replay::run() {
  const std::int64_t depth = recording_.options.pipeline_depth > 0
                                 ? recording_.options.pipeline_depth
                             : recording_.options.async_scheduling ? 2
                                                                   : 1;
  constexpr std::int64_t kStuck = 1'000'000;
  std::vector<Record> records;
  std::size_t arrived = 0;
  for (std::int64_t step = 0; step < kStuck; ++step) {
    for (const auto& entry : recording_.entries) {
      if (entry.arrive_step == step) {
        probe_.add(entry.request, entry.remote_tokens);
        ++arrived;
        ++alive_;
      }
    }
    Record record;
    for (const auto& entry : recording_.entries) {
      if (entry.abort_step == step) {
        probe_.abort(entry.request.id);
      }
    }
    const bool room = static_cast<std::int64_t>(in_flight_.size()) < depth;
    const bool formed = room && form_step(step, record);
    const bool more_room = static_cast<std::int64_t>(in_flight_.size()) < depth;
    if (!(formed && more_room) && !in_flight_.empty()) {
      end_step(step, record);
    }
    if (!record.empty()) {
      record.insert(record.begin(), {"step", std::to_string(step)});
      records.push_back(std::move(record));
    }
    if (arrived == recording_.entries.size() && in_flight_.empty() && probe_.running().empty() &&
        probe_.waiting().empty()) {
      break;
    }
  }
  return records;
}

// --- comparing
// -----------------------------------------------------------------------------------------------

struct Difference {
  std::string where, recorded, ours;
};

/// Keys under which a record holds a set.
bool is_set(const std::string& key) {
  return key == "new" || key == "resumed" || key == "preempted" || key == "finished" || key == "prefix_hit";
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

}  // namespace

core::Result<std::vector<ConformResult>> conform(const std::string& path) {
  auto text = core::read_file(path);
  if (!text) {
    return core::fail(std::move(text.error()));
  }
  auto document = core::parse_json(*text, path);
  if (!document) {
    return core::fail(std::move(document.error()));
  }
  core::Errors errors;
  Recording recording;
  core::ObjectReader reader(*document, "", errors);
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
    return core::fail(std::move(errors));
  }
  read_configuration(*cfg, recording, errors);
  read_requests(*requests, recording, errors);

  std::vector<ConformResult> lines;
  for (const auto& result : results->items()) {
    const core::Node* versions = result.find("versions");
    const core::Node* trace = result.find("trace");
    if (versions == nullptr || !versions->is_list() || trace == nullptr || !trace->is_list()) {
      errors.push_back({.field = "results",
                        .message = "found " + result.describe() +
                                   ", expected a map with lists versions and trace",
                        .where = result.where()});
    }
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  for (const auto& result : results->items()) {
    for (const auto& version : result.find("versions")->items()) {
      const std::string name = text_of(version);
      const auto profile = engine::find_profile(version_number(name));
      if (!profile) {
        return core::fail(profile.error());
      }
      for (const auto& [twin, make] :
           {std::pair<const char*, MakeProbe>("reference", engine::make_reference_probe)}) {
        const auto difference = compare(result, recording, *profile, make);
        ConformResult line{.file = path,
                           .scenario = recording.scenario,
                           .version = name,
                           .profile = profile->name,
                           .twin = twin,
                           .equal = !difference,
                           .where = {},
                           .recorded = {},
                           .ours = {}};
        if (difference) {
          line.where = difference->where;
          line.recorded = difference->recorded;
          line.ours = difference->ours;
        }
        lines.push_back(std::move(line));
      }
    }
  }
  return lines;
}

}  // namespace ridgeline::sim
