#include "sim/simulation.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/ids.hpp"
#include "core/queue_growth.hpp"
#include "core/result.hpp"
#include "core/ring.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/label_set.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/engine.hpp"
#include "engine/frontend.hpp"
#include "engine/options.hpp"
#include "latency/step_time_model.hpp"
#include "metrics/recorder.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/samples.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "sim/horizon.hpp"
#include "sim/logged_model.hpp"
#include "sim/resolve.hpp"
#include "sim/scenario.hpp"
#include "sim/step_watch.hpp"
#include "workload/carried.hpp"
#include "workload/item.hpp"
#include "workload/source.hpp"

namespace ridgeline::sim {

namespace {

/// Segments between two looks at the clock and the interrupt flag: milliseconds of work.
constexpr std::int64_t kSegmentsPerCall = 1024;
/// Requests that are drawn together, and recorded together: either takes more code than a core's
/// first cache has room for beside the engine's, so that many in a row cost less.
constexpr std::size_t kTogether = 32;
/// Events between two progress reports: each costs a call and a look at a clock.
constexpr std::int64_t kEventsPerReport = 256;

metrics::RequestLatency latency_of(const engine::RequestPath& path,
                                   const domain::RequestRecord& record) {
  if (!metrics::completed(record.outcome)) {
    // A refusal travels back like a first token; nothing else of such a request is read.
    metrics::RequestLatency refusal;
    if (record.outcome != domain::Outcome::kUnfinished) {
      refusal.client_end = record.queued + path.emit + path.deliver;
    }
    return refusal;
  }
  const engine::PathTimes times = engine::path_times(path, record);
  return {.client_ttft = times.client_ttft,
          .client_e2e = times.client_e2e,
          .server_ttft = times.server_ttft,
          .server_e2e = times.server_e2e,
          .client_end = times.client_end};
}

class Driver final : public domain::RecordSink {
 public:
  Driver(const Resolved& resolved,
         workload::Source& source,
         const RunControls& controls,
         metrics::Recorder& recorder)
      : resolved_(resolved),
        source_(source),
        controls_(controls),
        recorder_(recorder),
        frontend_(resolved.path),
        closed_loop_(source.is_closed_loop()),
        logged_(*resolved.latency),
        watch_(model()),
        options_(resolved.engine),
        horizon_(last_step_end(resolved.path)) {
    const bool wanted = controls.listener != nullptr && controls.listener->needs_steps();
    options_.log_steps = options_.log_steps || wanted || controls.steps != nullptr;
    const latency::StepTimeModel& watched = watch_;
    const engine::EngineInputs inputs{
        .options = options_,
        .model = controls.steps == nullptr ? model() : watched,
        .host = resolved.host,
        .sink = *this,
        // What is told step by step or request by request is told in order of time.
        .late_submits = !closed_loop_ && controls.listener == nullptr && !options_.log_steps,
        .horizon = horizon_};
    engine_ = controls.core == EngineCore::kReference
                  ? engine::make_reference_engine(inputs)
                  : engine::make_fast_engine(inputs, controls.jump);
    submits_late_ = inputs.late_submits;
  }

  enum class End : std::uint8_t { kComplete, kInterrupted, kPastHorizon };

  End run() {
    recorder_.start(source_.next_arrival().value_or(core::SimTime()));
    const End end = run_to_end();
    if (end == End::kInterrupted) {
      abandon();
    }
    record_ended();
    return end;
  }

  [[nodiscard]] engine::EngineTotals totals() const { return engine_->totals(); }
  /// What this run's predictions met.
  [[nodiscard]] core::Warnings findings() const {
    return resolved_.latency->findings(logged_.lookups());
  }

  void on_request(const domain::RequestRecord& record) override {
    ++done_;
    if (closed_loop_) [[unlikely]] {
      note_completion(record);
    }
    ended_[num_ended_++] = record;
    if (num_ended_ == ended_.size()) [[unlikely]] {
      record_ended();
    }
  }
  void on_steps(const domain::StepRecord& record) override {
    recorder_.on_steps(record);
    if (controls_.steps != nullptr) {
      controls_.steps->on_segment(watch_.segment(record));
    }
  }
  void on_token_gaps(const domain::TokenGaps& gaps) override { recorder_.on_token_gaps(gaps); }

 private:
  struct Queued {
    domain::Request request;
    core::SimTime at;
  };
  /// What predicts: the deployment's model, through a log where it has anything to note.
  [[nodiscard]] const latency::StepTimeModel& model() const {
    if (resolved_.latency->logs()) {
      return logged_;
    }
    return *resolved_.latency;
  }

  using Completion = std::pair<core::SimTime, core::RequestId>;

  [[gnu::noinline]] void note_completion(const domain::RequestRecord& record) {
    if (record.outcome != domain::Outcome::kUnfinished) {
      completions_.push({latency_of(resolved_.path, record).client_end, record.id});
    }
  }

  End run_to_end() {
    while (!interrupted()) {
      look_ahead();
      const core::SimTime next = next_event();
      const auto pause = engine_->advance(next, closed_loop_, kSegmentsPerCall);
      report_progress(pause == engine::Engine::Pause::kBudget);
      if (pause == engine::Engine::Pause::kHorizon) [[unlikely]] {
        return End::kPastHorizon;
      }
      if (pause == engine::Engine::Pause::kBudget || pause == engine::Engine::Pause::kCompletion) {
        continue;
      }
      if (next == core::SimTime::never()) {
        // What cannot be sent or reach the queue in time is left over.
        const bool all = queued_.empty() && !source_.next_arrival();
        return all ? End::kComplete : End::kPastHorizon;
      }
      reach(submits_late_ ? std::max(next, engine_->now()) : next);
    }
    return End::kInterrupted;
  }

  [[nodiscard]] bool interrupted() const {
    return controls_.interrupt != nullptr && controls_.interrupt->load(std::memory_order_relaxed);
  }

  /// An open loop's next requests are known whatever the engine does, so that the engine may run to
  /// the instant at which one reaches the queue. A closed loop's is taken when its time has come.
  void look_ahead() {
    if (!closed_loop_ && queued_.empty()) [[unlikely]] {
      for (std::size_t i = 0; i < kTogether && source_.next_arrival(); ++i) {
        take();
      }
    }
  }
  void take() {
    auto& [request, at] = queued_.extend();
    source_.pop_into(request);
    if (controls_.listener != nullptr) [[unlikely]] {
      controls_.listener->on_arrival(request);
    }
    at = frontend_.admit(request.arrival, request.prompt_tokens);
    if (at > horizon_) [[unlikely]] {
      at = core::SimTime::never();  // Stays in the queue, as do all behind it.
    }
  }

  [[nodiscard]] core::SimTime next_event() {
    core::SimTime next = queued_.empty() ? core::SimTime::never() : queued_.front().at;
    if (closed_loop_) {
      next = std::min(next, source_.next_arrival().value_or(core::SimTime::never()));
      next =
          std::min(next, completions_.empty() ? core::SimTime::never() : completions_.top().first);
    }
    return next;
  }

  void reach(core::SimTime now) {
    while (!completions_.empty() && completions_.top().first <= now) {
      const auto [time, id] = completions_.top();
      completions_.pop();
      source_.on_completion(id, time);
    }
    while (closed_loop_ && source_.next_arrival().value_or(core::SimTime::never()) <= now) {
      take();
    }
    // Where an open loop's requests come faster than they are served, the engine only comes for
    // more when few wait: the others are not drawn yet, and the queue is as long as it has to be.
    while (!queued_.empty() && queued_.front().at <= now) {
      engine_->submit(queued_.front().request, queued_.front().at);
      queued_.pop_front();
    }
  }

  /// What is under way is counted as unfinished.
  void abandon() {
    engine_->drop_all();
    if (engine_->totals().steps == 0) {
      return;  // It was over before it began.
    }
    for (look_ahead(); !queued_.empty(); queued_.pop_front(), look_ahead()) {
      const auto& [request, at] = queued_.front();
      if (request.arrival > engine_->now()) {
        return;  // It has not been sent yet.
      }
      domain::RequestRecord record;
      record.id = request.id;
      record.label_set = request.label_set;
      record.outcome = domain::Outcome::kUnfinished;
      record.prompt_tokens = request.prompt_tokens;
      record.arrival = request.arrival;
      record.queued = at;
      on_request(record);
    }
  }

  [[gnu::noinline]] void record_ended() {
    for (std::size_t i = 0; i < num_ended_; ++i) {
      recorder_.on_request(ended_[i], latency_of(resolved_.path, ended_[i]));
    }
    num_ended_ = 0;
  }

  void report_progress(bool at_once) {
    if (controls_.progress && (at_once || ++events_ % kEventsPerReport == 0)) {
      controls_.progress({.now = engine_->now(), .done = done_, .total = source_.size()});
    }
  }

  const Resolved& resolved_;
  workload::Source& source_;
  const RunControls& controls_;
  metrics::Recorder& recorder_;
  engine::Frontend frontend_;
  bool closed_loop_;
  LoggedModel logged_;
  StepWatch watch_;
  engine::EngineOptions options_;
  core::SimTime horizon_;
  std::unique_ptr<engine::Engine> engine_;
  bool submits_late_ = false;
  core::Ring<Queued> queued_;                           ///< Passed the frontend, in order.
  std::array<domain::RequestRecord, kTogether> ended_;  ///< Not told to the recorder yet.
  std::size_t num_ended_ = 0;
  std::priority_queue<Completion, std::vector<Completion>, std::greater<>> completions_;
  std::int64_t done_ = 0;
  std::int64_t events_ = 0;
};

metrics::RecorderOptions recorder_options(const Scenario& scenario,
                                          const workload::Source& source,
                                          metrics::Listener* listener) {
  metrics::RecorderOptions options;
  options.label_sets = source.label_sets();
  options.open_loop = !source.is_closed_loop();
  options.held_back = source.held_back();
  options.percentiles = scenario.percentiles == "sketch" ? metrics::Percentiles::kSketch
                                                         : metrics::Percentiles::kExact;
  options.listener = listener;
  const auto limit = [&](metrics::Metric metric) -> std::optional<core::Duration>& {
    return options.slo.limits[static_cast<std::size_t>(metric)];
  };
  limit(metrics::Metric::kTtft) = scenario.slo.ttft;
  limit(metrics::Metric::kTpot) = scenario.slo.tpot;
  limit(metrics::Metric::kItl) = scenario.slo.itl;
  limit(metrics::Metric::kE2e) = scenario.slo.e2e;
  const auto& names = metrics::kStatisticNames;
  const auto* const named = std::ranges::find(names, scenario.slo.statistic.value_or("p99"));
  options.slo.statistic = static_cast<metrics::Statistic>(named - names.begin());
  return options;
}

metrics::EngineCounts counts_of(const engine::EngineTotals& totals,
                                const engine::EngineOptions& options) {
  return {.steps = totals.steps,
          .step_time = totals.step_time,
          .busy = totals.busy,
          .prefix_queries = totals.prefix_queries,
          .prefix_hits = totals.prefix_hits,
          .kv_blocks = options.num_gpu_blocks - core::Blocks(1),  // the null block holds no tokens
          .peak_used_blocks = totals.peak_used_blocks,
          .used_block_seconds = totals.used_block_seconds};
}

/// The totals that are part of the digest: all that do not depend on how steps were advanced.
std::vector<std::int64_t> digest_totals(const engine::EngineTotals& totals) {
  std::vector<std::int64_t> numbers = {totals.steps,
                                       totals.preemptions,
                                       totals.step_time.cpu.count(),
                                       totals.busy.count(),
                                       totals.prefix_queries.value(),
                                       totals.prefix_hits.value(),
                                       totals.peak_used_blocks.value()};
  for (const auto part : totals.step_time.by_bottleneck) {
    numbers.push_back(part.count());
  }
  return numbers;
}

/// What happened to requests that a user may not expect.
void warn_of_outcomes(const Resolved& resolved,
                      const metrics::Summary& summary,
                      core::Warnings& warnings) {
  const auto& options = resolved.engine;
  if (const std::int64_t rejected = summary.count(domain::Outcome::kRejected); rejected > 0) {
    warnings.push_back(
        {.code = "W-rejected",
         .message = fmt::format(
             "{} requests were rejected: their prompt is longer than max_model_len {} or than "
             "the KV cache",
             rejected,
             options.max_model_len.value()),
         .hint = "--max-model-len, --gpu-memory-utilization, --tensor-parallel-size"});
  }
  if (const std::int64_t capped = summary.count(domain::Outcome::kLengthCapped); capped > 0) {
    warnings.push_back({.code = "W-length-capped",
                        .message = fmt::format("{} requests were cut short by max_model_len {}",
                                               capped,
                                               options.max_model_len.value()),
                        .hint = "--max-model-len"});
  }
}

/// What requests carry and this run does not heed.
void warn_of_carried(const Resolved& resolved,
                     const workload::Carried& carried,
                     core::Warnings& warnings) {
  const auto& options = resolved.engine;
  const auto warn = [&](std::string_view code, std::string message, std::string hint) {
    warnings.push_back(
        {.code = std::string(code), .message = std::move(message), .hint = std::move(hint)});
  };
  if (carried.with_priority > 0 && options.policy == engine::SchedulingPolicy::kFcfs) {
    warn("W-ignored-priority",
         fmt::format("{} of {} requests carry a priority, which scheduling_policy fcfs ignores",
                     carried.with_priority,
                     carried.requests),
         "--scheduling-policy priority");
  }
  if (carried.with_adapter > 0 && options.max_loras == 0) {
    warn("W-ignored-adapter",
         fmt::format("{} of {} requests name one of {} adapters: with enable_lora off they run as "
                     "the network itself, with KV blocks of their own",
                     carried.with_adapter,
                     carried.requests,
                     carried.adapters.size()),
         fmt::format("--enable-lora --max-loras {}", carried.adapters.size()));
  }
  if (carried.models.size() > 1) {
    constexpr std::size_t kMostNamed = 3;
    const std::span<const std::string> named(carried.models.data(),
                                             std::min(carried.models.size(), kMostNamed));
    warn("W-ignored-model",
         fmt::format("requests name {} models ({}{}): all of them run on {}",
                     carried.models.size(),
                     fmt::join(named, ", "),
                     carried.models.size() > kMostNamed ? ", ..." : "",
                     resolved.network.name),
         {});
  }
  if (carried.with_media > 0) {
    warn("W-unpriced-media",
         fmt::format("{} of {} requests carry images, audios or videos: their tokens are part of "
                     "the prompt, but encoding them takes no time",
                     carried.with_media,
                     carried.requests),
         {});
  }
}

void warn_of_overload(const Resolved& resolved,
                      const metrics::Summary& summary,
                      core::Warnings& warnings) {
  if (!summary.overload) {
    return;
  }
  const core::Backlog& backlog = summary.overload->backlog;
  const std::int64_t ranks = resolved.scenario.engine.data_parallel_size;
  const bool at_client = summary.overload->at_client;
  const std::string_view consequence =
      at_client           ? "they wait at the client, which no latency counts"
      : backlog.whole_run ? "every latency depends on how long the run is"
                          : "latencies depend on how long that lasts";
  const std::string_view more_capacity = at_client ? ", or a higher --max-concurrency"
                                         : resolved.engine.max_loras > 0
                                             ? ", or a higher --max-loras"
                                             : "";
  warnings.push_back(
      {.code = "W-overloaded",
       .message = fmt::format(
           "{}requests come faster than they are served: the wait grows by {:.2g} s per second, "
           "about {:.4g} of {:.4g} req/s are sustainable{}, and {}",
           backlog.whole_run
               ? ""
               : fmt::format("from {:.4g} s to {:.4g} s ", backlog.begin_s, backlog.end_s),
           backlog.wait_growth,
           backlog.sustainable_rate,
           backlog.offered_rate,
           ranks > 1 ? fmt::format(" by each of {} ranks", ranks) : "",
           consequence),
       .hint = fmt::format("fewer requests per second, or more capacity{}", more_capacity)});
}

/// What a result calls the values of labels, which are numbers so far.
void name_groups(const workload::Labels& labels, metrics::Summary& summary) {
  for (metrics::GroupSummary& group : summary.groups) {
    if (group.value == domain::LabelSet::kOther) {
      group.name = "(other)";
    } else if (group.label == domain::Label::kPriority) {
      group.name = fmt::format("{}", group.value);
    } else if (group.value != domain::LabelSet::kNoLabel) {
      group.name = labels.name(group.value);
    }
  }
}

}  // namespace

core::Result<RunOutcome> simulate(const Resolved& resolved,
                                  workload::Source& source,
                                  const RunControls& controls) {
  metrics::Recorder recorder(recorder_options(resolved.scenario, source, controls.listener));
  Driver driver(resolved, source, controls, recorder);
  const Driver::End end = driver.run();
  if (end == Driver::End::kPastHorizon) {
    return core::fail(past_horizon(resolved, recorder.num_completed(), source.size()));
  }
  if (!source.errors().empty()) {
    return core::fail(source.errors());
  }
  RunOutcome outcome;
  outcome.partial = end == Driver::End::kInterrupted;
  outcome.totals = driver.totals();
  outcome.summary = recorder.summarise(counts_of(outcome.totals, resolved.engine));
  name_groups(source.labels(), outcome.summary);
  outcome.digest = recorder.digest(digest_totals(outcome.totals));
  outcome.warnings = recorder.warnings();
  warn_of_outcomes(resolved, outcome.summary, outcome.warnings);
  warn_of_overload(resolved, outcome.summary, outcome.warnings);
  warn_of_carried(resolved, source.carried(), outcome.warnings);
  const auto findings = driver.findings();
  outcome.warnings.insert(outcome.warnings.end(), findings.begin(), findings.end());
  for (auto& warning : source.warnings()) {
    // What a comparison with another simulator needs to know is told to those who compare.
    if (!warning.code.starts_with(workload::kBlisWarning) || resolved.scenario.compat == "blis") {
      outcome.warnings.push_back(std::move(warning));
    }
  }
  return outcome;
}

}  // namespace ridgeline::sim
