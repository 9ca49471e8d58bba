// Recorded iterations of SGLang's event loop.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
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
#include "domain/request.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/schedulers.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/request.hpp"
#include "engine/sglang/scheduler.hpp"
#include "engine/sglang/settings.hpp"
#include "evidence/conform/conform.hpp"
#include "evidence/conform/engines.hpp"
#include "evidence/conform/recording.hpp"

namespace ridgeline::evidence::conform {
namespace {

namespace sglang = engine::sglang;
using core::RequestId;

/// Recorded ratios have six digits.
constexpr double kRatioDigits = 1e-6;

struct Entry {
  std::string name;
  std::int64_t arrive_step = 0;
  bool ignore_eos = false;
  domain::Request request;
};
struct SglangRecording {
  std::string scenario;
  sglang::Options options;
  std::vector<Entry> entries;
};

void read_cfg(const document::Node& cfg, sglang::Options& options, core::Errors& errors) {
  constexpr std::int64_t kMost = 100'000'000;
  static const std::array<std::string, 5> kPolicies = {
      "fcfs", "lpm", "dfs-weight", "lof", "random"};
  static const std::array<std::string, 7> kEvictions = {
      "lru", "lfu", "fifo", "mru", "filo", "slru", "priority"};
  static const std::array<std::string, 2> kRetractions = {"length", "priority"};
  document::ObjectReader reader(cfg, "cfg", errors);
  const auto integer = [&](const char* key, std::int64_t& value, std::int64_t least) {
    value = reader.integer(key, {least, kMost}).value_or(value);
  };
  const auto truth = [&](const char* key, bool& value) {
    value = reader.boolean(key).value_or(value);
  };
  options.max_total_num_tokens = reader.required_integer("max_total_num_tokens", {2, kMost});
  integer("page_size", options.page_size, 1);
  integer("max_running_requests", options.max_running_requests, 1);
  integer("max_prefill_tokens", options.max_prefill_tokens, 1);
  integer("chunked_prefill_size", options.chunked_prefill_size, -1);
  options.chunked_prefill_size = std::max<std::int64_t>(options.chunked_prefill_size, 0);
  integer("context_length", options.context_length, 1);
  integer("scheduler_recv_interval", options.scheduler_recv_interval, 1);
  integer("prefill_max_requests", options.prefill_max_requests, 0);
  integer("priority_scheduling_preemption_threshold",
          options.priority_scheduling_preemption_threshold,
          0);
  options.schedule_conservativeness =
      reader.real("schedule_conservativeness", {0.0, 1000.0}).value_or(1.0);
  options.schedule_policy =
      sglang::schedule_policy_of(reader.choice("schedule_policy", kPolicies).value_or("fcfs"));
  options.radix_eviction_policy = sglang::eviction_policy_of(
      reader.choice("radix_eviction_policy", kEvictions).value_or("lru"));
  options.retraction_policy = reader.choice("retraction_policy", kRetractions) == "priority"
                                  ? sglang::RetractionPolicy::kPriority
                                  : sglang::RetractionPolicy::kLength;
  truth("disable_radix_cache", options.disable_radix_cache);
  truth("enable_mixed_chunk", options.enable_mixed_chunk);
  truth("enable_priority_scheduling", options.enable_priority_scheduling);
  truth("schedule_low_priority_values_first", options.schedule_low_priority_values_first);
  truth("disable_priority_preemption", options.disable_priority_preemption);
  options.overlap = reader.boolean("overlap").value_or(true);
  reader.finish();
}

void read_entries(const document::Node& list, std::vector<Entry>& entries, core::Errors& errors) {
  constexpr std::int64_t kMost = 1'000'000;
  std::map<std::string, RequestId> ids;
  for (const auto& node : list.items()) {
    const document::Node* name = node.find("id");
    if (name != nullptr && name->is_string()) {
      ids.emplace(name->as_string(), RequestId(static_cast<std::uint32_t>(ids.size())));
    }
  }
  for (std::size_t i = 0; i < list.items().size(); ++i) {
    const std::string path = fmt::format("requests[{}]", i);
    document::ObjectReader reader(list.items()[i], path, errors);
    Entry& entry = entries.emplace_back();
    entry.name = reader.required_string("id");
    entry.arrive_step = reader.integer("arrive_step", {0, kMost}).value_or(0);
    entry.ignore_eos = reader.boolean("ignore_eos").value_or(false);
    domain::Request& request = entry.request;
    request.id = ids.contains(entry.name) ? ids.at(entry.name) : RequestId();
    request.max_tokens = core::Tokens(reader.required_integer("max_new_tokens", {1, kMost}));
    const std::int64_t stop = reader.integer("stop_at", {1, kMost}).value_or(kMost);
    request.output_tokens =
        entry.ignore_eos ? request.max_tokens : std::min(request.max_tokens, core::Tokens(stop));
    request.priority =
        static_cast<std::int32_t>(reader.integer("priority", {-kMost, kMost}).value_or(0));
    if (const auto* prompt = reader.node("prompt")) {
      read_prompt(*prompt, ids, path, request, errors);
    } else {
      reader.problem("prompt", "is missing, expected a list of segments");
    }
    reader.finish();
  }
}

/// Replays one version, and holds each iteration against its record.
class SglangReplay {
 public:
  SglangReplay(const SglangRecording& recording, const engine::EngineOptions& options)
      : recording_(recording), scheduler_(options), overlap_(recording.options.overlap) {
    for (const Entry& entry : recording.entries) {
      names_.emplace(entry.request.id, entry.name);
    }
  }

  std::optional<Difference> compare(const document::Node& trace) {
    std::int64_t step = 0;
    for (const document::Node& recorded : trace.items()) {
      iterate(step);
      if (auto difference = compare_record(recorded, step)) {
        return difference;
      }
      ++step;
    }
    if (num_finished_ != recording_.entries.size()) {
      return Difference{
          .where = "after the last record",
          .recorded = "all requests have ended",
          .ours = fmt::format("{} of {} have", num_finished_, recording_.entries.size())};
    }
    return std::nullopt;
  }

 private:
  using Fields = std::vector<std::pair<std::string_view, std::string>>;

  [[nodiscard]] std::string name_of(RequestId id) const { return names_.at(id); }
  template <class Ids>
  [[nodiscard]] std::string list_of(const Ids& ids, auto id_of) const {
    std::string text;
    for (const auto& item : ids) {
      text += (text.empty() ? "" : " ") + name_of(id_of(item));
    }
    return "[" + text + "]";
  }
  [[nodiscard]] static std::string sorted(std::vector<std::string> words, char open, char close) {
    std::ranges::sort(words);
    std::string text(1, open);
    for (const std::string& word : words) {
      text += (text.size() == 1 ? "" : " ") + word;
    }
    return text + close;
  }

  [[nodiscard]] std::vector<std::string> names_of(const std::vector<RequestId>& ids) const {
    std::vector<std::string> names;
    for (const RequestId id : ids) {
      names.push_back(name_of(id));
    }
    return names;
  }

  void iterate(std::int64_t step) {
    for (const Entry& entry : recording_.entries) {
      if (entry.arrive_step == step) {
        scheduler_.take(entry.request, entry.ignore_eos);
      }
    }
    engine::ScheduledStep formed;
    scheduler_.iterate(formed);
    note_selection(formed);
    in_flight_.push_back(std::move(formed));
    note_results();
  }

  /// What the iteration has chosen.
  void note_selection(const engine::ScheduledStep& step) {
    static constexpr std::array<const char*, 4> kModes = {"null", "extend", "decode", "mixed"};
    const sglang::Iteration& iteration = scheduler_.iteration();
    const auto id_of = [](const auto& request) { return request->record.id; };
    const auto itself = [](RequestId id) { return id; };
    std::string scheduled;
    std::vector<std::string> prefixes;
    for (const engine::ScheduledSequence& part : step) {
      const std::string name = name_of(part.sequence->record.id);
      scheduled +=
          fmt::format("{}{}:{}", scheduled.empty() ? "" : " ", name, part.num_scheduled_tokens);
      if (part.is_prefill) {
        prefixes.push_back(fmt::format("{}:{}", name, part.num_computed_tokens));
      }
    }
    ours_ = {{"mode", kModes.at(static_cast<std::size_t>(iteration.mode))},
             {"scheduled", "{" + scheduled + "}"},
             {"prefix_len", sorted(std::move(prefixes), '{', '}')},
             {"received", list_of(iteration.received, itself)},
             {"retracted", sorted(names_of(iteration.retracted), '[', ']')},
             {"running", list_of(scheduler_.running(), id_of)},
             {"waiting", list_of(scheduler_.waiting(), id_of)},
             {"chunked",
              scheduler_.chunked() == nullptr ? "null" : name_of(scheduler_.chunked()->record.id)},
             {"batch_is_full", scheduler_.batch_is_full() ? "true" : "false"},
             {"evicted_tokens", std::to_string(iteration.evicted_tokens)}};
    ratio_ = iteration.new_token_ratio;
    note_pool("free_tokens", "evictable", "protected");
  }

  /// The oldest batch in flight ends where the event loop processes it.
  void note_results() {
    engine::ScheduledStep ended;
    if (in_flight_.size() > (overlap_ ? 1U : 0U)) {
      ended = std::move(in_flight_.front());
      in_flight_.erase(in_flight_.begin());
    }
    std::vector<std::int64_t> before;
    for (const engine::ScheduledSequence& part : ended) {
      before.push_back(static_cast<const sglang::Sequence&>(*part.sequence).outputs);
    }
    std::vector<std::string> finished;
    if (!ended.empty()) {
      const std::vector<std::int64_t> one_each(ended.size(), 1);
      for (const engine::SequencePtr& sequence : scheduler_.update(ended, one_each)) {
        finished.push_back(name_of(sequence->record.id));
        kept_.push_back(sequence);
      }
    }
    num_finished_ += finished.size();
    std::vector<std::string> tokens;
    for (std::size_t i = 0; i < ended.size(); ++i) {
      const auto& request = static_cast<const sglang::Sequence&>(*ended[i].sequence);
      if (request.outputs > before[i]) {
        tokens.push_back(
            fmt::format("{}:{}", name_of(request.record.id), request.outputs - before[i]));
      }
    }
    ours_.emplace_back("tokens_out", sorted(std::move(tokens), '{', '}'));
    ours_.emplace_back("finished", sorted(std::move(finished), '[', ']'));
    note_pool("free_tokens_after", "evictable_after", "protected_after");
  }

  void note_pool(std::string_view free, std::string_view evictable, std::string_view locked) {
    ours_.emplace_back(free, std::to_string(scheduler_.free_tokens()));
    ours_.emplace_back(evictable, std::to_string(scheduler_.evictable()));
    ours_.emplace_back(locked, std::to_string(scheduler_.protected_size()));
  }

  /// A recorded value as text; lists and maps without an order sorted.
  [[nodiscard]] static std::string recorded_text(const document::Node* node, std::string_view key) {
    const bool is_map = key == "scheduled" || key == "prefix_len" || key == "tokens_out";
    if (node == nullptr) {
      const bool is_list = key == "received" || key == "retracted" || key == "finished";
      return is_map ? "{}" : (is_list ? "[]" : "absent");
    }
    if ((key == "prefix_len" || key == "tokens_out") && node->is_map()) {
      std::vector<std::string> words;
      for (const auto& member : node->members()) {
        words.push_back(member.key + ":" + text_of(member.value));
      }
      return sorted(std::move(words), '{', '}');
    }
    if ((key == "finished" || key == "retracted") && node->is_list()) {
      std::vector<std::string> words;
      for (const auto& item : node->items()) {
        words.push_back(text_of(item));
      }
      return sorted(std::move(words), '[', ']');
    }
    return text_of(*node);
  }

  std::optional<Difference> compare_record(const document::Node& recorded, std::int64_t step) {
    for (const auto& [key, ours] : ours_) {
      const std::string theirs = recorded_text(recorded.find(key), key);
      if (theirs != ours && theirs != "absent") {
        return Difference{
            .where = fmt::format("step {}: {}", step, key), .recorded = theirs, .ours = ours};
      }
    }
    const document::Node* ratio = recorded.find("new_token_ratio");
    if (ratio != nullptr && ratio->is_number() &&
        std::abs(ratio->as_real() - ratio_) > kRatioDigits) {
      return Difference{.where = fmt::format("step {}: new_token_ratio", step),
                        .recorded = text_of(*ratio),
                        .ours = fmt::format("{:.6f}", ratio_)};
    }
    return std::nullopt;
  }

  const SglangRecording& recording_;
  sglang::Scheduler scheduler_;
  bool overlap_;
  std::map<RequestId, std::string> names_;
  std::vector<engine::ScheduledStep> in_flight_;
  std::vector<engine::SequencePtr> kept_;  ///< Steps in flight refer to requests that have ended.
  Fields ours_;                            ///< Of this iteration.
  double ratio_ = 0.0;
  std::size_t num_finished_ = 0;
};

/// The version of ours for "main 8905cbd42f (2026-07-20, after 0.5.15)".
core::Result<engine::EngineChoice> version_of(const document::Node& version) {
  const std::string text = text_of(version);
  return engine::find_engine(fmt::format("sglang@{}", text.substr(0, text.find(' '))));
}

}  // namespace

core::Result<std::vector<ConformResult>> conform_sglang(const document::Node& recording,
                                                        const std::string& path) {
  core::Errors errors;
  SglangRecording read;
  document::ObjectReader reader(recording, "", errors);
  read.scenario = reader.required_string("scenario");
  static_cast<void>(reader.string("engine"));
  reader.node("derivation");  // For people: why the results are what they are.
  const document::Node* cfg = reader.node("cfg");
  const document::Node* requests = reader.node("requests");
  const document::Node* results = reader.node("results");
  reader.finish();
  if (cfg == nullptr || requests == nullptr || !requests->is_list() || results == nullptr ||
      !results->is_list()) {
    errors.push_back({.field = "recording",
                      .message = "expected a map cfg and lists requests and results",
                      .where = recording.where()});
    return core::fail(std::move(errors));
  }
  read_cfg(*cfg, read.options, errors);
  read_entries(*requests, read.entries, errors);
  std::vector<ConformResult> lines;
  for (const document::Node& result : results->items()) {
    const document::Node* versions = result.find("versions");
    const document::Node* trace = result.find("trace");
    if (versions == nullptr || !versions->is_list() || trace == nullptr || !trace->is_list()) {
      errors.push_back({.field = "results",
                        .message = "expected maps with lists versions and trace",
                        .where = result.where()});
      continue;
    }
    for (const document::Node& version : versions->items()) {
      auto choice = version_of(version);
      if (!choice) {
        return core::fail(std::move(choice.error()));
      }
      if (!errors.empty()) {
        continue;
      }
      read.options.rules = sglang::rules_of(choice->version);
      engine::EngineOptions options;
      options.own = std::make_shared<const sglang::Options>(read.options);
      SglangReplay replay(read, options);
      lines.push_back({.file = path,
                       .scenario = read.scenario,
                       .version = text_of(version),
                       .profile = fmt::format("sglang@{}", choice->version),
                       .difference = replay.compare(*trace)});
    }
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return lines;
}

}  // namespace ridgeline::evidence::conform
