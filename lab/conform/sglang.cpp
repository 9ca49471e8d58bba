// Recorded iterations of SGLang's event loop.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/schedulers.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/request.hpp"
#include "engine/sglang/scheduler.hpp"
#include "engine/sglang/settings.hpp"
#include "lab/conform/engine_recording.hpp"
#include "lab/conform/engines.hpp"

namespace ridgeline::conform {
namespace {

namespace sglang = engine::sglang;
using core::RequestId;

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

/// The event loop over a recording's requests.
class EventLoop {
 public:
  EventLoop(const EngineRecording& recording, const engine::EngineOptions& options, bool overlap)
      : recording_(recording), scheduler_(options), overlap_(overlap) {}

  std::vector<EngineRecord> run() {
    std::vector<EngineRecord> records;
    std::size_t arrived = 0;
    for (std::int64_t step = 0; step < recording_.most_iterations; ++step) {
      for (const EngineRequest& entry : recording_.requests) {
        if (entry.arrive_step == step) {
          ++arrived;
          scheduler_.take(entry.request, entry.ignore_eos);
        }
      }
      records.push_back(iteration(step));
      if (arrived == recording_.requests.size() && num_finished_ == arrived && in_flight_.empty()) {
        break;
      }
    }
    return records;
  }

 private:
  [[nodiscard]] const std::string& name_of(RequestId id) const {
    return recording_.requests[id.value()].name;
  }
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

  EngineRecord iteration(std::int64_t step) {
    engine::ScheduledStep formed;
    scheduler_.iterate(formed);
    EngineRecord record{{"step", std::to_string(step)}};
    note_selection(formed, record);
    if (!formed.empty()) {
      in_flight_.push_back({std::move(formed), record.at("mode")});
    }
    // The oldest batch in flight ends where the event loop processes it.
    if (!in_flight_.empty() && (!overlap_ || in_flight_.size() > 1 || formed_nothing(record))) {
      const InFlight oldest = std::move(in_flight_.front());
      in_flight_.erase(in_flight_.begin());
      note_results(oldest, record);
    }
    note_pool(record, "_after");
    return record;
  }
  static bool formed_nothing(const EngineRecord& record) { return record.at("mode") == "null"; }

  /// What the iteration has chosen.
  void note_selection(const engine::ScheduledStep& step, EngineRecord& record) {
    static constexpr std::array<const char*, 4> kModes = {"null", "extend", "decode", "mixed"};
    const sglang::Iteration& iteration = scheduler_.iteration();
    const auto id_of = [](const auto& request) { return request->record.id; };
    const auto itself = [](RequestId id) { return id; };
    std::string scheduled;
    std::vector<std::string> prefixes;
    for (const engine::ScheduledSequence& part : step) {
      const std::string& name = name_of(part.sequence->record.id);
      scheduled +=
          fmt::format("{}{}:{}", scheduled.empty() ? "" : " ", name, part.num_scheduled_tokens);
      if (part.is_prefill) {
        prefixes.push_back(fmt::format("{}:{}", name, part.num_computed_tokens));
      }
    }
    record["mode"] = kModes.at(static_cast<std::size_t>(iteration.mode));
    record["scheduled"] = "{" + scheduled + "}";
    record["prefix_len"] = sorted(std::move(prefixes), '{', '}');
    record["received"] = list_of(iteration.received, itself);
    record["retracted"] = sorted(names_of(iteration.retracted), '[', ']');
    record["running"] = list_of(scheduler_.running(), id_of);
    record["waiting"] = list_of(scheduler_.waiting(), id_of);
    record["chunked"] =
        scheduler_.chunked() == nullptr ? "null" : name_of(scheduler_.chunked()->record.id);
    record["batch_is_full"] = scheduler_.batch_is_full() ? "true" : "false";
    record["evicted_tokens"] = std::to_string(iteration.evicted_tokens);
    record["new_token_ratio"] = fmt::format("{:.8f}", iteration.new_token_ratio);
    note_pool(record, "");
  }

  struct InFlight {
    engine::ScheduledStep step;
    std::string mode;
  };

  void note_results(const InFlight& ended, EngineRecord& record) {
    std::vector<std::int64_t> before;
    for (const engine::ScheduledSequence& part : ended.step) {
      before.push_back(static_cast<const sglang::Sequence&>(*part.sequence).outputs);
    }
    std::vector<std::string> finished;
    const std::vector<std::int64_t> one_each(ended.step.size(), 1);
    for (const engine::SequencePtr& sequence : scheduler_.update(ended.step, one_each)) {
      finished.push_back(name_of(sequence->record.id));
      kept_.push_back(sequence);
    }
    num_finished_ += finished.size();
    std::vector<std::string> tokens;
    for (std::size_t i = 0; i < ended.step.size(); ++i) {
      const auto& request = static_cast<const sglang::Sequence&>(*ended.step[i].sequence);
      if (request.outputs > before[i]) {
        tokens.push_back(
            fmt::format("{}:{}", name_of(request.record.id), request.outputs - before[i]));
      }
    }
    record["processed"] = ended.mode;
    record["tokens_out"] = sorted(std::move(tokens), '{', '}');
    record["finished"] = sorted(std::move(finished), '[', ']');
  }

  void note_pool(EngineRecord& record, const std::string& when) const {
    record["free_tokens" + when] = std::to_string(scheduler_.free_tokens());
    record["evictable" + when] = std::to_string(scheduler_.evictable());
    record["protected" + when] = std::to_string(scheduler_.protected_size());
  }

  const EngineRecording& recording_;
  sglang::Scheduler scheduler_;
  bool overlap_;
  std::vector<InFlight> in_flight_;
  std::vector<engine::SequencePtr> kept_;  ///< Steps in flight refer to requests that have ended.
  std::size_t num_finished_ = 0;
};

}  // namespace

EngineReplay replay_sglang(const EngineRecording& recording,
                           const std::string& version,
                           core::Errors& errors) {
  sglang::Options own;
  read_cfg(*recording.cfg, own, errors);
  // "main 8905cbd42f (2026-07-20, after 0.5.15)"
  const auto choice =
      engine::find_engine(fmt::format("sglang@{}", version.substr(0, version.find(' '))));
  if (!choice) {
    errors.insert(errors.end(), choice.error().begin(), choice.error().end());
  }
  if (!errors.empty()) {
    return {};
  }
  own.rules = sglang::rules_of(choice->version);
  engine::EngineOptions options;
  options.own = std::make_shared<const sglang::Options>(own);
  return {.profile = fmt::format("sglang@{}", choice->version),
          .trace = EventLoop(recording, options, own.overlap).run()};
}

}  // namespace ridgeline::conform
