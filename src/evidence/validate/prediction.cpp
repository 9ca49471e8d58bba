#include "evidence/validate/prediction.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/int128.hpp"
#include "core/math.hpp"
#include "core/parallel.hpp"
#include "core/result.hpp"
#include "core/statistics/moments.hpp"
#include "core/statistics/quantiles.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "engine/acceptance.hpp"
#include "engine/options.hpp"
#include "evidence/validate/deployment.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/file_load.hpp"
#include "evidence/validate/load_script.hpp"
#include "evidence/validate/measured_run.hpp"
#include "evidence/validate/staged_source.hpp"
#include "evidence/validate/start_up.hpp"
#include "latency/step_time_model.hpp"
#include "metrics/power_summary.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/summary.hpp"
#include "model/operators.hpp"
#include "scenario/accuracy_question.hpp"
#include "scenario/deployment.hpp"
#include "scenario/rank_share.hpp"
#include "scenario/resolve.hpp"
#include "sim/front_end.hpp"
#include "sim/simulation.hpp"

namespace ridgeline::evidence::validate {
namespace {

constexpr std::array<double, kNumLevels> kLevelQuantiles = {0.0, 0.5, 0.9, 0.99};
constexpr double kPerMillisecond = 1e9;  // ticks are picoseconds

/// The times of one request on the clock that was measured with.
struct Sample {
  core::SimTime arrival;
  std::optional<core::Duration> e2e;
  std::optional<core::Duration> ttft;
  std::optional<core::Duration> tpot;
  std::optional<core::Duration> server_e2e;
  std::optional<core::Duration> server_ttft;
  std::optional<core::Duration> queue;
  std::optional<core::Duration> prefill;
  std::optional<core::Duration> decode;
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t cached_tokens = 0;
  bool completed = false;
};

/// Sorts what happens to requests by their stage.
class StageSamples final : public metrics::Listener {
 public:
  StageSamples(const StagedSource& script, std::size_t stages, const Evidence& facts)
      : script_(script), samples_(stages), facts_(facts) {}

  void on_request(const domain::RequestRecord& record,
                  const metrics::RequestMetrics& metrics) override {
    Sample sample;
    sample.arrival = record.arrival;
    sample.completed = metrics::completed(record.outcome);
    const bool server = facts_.server_clock;
    sample.ttft = server ? metrics.server_ttft : metrics.ttft;
    sample.e2e = server ? metrics.server_e2e : metrics.e2e;
    sample.tpot = server ? metrics.server_tpot : metrics.tpot;
    if (facts_.e2e_to_last_token && sample.ttft) {
      sample.e2e = *sample.ttft + (record.last_token - record.first_token);
    }
    if (facts_.tpot_to_last_token) {
      sample.tpot = metrics.mean_gap;
    }
    if (sample.completed) {
      sample.server_e2e = metrics.server_e2e;
      sample.server_ttft = metrics.server_ttft;
      sample.queue = metrics.queue_time;
      sample.prefill = record.first_token - record.first_scheduled;
      sample.decode = record.last_token - record.first_token;
    }
    sample.prompt_tokens = record.prompt_tokens.value();
    sample.output_tokens = record.output_tokens.value();
    sample.cached_tokens = record.cached_tokens.value();
    samples_[script_.stage_of(record.id)].push_back(sample);
  }

  /// The samples of stages [first, last).
  [[nodiscard]] std::vector<Sample> of(const MeasuredRun::Part& part) const {
    std::vector<Sample> all;
    for (std::size_t i = part.first; i < part.last; ++i) {
      all.insert(all.end(), samples_[i].begin(), samples_[i].end());
    }
    return all;
  }

 private:
  const StagedSource& script_;
  std::vector<std::vector<Sample>> samples_;
  const Evidence& facts_;
};

void fill_figure(Figures& figures, Figure figure, std::vector<std::int64_t>& ticks) {
  if (ticks.empty()) {
    return;
  }
  statistics::Moments moments;
  for (const auto tick : ticks) {
    moments.add(tick);
  }
  figures.at(figure, Level::kMean) = moments.mean() / kPerMillisecond;
  for (std::size_t i = 1; i < kNumLevels; ++i) {
    figures.at(figure, static_cast<Level>(i)) =
        statistics::quantile(ticks, kLevelQuantiles[i]) / kPerMillisecond;
  }
}

/// Tokens that a client gets at once, after the first: those of a verification, or as many steps'
/// tokens as stream_interval waits for.
double tokens_at_once(const scenario::Deployment& deployment) {
  const engine::EngineOptions& options = deployment.engine;
  const double of_step = engine::expected_tokens(options, options.num_speculative_tokens);
  const double interval = core::real(deployment.section.engine.stream_interval);
  return of_step * std::ceil(interval / of_step);
}

/// `steady_state`: of all that was sent, until the last request was. Answers come `at_once` tokens
/// at a time.
Figures figures_of(const std::vector<Sample>& samples, bool steady_state, double at_once) {
  Figures figures;
  const auto fill = [&](Figure figure, std::optional<core::Duration> Sample::* time) {
    std::vector<std::int64_t> ticks;
    for (const auto& sample : samples) {
      if (sample.*time) {
        ticks.push_back((sample.*time)->count());
      }
    }
    fill_figure(figures, figure, ticks);
  };
  fill(Figure::kE2e, &Sample::e2e);
  fill(Figure::kTtft, &Sample::ttft);
  fill(Figure::kTpot, &Sample::tpot);
  std::int64_t tokens = 0;
  double gaps = 0.0;
  core::Int128 between = 0;  // Ticks: all requests together may outlast simulated time.
  core::SimTime first = core::SimTime::never();
  core::SimTime last;
  for (const auto& sample : samples) {
    if (steady_state) {
      last = std::max(last, sample.arrival);
    }
    if (!sample.completed) {
      tokens += steady_state ? sample.output_tokens : 0;
      continue;
    }
    tokens += sample.output_tokens;
    gaps += std::ceil(core::real(sample.output_tokens - 1) / at_once);
    between += (*sample.e2e - *sample.ttft).count();
    first = std::min(first, sample.arrival);
    if (!steady_state) {
      last = std::max(last, sample.arrival + *sample.e2e);
    }
  }
  if (gaps > 0.0) {
    figures.at(Figure::kItl, Level::kMean) = static_cast<double>(between) / kPerMillisecond / gaps;
  }
  if (tokens > 0 && last > first) {
    figures.at(Figure::kOutputThroughput, Level::kMean) =
        static_cast<double>(tokens) / (last - first).to_seconds();
  }
  return figures;
}

/// The server's own times, as vLLM's spans have them.
void add_server_times(const std::vector<Sample>& samples, Figures& figures) {
  using Time = std::pair<Figure, std::optional<core::Duration> Sample::*>;
  constexpr auto kTimes = std::to_array<Time>({{Figure::kServerE2e, &Sample::server_e2e},
                                               {Figure::kServerTtft, &Sample::server_ttft},
                                               {Figure::kQueue, &Sample::queue},
                                               {Figure::kPrefill, &Sample::prefill},
                                               {Figure::kDecode, &Sample::decode}});
  for (const auto& [figure, time] : kTimes) {
    std::vector<std::int64_t> ticks;
    for (const Sample& sample : samples) {
      if (sample.*time) {
        ticks.push_back((sample.*time)->count());
      }
    }
    fill_figure(figures, figure, ticks);
  }
  core::Int128 busy = 0;
  double tokens = 0.0;
  for (const Sample& sample : samples) {
    if (sample.prefill) {
      busy += sample.prefill->count() + sample.decode->count();
      tokens += core::real(sample.output_tokens);
    }
  }
  if (tokens > 0.0) {
    figures.at(Figure::kServerItl, Level::kMean) =
        static_cast<double>(busy) / kPerMillisecond / tokens;
  }
}

/// What the GPUs drew over the whole run; `rank` are those behind the throughput of `figures`.
void add_power(const metrics::PowerSummary& power, const model::Sharding& rank, Figures& figures) {
  figures.at(Figure::kPower, Level::kMean) = power.mean;
  if (const auto& rate = figures.at(Figure::kOutputThroughput, Level::kMean)) {
    figures.at(Figure::kEnergy, Level::kMean) =
        power.mean * static_cast<double>(rank.gpus_of_rank()) / *rate;
  }
}

Prediction predict_part(const std::vector<Sample>& samples, bool steady_state, double at_once) {
  Prediction prediction;
  prediction.figures = figures_of(samples, steady_state, at_once);
  double seconds = 0.0;
  double context = 0.0;
  double prompts = 0.0;
  double cached = 0.0;
  core::SimTime first = core::SimTime::never();
  core::SimTime last;
  for (const auto& sample : samples) {
    if (!sample.completed) {
      ++prediction.incomplete;
      continue;
    }
    ++prediction.completed;
    seconds += sample.e2e->to_seconds();
    context +=
        static_cast<double>(sample.prompt_tokens) + 0.5 * static_cast<double>(sample.output_tokens);
    prompts += static_cast<double>(sample.prompt_tokens);
    cached += static_cast<double>(sample.cached_tokens);
    first = std::min(first, sample.arrival);
    last = std::max(last, sample.arrival + *sample.e2e);
  }
  if (prediction.completed > 0 && last > first) {
    prediction.mean_in_flight = seconds / (last - first).to_seconds();
    prediction.mean_context = context / static_cast<double>(prediction.completed);
    prediction.cached_share = cached / prompts;
  }
  return prediction;
}

/// Over how many the load of a record is shared, of which one is simulated: instances, and their
/// data-parallel ranks, those of an attention in data parallel too. Of a fleet all are simulated.
std::int64_t sharers(const scenario::Resolved& resolved, const Evidence& evidence) {
  return evidence.fleet
             ? 1
             : resolved.deployment->execution.sharding.data_parallel_size * evidence.replicas;
}

/// Whether requests wait for answers to others.
bool is_closed(const Evidence& evidence) {
  return std::ranges::all_of(evidence.stages, [](const StageLoad& stage) {
    return stage.kind == StageLoad::Kind::kClosed || stage.kind == StageLoad::Kind::kAtOnce;
  });
}

/// Whether a rank's clients of a closed loop, all near the end of their answers, overfill its KV
/// cache.
bool overfills_cache(const scenario::Resolved& resolved, const Evidence& evidence) {
  double most = 0.0;
  for (const auto& stage : evidence.stages) {
    const scenario::RankShare share(sharers(resolved, evidence), {.clients = stage.concurrency});
    most = std::max(most, static_cast<double>(share.clients(stage.concurrency)));
  }
  const double room = static_cast<double>(resolved.deployment->engine.num_gpu_blocks.value()) *
                      static_cast<double>(resolved.deployment->engine.block_size.value());
  return most * (evidence.input.mean + evidence.output.mean) > room;
}

/// One history of a run's requests, and how many times those of its records the deployment has.
struct PlayedLoad {
  std::unique_ptr<StagedSource> source;
  std::vector<double> times;  ///< For each part.
};

PlayedLoad load_of(const MeasuredRun& run,
                   const Evidence& facts,
                   std::uint64_t seed,
                   std::int64_t sharers,
                   std::atomic<bool>* all_sent) {
  if (run.fleet_load) {
    return {.source = run.fleet_load->source(seed),
            .times = std::vector<double>(run.parts.size(), 1.0)};
  }
  if (run.stages.size() == 1 && run.stages.front().items != nullptr) {
    auto file = std::make_unique<FileLoad>(*run.stages.front().items, sharers);
    const double times = file->times_rank();
    return {.source = std::move(file), .times = std::vector<double>(run.parts.size(), times)};
  }
  auto script = std::make_unique<LoadScript>(run, facts, seed, sharers, all_sent);
  PlayedLoad load;
  for (const auto& part : run.parts) {
    load.times.push_back(script->times_rank(part));
  }
  load.source = std::move(script);
  return load;
}

/// The throughput of several stages of a fleet is the mean of theirs, as llm-d's summaries have it.
void average_throughput(const StageSamples& samples,
                        const MeasuredRun::Part& part,
                        Figures& figures) {
  double sum = 0.0;
  for (std::size_t i = part.first; i < part.last; ++i) {
    const Figures stage =
        figures_of(samples.of({.evidence = part.evidence, .first = i, .last = i + 1}), false, 1.0);
    sum += stage.at(Figure::kOutputThroughput, Level::kMean).value_or(0.0);
  }
  figures.at(Figure::kOutputThroughput, Level::kMean) =
      sum / static_cast<double>(part.last - part.first);
}

/// What is known of a fleet besides its requests' times.
void add_fleet_figures(const Evidence& evidence,
                       const metrics::Summary& summary,
                       Figures& figures) {
  if (auto& gap = figures.at(Figure::kItl, Level::kMean)) {
    *gap /= evidence.stamps_per_token;
  }
  if (summary.fleet && summary.fleet->transfers) {
    double ms = 0.0;
    for (std::size_t i = 0; i < metrics::kTtftParts.size(); ++i) {
      const bool counts = metrics::kTtftParts[i] == "setup" || metrics::kTtftParts[i] == "transfer";
      ms += counts ? summary.fleet->transfers->ttft_parts_ms[i].value_or(0.0) : 0.0;
    }
    figures.at(Figure::kKvTransfer, Level::kMean) = ms;
  }
}

bool has_code(const core::Warnings& warnings, std::string_view code) {
  return std::ranges::find(warnings, code, &core::Warning::code) != warnings.end();
}

/// One history of a run: the predictions of its parts.
std::vector<PartPrediction> play(const scenario::Resolved& resolved,
                                 const MeasuredRun& run,
                                 const std::vector<Evidence>& evidence,
                                 std::uint64_t seed) {
  const Evidence& facts = evidence[run.parts.front().evidence];
  std::atomic<bool> all_sent = false;
  const PlayedLoad load =
      load_of(run, facts, seed, sharers(resolved, facts), facts.steady_state ? &all_sent : nullptr);
  StageSamples samples(*load.source, run.num_stages(), facts);
  sim::RunControls controls;
  controls.interrupt = &all_sent;
  controls.listener = &samples;
  const auto outcome = sim::simulate(resolved, *load.source, controls);
  std::vector<PartPrediction> parts;
  for (std::size_t number = 0; number < run.parts.size(); ++number) {
    const auto& part = run.parts[number];
    PartPrediction result;
    if (!outcome) {
      result.problem = core::to_string(outcome.error().front());
    } else {
      result.prediction =
          predict_part(samples.of(part), facts.steady_state, tokens_at_once(*resolved.deployment));
      const Evidence& record = evidence[part.evidence];
      if (record.itl_of_server || record.measured.at(Figure::kServerE2e, Level::kMean)) {
        add_server_times(samples.of(part), result.prediction->figures);
      }
      if (record.itl_of_server) {
        result.prediction->figures.at(Figure::kItl, Level::kMean) =
            result.prediction->figures.at(Figure::kServerItl, Level::kMean);
      }
      const bool whole = part.first == 0 && part.last == run.num_stages() && !facts.fleet;
      if (const auto& power = outcome->summary.power; power && whole) {
        add_power(*power, resolved.deployment->execution.sharding, result.prediction->figures);
      }
      // What was measured is the whole deployment's.
      result.prediction->ranks = load.times[number];
      if (auto& rate = result.prediction->figures.at(Figure::kOutputThroughput, Level::kMean)) {
        *rate *= result.prediction->ranks;
      }
      add_fleet_figures(evidence[part.evidence], outcome->summary, result.prediction->figures);
      if (run.fleet_load) {
        average_throughput(samples, part, result.prediction->figures);
      }
      result.prediction->preemptions = outcome->summary.preemptions;
      result.prediction->front_end_bound = has_code(outcome->warnings, sim::kFrontEndBound);
      result.prediction->front_end_near = has_code(outcome->warnings, sim::kFrontEndNear);
      result.prediction->bound = !scenario::why_bound(resolved).empty();
      result.prediction->overloaded = outcome->summary.overload.has_value();
      result.prediction->likeness =
          scenario::accuracy_question(*resolved.deployment, is_closed(evidence[part.evidence]));
      result.prediction->kv_limited = overfills_cache(resolved, evidence[part.evidence]);
      if (result.prediction->completed == 0) {
        result = {.prediction = std::nullopt,
                  .problem =
                      "no request completes: prompts are longer than max_model_len or the "
                      "KV cache"};
      }
    }
    parts.push_back(std::move(result));
  }
  return parts;
}

/// Folds a further history into the mean; `before` histories are in it.
void fold(Figures& mean, const Figures& next, double before) {
  for (std::size_t i = 0; i < kNumFigures; ++i) {
    for (std::size_t j = 0; j < kNumLevels; ++j) {
      auto& value = mean.values[i][j];
      const auto& further = next.values[i][j];
      if (value && further) {
        *value += (*further - *value) / (before + 1.0);
      } else {
        value = std::nullopt;
      }
    }
  }
}

template <class Pick>
void widen(Figures& bound, const Figures& next, Pick pick) {
  for (std::size_t i = 0; i < kNumFigures; ++i) {
    for (std::size_t j = 0; j < kNumLevels; ++j) {
      auto& value = bound.values[i][j];
      const auto& further = next.values[i][j];
      value = value && further ? std::optional(pick(*value, *further)) : std::nullopt;
    }
  }
}

PartPrediction merge(const std::vector<std::vector<PartPrediction>>& histories, std::size_t part) {
  PartPrediction merged = histories.front()[part];
  if (!merged.prediction) {
    return merged;
  }
  Prediction& prediction = *merged.prediction;
  prediction.lowest = prediction.figures;
  prediction.highest = prediction.figures;
  for (std::size_t i = 1; i < histories.size(); ++i) {
    const auto& next = histories[i][part];
    if (!next.prediction) {
      return next;
    }
    const Figures& figures = next.prediction->figures;
    fold(prediction.figures, figures, static_cast<double>(i));
    widen(prediction.lowest, figures, [](double a, double b) { return std::min(a, b); });
    widen(prediction.highest, figures, [](double a, double b) { return std::max(a, b); });
  }
  return merged;
}

/// Notes about the model's kernel tables.
core::Warnings table_notes(const latency::StepTimeModel& model) {
  core::Warnings notes = model.notes();
  std::erase_if(notes, [](const core::Warning& note) {
    return note.code != "W-made-tables" && note.code != "W-table-contradiction";
  });
  return notes;
}

}  // namespace

std::string first_line(const core::Errors& errors) {
  const auto& error = errors.front();
  return error.field.empty() ? error.message : fmt::format("{}: {}", error.field, error.message);
}

std::vector<PartPrediction> predict(std::vector<Evidence>& evidence,
                                    const std::vector<MeasuredRun>& runs,
                                    const PredictOptions& options) {
  std::vector<PartPrediction> results(evidence.size());
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    results[i].problem = evidence[i].problem.empty() ? evidence[i].refusal : evidence[i].problem;
    if (evidence[i].is_start && results[i].problem.empty()) {
      results[i] = predict_start(evidence[i], options.overrides);
    }
  }
  // Servers first: each notes what it assumes in its own records.
  std::vector<std::optional<scenario::Resolved>> servers(runs.size());
  core::for_each_job(runs.size(), options.threads, [&](std::size_t i) {
    if (options.is_interrupted()) {
      return;
    }
    for (const auto& part : runs[i].parts) {
      auto server = deploy(evidence[part.evidence], options.overrides);
      if (server) {
        servers[i] = std::move(*server);
        servers[i]->run.percentiles = "sketch";  // Percentiles of the summary are not read.
      } else {
        evidence[part.evidence].problem = first_line(server.error());
        results[part.evidence].problem = evidence[part.evidence].problem;
      }
    }
  });
  // Then every history of every run, each by whichever thread is free; each has its own place.
  const auto histories = static_cast<std::size_t>(options.histories);
  std::vector<std::vector<std::vector<PartPrediction>>> played(
      runs.size(), std::vector<std::vector<PartPrediction>>(histories));
  core::for_each_job(runs.size() * histories, options.threads, [&](std::size_t job) {
    const std::size_t run = job / histories;
    if (servers[run] && !options.is_interrupted()) {
      played[run][job % histories] =
          play(*servers[run], runs[run], evidence, options.seed + job % histories);
    }
  });
  const auto is_played = [](const auto& parts) { return !parts.empty(); };
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const bool is_whole = servers[i] && std::ranges::all_of(played[i], is_played);
    for (std::size_t j = 0; j < runs[i].parts.size(); ++j) {
      const std::size_t record = runs[i].parts[j].evidence;
      if (!results[record].problem.empty()) {
        continue;
      }
      if (!is_whole) {  // Nothing else leaves a history out.
        results[record].problem = "interrupted before it was predicted";
      } else {
        results[record] = merge(played[i], j);
        results[record].notes = table_notes(*servers[i]->deployment->latency);
      }
    }
  }
  return results;
}

}  // namespace ridgeline::evidence::validate
