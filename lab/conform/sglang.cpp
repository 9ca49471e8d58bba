// Recorded iterations of SGLang's event loop.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
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

constexpr std::int64_t kMost = 100'000'000;

void read_speculation(document::ObjectReader& reader, sglang::Speculation& speculation) {
  static const std::array<std::string, 5> kAlgorithms = {
      "EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM"};
  const auto algorithm = reader.choice("speculative_algorithm", kAlgorithms);
  speculation.steps = reader.integer("speculative_num_steps", {1, kMost}).value_or(0);
  speculation.topk = reader.integer("speculative_eagle_topk", {1, kMost}).value_or(1);
  speculation.draft_tokens = reader.integer("speculative_num_draft_tokens", {1, kMost}).value_or(1);
  speculation.keys_pairs = algorithm && *algorithm != "STANDALONE" && *algorithm != "NGRAM";
  speculation.has_draft_kv = algorithm != "NGRAM";
}

/// A recording's settings: SGLang's own, and what stands for the rest of its world.
struct Settings {
  sglang::Options own;
  /// Which side of prefill and decode apart it is, and how many iterations a handshake and a
  /// transfer take.
  bool is_prefill = false;
  bool is_decode = false;
  std::int64_t handshake_steps = 1;
  std::int64_t transfer_steps = 2;
  /// What the other ranks of attention in data parallel do in each iteration: p prefill, d decode,
  /// - nothing; empty: there are none.
  std::string peers;
};

/// A pool in the host's memory, and slots for recurrent states.
void read_tiers(document::ObjectReader& reader, sglang::Options& options) {
  const auto integer = [&](const char* key, std::int64_t& value, std::int64_t least) {
    value = reader.integer(key, {least, kMost}).value_or(value);
  };
  static const std::array<std::string, 3> kWrites = {
      "write_through", "write_through_selective", "write_back"};
  const bool has_host = reader.boolean("enable_hierarchical_cache").value_or(false);
  integer("host_tokens", options.host.tokens, 0);
  options.host.tokens = has_host ? options.host.tokens : 0;
  const auto writes = reader.choice("hicache_write_policy", kWrites);
  options.host.writes = writes == "write_back" ? sglang::HostWrites::kBack
                        : writes == "write_through_selective"
                            ? sglang::HostWrites::kThroughSelective
                            : sglang::HostWrites::kThrough;
  integer("mamba_slots", options.state_slots, 0);
  std::int64_t chunk = options.state_grid;
  std::int64_t interval = options.state_track;
  integer("mamba_cache_chunk_size", chunk, 1);
  integer("mamba_track_interval", interval, 1);
  if (reader.boolean("mamba_extra_buffer").value_or(false)) {
    options.state_buffers = options.overlap ? 2 : 1;
  }
  options.state_grid = std::lcm(chunk, options.page_size);
  options.state_track = std::lcm(options.state_grid, interval);
  integer("hicache_write_steps", options.host.write_iterations, 0);
  integer("hicache_load_steps", options.host.load_iterations, 0);
}

/// Prefill and decode apart.
void read_sides(document::ObjectReader& reader, Settings& settings) {
  sglang::Options& options = settings.own;
  const auto integer = [&](const char* key, std::int64_t& value, std::int64_t least) {
    value = reader.integer(key, {least, kMost}).value_or(value);
  };
  static const std::array<std::string, 3> kModes = {"null", "prefill", "decode"};
  static const std::array<std::string, 3> kBackups = {"host_pool", "cpu_tensor", "none"};
  const auto mode = reader.choice("disaggregation_mode", kModes);
  settings.is_prefill = mode == "prefill";
  settings.is_decode = mode == "decode";
  integer("handshake_steps", settings.handshake_steps, 0);
  integer("transfer_steps", settings.transfer_steps, 0);
  integer("num_reserved_decode_tokens", options.num_reserved_decode_tokens, 0);
  const auto backup = reader.choice("disaggregation_decode_retraction_backup", kBackups);
  options.retraction_backup = backup == "cpu_tensor" ? sglang::RetractionBackup::kCpuTensor
                              : backup == "none"     ? sglang::RetractionBackup::kNone
                                                     : sglang::RetractionBackup::kHostPool;
}

void read_cfg(const document::Node& cfg, Settings& settings, core::Errors& errors) {
  sglang::Options& options = settings.own;
  static const std::array<std::string, 6> kPolicies = {
      "fcfs", "lpm", "dfs-weight", "lof", "hrrn", "random"};
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
  integer("prefill_decode_interval", options.prefill_decode_interval, 0);
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
  read_speculation(reader, options.speculation);
  read_tiers(reader, options);
  settings.peers = reader.string("dp_peers").value_or("");
  read_sides(reader, settings);
  reader.finish();
}

/// The event loop over a recording's requests.
class EventLoop {
 public:
  EventLoop(const EngineRecording& recording,
            const engine::EngineOptions& options,
            const Settings& world)
      : recording_(recording),
        settings_(sglang::settings_of(options)),
        world_(world),
        scheduler_(options),
        verifications_(recording.requests.size()),
        allocated_(recording.requests.size()) {}

  std::vector<EngineRecord> run() {
    std::vector<EngineRecord> records;
    std::size_t arrived = 0;
    for (std::int64_t step = 0; step < recording_.most_iterations; ++step) {
      received_.clear();
      for (const EngineRequest& entry : recording_.requests) {
        if (entry.arrive_step == step) {
          ++arrived;
          receive(entry, step);
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

  /// A request, and the iteration at which something comes of it.
  struct Later {
    RequestId id;
    std::int64_t step = 0;
  };

  [[nodiscard]] bool is_apart() const { return world_.is_prefill || world_.is_decode; }
  void receive(const EngineRequest& entry, std::int64_t step) {
    if (!is_apart()) {
      scheduler_.take(entry.request, entry.ignore_eos);
      return;
    }
    received_.push_back(entry.request.id);
    later_.push_back({.id = entry.request.id, .step = step + world_.handshake_steps});
  }
  /// Requests whose handshake is done reach the scheduler as fleets give them to it: a prefill
  /// server is asked for one token, a decode server has that one in the prompt.
  void finish_handshakes(std::int64_t step) {
    while (!later_.empty() && later_.front().step <= step) {
      const EngineRequest& entry = recording_.requests[later_.front().id.value()];
      domain::Request request = entry.request;
      later_.pop_front();
      if (world_.is_prefill) {
        request.max_tokens = request.output_tokens = core::Tokens(1);
        scheduler_.take(request, entry.ignore_eos, {.holds_blocks = true});
      } else {
        const core::Tokens prompt = request.prompt_tokens;
        request.prompt_tokens += core::Tokens(1);
        request.max_tokens -= core::Tokens(1);
        request.output_tokens -= core::Tokens(1);
        scheduler_.take(request, entry.ignore_eos, {.remote_tokens = prompt, .loads = true});
      }
    }
  }
  /// KV that has come or gone by now, in order.
  std::vector<RequestId> finish_transfers(std::int64_t step) {
    std::vector<RequestId> done;
    for (const Later& sent : sending_) {
      if (sent.step <= step) {
        done.push_back(sent.id);
      }
    }
    std::erase_if(sending_, [&](const Later& sent) { return sent.step <= step; });
    return done;
  }

  EngineRecord iteration(std::int64_t step) {
    engine::ScheduledStep formed;
    std::vector<RequestId> kv_arrived;
    std::string in_flight;
    if (is_apart()) {
      finish_handshakes(step);
      in_flight = list_of(sending_, [](const Later& sent) { return sent.id; });
    }
    if (world_.is_decode) {
      kv_arrived = finish_transfers(step);
      for (const RequestId id : kv_arrived) {
        scheduler_.finish_load(id, true);
      }
    }
    const bool is_idle = world_.peers.empty() ? choose(formed) : choose_beside_peers(step, formed);
    EngineRecord record{{"step", std::to_string(step)}};
    note_selection(formed, record);
    for (const engine::LoadStart& load : scheduler_.load_starts()) {
      sending_.push_back({.id = load.request, .step = step + world_.transfer_steps});
    }
    if (is_apart()) {
      note_transfers(kv_arrived, in_flight, record);
    }
    if (is_idle) {
      record["mode"] = "idle";
    }
    if (!formed.empty() || is_idle) {
      in_flight_.push_back({std::move(formed), record.at("mode")});
    }
    // The oldest batch in flight ends where the event loop processes it.
    if (!in_flight_.empty() &&
        (!settings_.overlap || in_flight_.size() > 1 || formed_nothing(record))) {
      const InFlight oldest = std::move(in_flight_.front());
      in_flight_.erase(in_flight_.begin());
      note_results(oldest, record);
    }
    if (world_.is_prefill) {
      end_sent(step, record);
    }
    note_pool(record, "_after");
    if (settings_.host.tokens > 0) {
      note_number("backed_up_after", scheduler_.take_backed_up(), record);
    }
    return record;
  }
  void note_transfers(const std::vector<RequestId>& kv_arrived,
                      const std::string& in_flight,
                      EngineRecord& record) const {
    const auto itself = [](RequestId id) { return id; };
    const auto id_of = [](const auto& request) { return request->record.id; };
    record["received"] = list_of(received_, itself);
    std::vector<RequestId> pending;
    for (const sglang::RequestPtr& request : scheduler_.preallocating()) {
      pending.push_back(request->record.id);
    }
    for (const Later& request : later_) {
      pending.push_back(request.id);
    }
    if (world_.is_prefill) {
      record["bootstrap"] = list_of(pending, itself);
      record["inflight"] = in_flight;
      return;
    }
    record["prealloc"] = list_of(pending, itself);
    record["transfer"] = list_of(scheduler_.transferring(), id_of);
    record["retracted_queue"] = list_of(scheduler_.retracted(), id_of);
    record["kv_arrived"] = list_of(kv_arrived, itself);
    record["waiting"] = list_of(scheduler_.arrived(), id_of);
  }
  /// On a prefill server a request has ended once its KV is sent.
  void end_sent(std::int64_t step, EngineRecord& record) {
    for (const RequestId id : ended_now_) {
      sending_.push_back({.id = id, .step = step + world_.transfer_steps});
    }
    ended_now_.clear();
    std::vector<std::string> names;
    for (const RequestId id : finish_transfers(step)) {
      scheduler_.release_blocks(id);
      names.push_back(name_of(id));
    }
    num_finished_ += names.size();
    record["finished"] = sorted(std::move(names), '[', ']');
  }

  bool choose(engine::ScheduledStep& formed) {
    scheduler_.iterate(formed);
    return false;
  }
  /// As a rank of attention in data parallel; true where it runs an idle batch.
  bool choose_beside_peers(std::int64_t step, engine::ScheduledStep& formed) {
    const char peers =
        step < std::ssize(world_.peers) ? world_.peers[static_cast<std::size_t>(step)] : '-';
    const bool peers_prefill = settings_.speculation.is_on() && peers == 'p';
    const bool prefills = scheduler_.propose_prefill();
    const bool runs = scheduler_.propose_decode(prefills || !peers_prefill);
    scheduler_.schedule(formed);
    if (!runs && peers == '-' && (!settings_.overlap || in_flight_.empty())) {
      scheduler_.keep_house();
    }
    return !runs && peers != '-';
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
    if (settings_.host.tokens > 0) {
      note_number("loaded_back", iteration.loaded_back, record);
      note_number("backed_up", scheduler_.take_backed_up(), record);
    }
    if (settings_.speculation.is_on()) {
      std::vector<std::string> committed;
      std::vector<std::string> allocated;
      for (const sglang::RequestPtr& request : scheduler_.running()) {
        const std::string& name = name_of(request->record.id);
        std::int64_t& slots = allocated_[request->record.id.value()];
        slots = request->is_finished ? slots : request->kv_len;  // SGLang's keeps its number.
        committed.push_back(fmt::format("{}:{}", name, request->committed));
        allocated.push_back(fmt::format("{}:{}", name, slots));
      }
      record["kv_committed"] = sorted(std::move(committed), '{', '}');
      record["kv_allocated"] = sorted(std::move(allocated), '{', '}');
    }
  }

  struct InFlight {
    engine::ScheduledStep step;
    std::string mode;
  };

  void note_results(const InFlight& ended, EngineRecord& record) {
    record["processed"] = ended.mode;
    if (ended.step.empty()) {
      return;
    }
    std::vector<std::int64_t> before;
    for (const engine::ScheduledSequence& part : ended.step) {
      before.push_back(static_cast<const sglang::Sequence&>(*part.sequence).outputs);
    }
    std::vector<std::string> finished;
    for (const engine::SequencePtr& sequence :
         scheduler_.update(ended.step, tokens_of(ended.step))) {
      kept_.push_back(sequence);
      if (world_.is_prefill) {
        ended_now_.push_back(sequence->record.id);
      } else {
        finished.push_back(name_of(sequence->record.id));
      }
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
    record["tokens_out"] = sorted(std::move(tokens), '{', '}');
    record["finished"] = sorted(std::move(finished), '[', ']');
  }

  /// The recorder's rule: the d-th verification of request i accepts (7 i + 3 d) modulo the number
  /// of drafts that may be, and one.
  std::vector<std::int64_t> tokens_of(const engine::ScheduledStep& step) {
    constexpr std::int64_t kPerRequest = 7;
    constexpr std::int64_t kPerVerification = 3;
    std::vector<std::int64_t> tokens(step.size(), 1);
    for (std::size_t i = 0; i < step.size(); ++i) {
      const auto& request = static_cast<const sglang::Sequence&>(*step[i].sequence);
      if (step[i].num_drafts == 0 || request.is_finished || request.drops_tokens) {
        continue;
      }
      const auto id = request.record.id.value();
      tokens[i] += (kPerRequest * std::int64_t{id} + kPerVerification * verifications_[id]++) %
                   (settings_.speculation.steps + 1);
    }
    return tokens;
  }

  /// Recorders leave nothing out but that.
  static void note_number(const char* key, std::int64_t number, EngineRecord& record) {
    if (number > 0) {
      record[key] = std::to_string(number);
    }
  }

  void note_pool(EngineRecord& record, const std::string& when) const {
    if (settings_.host.tokens > 0) {
      record["host_free" + when] = std::to_string(scheduler_.host_free());
    }
    if (settings_.state_slots > 0) {
      record["mamba_free" + when] = std::to_string(scheduler_.free_states());
      record["mamba_evictable" + when] = std::to_string(scheduler_.evictable_states());
      record["mamba_protected" + when] = std::to_string(scheduler_.protected_states());
    }
    record["free_tokens" + when] = std::to_string(scheduler_.free_tokens());
    record["evictable" + when] = std::to_string(scheduler_.evictable());
    record["protected" + when] = std::to_string(scheduler_.protected_size());
  }

  const EngineRecording& recording_;
  const sglang::Options& settings_;
  const Settings& world_;
  std::deque<Later> later_;     ///< Received, with a handshake to come.
  std::vector<Later> sending_;  ///< KV on its way.
  sglang::Scheduler scheduler_;
  std::vector<std::int64_t> verifications_;  ///< By request: those whose result was used.
  std::vector<std::int64_t> allocated_;      ///< By request: slots shown last.
  std::vector<InFlight> in_flight_;
  std::vector<engine::SequencePtr> kept_;  ///< Steps in flight refer to requests that have ended.
  std::vector<RequestId> received_;        ///< In this iteration, with a handshake to come.
  std::vector<RequestId> ended_now_;       ///< Prefills.
  std::size_t num_finished_ = 0;
};

}  // namespace

EngineReplay replay_sglang(const EngineRecording& recording,
                           const std::string& version,
                           core::Errors& errors) {
  Settings settings;
  sglang::Options& own = settings.own;
  read_cfg(*recording.cfg, settings, errors);
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
          .trace = EventLoop(recording, options, settings).run()};
}

}  // namespace ridgeline::conform
