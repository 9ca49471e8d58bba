#include "serve/server_metrics.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "openai/api_version.hpp"
#include "serve/exposition.hpp"

namespace ridgeline::serve {
namespace {

using openai::ApiVersion;

// When vLLM's metrics changed (v1/metrics/loggers.py at its tags).
constexpr ApiVersion kNewCacheNames{.minor = 9, .patch = 2};
constexpr ApiVersion kInterTokenName{.minor = 11, .patch = 0};
constexpr ApiVersion kOldNamesHidden{.minor = 11, .patch = 0};  // By 2025-10-01.
constexpr ApiVersion kOldTpotGone{.minor = 15, .patch = 0};     // By 2026-01-27.
constexpr ApiVersion kSleepState{.minor = 13, .patch = 0};
constexpr ApiVersion kTokensBySource{.minor = 18, .patch = 0};
constexpr ApiVersion kWaitingByReason{.minor = 20, .patch = 0};
constexpr ApiVersion kPreemptionsOfRequest{.minor = 30, .patch = 0};
constexpr ApiVersion kAdmissionRejections{.minor = 32, .patch = 0};

std::vector<double> first_token_bounds() {
  return {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,  0.25,  0.5,   0.75,
          1.0,   2.5,   5.0,  7.5,  10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0};
}
std::vector<double> token_bounds() {
  return {0.01,
          0.025,
          0.05,
          0.075,
          0.1,
          0.15,
          0.2,
          0.3,
          0.4,
          0.5,
          0.75,
          1.0,
          2.5,
          5.0,
          7.5,
          10.0,
          20.0,
          40.0,
          80.0};
}
std::vector<double> request_bounds() {
  return {0.3,  0.5,  0.8,  1.0,  1.5,   2.0,   2.5,   5.0,   10.0,   15.0,  20.0,
          30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0};
}
std::vector<double> iteration_bounds() {
  return {1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
}
std::vector<double> lateness_bounds() {
  return {0.00005,
          0.0001,
          0.0002,
          0.0005,
          0.001,
          0.0015,
          0.002,
          0.003,
          0.005,
          0.0075,
          0.01,
          0.02,
          0.05,
          0.1,
          0.2,
          0.5,
          1.0};
}
/// 1, 2 and 5 times the powers of ten up to the longest context (vLLM's build_1_2_5_buckets).
std::vector<double> length_bounds(std::int64_t longest) {
  std::vector<double> bounds;
  for (std::int64_t power = 1;; power *= 10) {
    for (const std::int64_t digit : {1, 2, 5}) {
      if (digit * power > longest) {
        return bounds;
      }
      bounds.push_back(static_cast<double>(digit * power));
    }
  }
}

double real(std::int64_t count) {
  return static_cast<double>(count);
}

}  // namespace

EngineMetrics::EngineMetrics(std::int64_t max_model_len)
    : ttft(first_token_bounds()),
      inter_token(token_bounds()),
      per_output_token(token_bounds()),
      e2e(request_bounds()),
      queue(request_bounds()),
      inference(request_bounds()),
      prefill(request_bounds()),
      decode(request_bounds()),
      prompt_lengths(length_bounds(max_model_len)),
      generation_lengths(length_bounds(max_model_len)),
      most_generation(length_bounds(max_model_len)),
      params_n({1, 2, 5, 10, 20}),
      params_max_tokens(length_bounds(max_model_len)),
      computed(length_bounds(max_model_len)),
      iteration_tokens(iteration_bounds()),
      preemptions({1, 2, 3, 4, 5, 10, 20}) {}

void EngineMetrics::on_first_token(double time, std::int64_t prompt_length) {
  ttft.observe(time);
  prompt_tokens += prompt_length;
}

void EngineMetrics::on_end(Finished how,
                           const RequestTimes* times,
                           std::int64_t prompt_length,
                           std::int64_t generation_length,
                           std::int64_t cached_length,
                           std::int64_t max_tokens,
                           std::int64_t n,
                           std::int64_t num_preemptions) {
  ++finished[static_cast<std::size_t>(how)];
  cached_tokens += cached_length;
  prompt_lengths.observe(real(prompt_length));
  generation_lengths.observe(real(generation_length));
  most_generation.observe(real(generation_length));
  params_n.observe(real(n));
  preemptions.observe(real(num_preemptions));
  params_max_tokens.observe(real(max_tokens));
  computed.observe(real(prompt_length - cached_length));
  if (times == nullptr) {
    return;
  }
  e2e.observe(times->e2e);
  queue.observe(times->queue);
  prefill.observe(times->prefill);
  decode.observe(times->decode);
  inference.observe(times->inference);
  per_output_token.observe(generation_length > 1 ? times->decode / real(generation_length - 1)
                                                 : 0.0);
}

ServerMetrics::ServerMetrics(MetricsFacts facts)
    : facts_(std::move(facts)),
      engines_(static_cast<std::size_t>(facts_.engines), EngineMetrics(facts_.max_model_len)),
      lateness_(lateness_bounds()),
      injection_lag_(lateness_bounds()) {}

std::string ServerMetrics::page(Now now) const {
  now.engines.resize(engines_.size());
  Exposition page(facts_.created);
  add_gauges(page, now);
  add_counters(page, now);
  add_histograms(page);
  add_own(page, now);
  return page.text();
}

LabelList ServerMetrics::labels_of(std::size_t engine) const {
  return {{"engine", fmt::format("{}", engine)}, {"model_name", facts_.model_name}};
}

template <class Value>
ServerMetrics::Samples ServerMetrics::samples(const Value& value) const {
  Samples all;
  for (std::size_t i = 0; i < engines_.size(); ++i) {
    all.emplace_back(labels_of(i), value(i));
  }
  return all;
}

template <class Value>
ServerMetrics::Samples ServerMetrics::samples(std::string_view label,
                                              std::span<const std::string_view> values,
                                              const Value& value) const {
  Samples all;
  for (std::size_t i = 0; i < engines_.size(); ++i) {
    for (std::size_t k = 0; k < values.size(); ++k) {
      LabelList labels = labels_of(i);
      labels.emplace_back(label, values[k]);
      std::ranges::sort(labels);
      all.emplace_back(std::move(labels), value(i, k));
    }
  }
  return all;
}

void ServerMetrics::add_gauges(Exposition& page, const Now& now) const {
  const ApiVersion version = facts_.version;
  const auto waiting = [&](std::size_t i) { return real(now.engines[i].state.waiting); };
  page.gauges("vllm:num_requests_running",
              "Number of requests in model execution batches.",
              samples([&](std::size_t i) { return real(now.engines[i].state.running); }));
  page.gauges(
      "vllm:num_requests_waiting", "Number of requests waiting to be processed.", samples(waiting));
  if (version >= kWaitingByReason) {
    constexpr std::array<std::string_view, 2> kReasons = {"capacity", "deferred"};
    page.gauges("vllm:num_requests_waiting_by_reason",
                "Number of requests waiting to be processed, by reason.",
                samples("reason", kReasons, [&](std::size_t i, std::size_t reason) {
                  return reason == 0 ? waiting(i) : 0.0;
                }));
  }
  if (version >= kSleepState) {
    constexpr std::array<std::string_view, 3> kStates = {
        "awake", "weights_offloaded", "discard_all"};
    page.gauges("vllm:engine_sleep_state",
                "Engine sleep state; awake = 0 means engine is sleeping; awake = 1 means engine "
                "is awake; weights_offloaded = 1 means sleep level 1; discard_all = 1 means sleep "
                "level 2.",
                samples("sleep_state", kStates, [&](std::size_t /*engine*/, std::size_t level) {
                  return now.sleep_level == static_cast<int>(level) ? 1.0 : 0.0;
                }));
  }
  if (version < kNewCacheNames) {
    page.gauges("vllm:num_requests_swapped",
                "Number of requests swapped to CPU.",
                samples([](std::size_t /*engine*/) { return 0.0; }));
  }
  add_cache_gauges(page, now);
}

void ServerMetrics::add_cache_gauges(Exposition& page, const Now& now) const {
  const ApiVersion version = facts_.version;
  const Samples usage = samples([&](std::size_t i) {
    return facts_.kv_blocks > 0
               ? real(now.engines[i].state.used_blocks.value()) / real(facts_.kv_blocks)
               : 0.0;
  });
  if (version < kOldNamesHidden) {
    page.gauges(
        "vllm:gpu_cache_usage_perc", "GPU KV-cache usage. 1 means 100 percent usage.", usage);
  }
  if (version >= kNewCacheNames) {
    page.gauges("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", usage);
  }
  Samples configs;
  for (std::size_t i = 0; i < engines_.size(); ++i) {
    LabelList labels = facts_.cache_config;
    labels.emplace_back("engine", fmt::format("{}", i));
    std::ranges::sort(labels);
    configs.emplace_back(std::move(labels), 1.0);
  }
  page.gauges("vllm:cache_config_info", "Information of the LLMEngine CacheConfig", configs);
  if (now.adapters.max_loras > 0) {
    page.gauge("vllm:lora_requests_info",
               "Running stats on lora requests.",
               {{"max_lora", fmt::format("{}", now.adapters.max_loras)},
                {"running_lora_adapters", now.adapters.running},
                {"waiting_lora_adapters", now.adapters.waiting}},
               now.unix_seconds);
  }
}

void ServerMetrics::add_counters(Exposition& page, const Now& now) const {
  const ApiVersion version = facts_.version;
  const auto cache = [&](std::string_view prefix, std::string_view what) {
    page.counters(
        fmt::format("vllm:{}prefix_cache_queries", prefix),
        fmt::format("{}, in terms of number of queried tokens.", what),
        samples([&](std::size_t i) { return real(now.engines[i].totals.prefix_queries.value()); }));
    page.counters(
        fmt::format("vllm:{}prefix_cache_hits", prefix),
        fmt::format("{}, in terms of number of cached tokens.", what),
        samples([&](std::size_t i) { return real(now.engines[i].totals.prefix_hits.value()); }));
  };
  if (version < kOldNamesHidden) {
    cache("gpu_", "GPU prefix cache");
  }
  if (version >= kNewCacheNames) {
    cache("", "Prefix cache");
  }
  if (version >= kSleepState) {
    for (const std::string_view name : {"external_prefix_cache", "mm_cache"}) {
      const Samples none = samples([](std::size_t /*engine*/) { return 0.0; });
      page.counters(fmt::format("vllm:{}_queries", name), "Queries of that cache.", none);
      page.counters(fmt::format("vllm:{}_hits", name), "Hits of that cache.", none);
    }
  }
  page.counters("vllm:num_preemptions",
                "Cumulative number of preemption from the engine.",
                samples([&](std::size_t i) { return real(now.engines[i].totals.preemptions); }));
  page.counters("vllm:prompt_tokens",
                "Number of prefill tokens processed.",
                samples([&](std::size_t i) { return real(engines_[i].prompt_tokens); }));
  if (version >= kTokensBySource) {
    constexpr std::array<std::string_view, 3> kSources = {
        "local_compute", "local_cache_hit", "external_kv_transfer"};
    page.counters("vllm:prompt_tokens_by_source",
                  "Number of prompt tokens by source.",
                  samples("source", kSources, [&](std::size_t i, std::size_t source) {
                    const EngineMetrics& engine = engines_[i];
                    const std::int64_t computed =
                        std::max<std::int64_t>(engine.prompt_tokens - engine.cached_tokens, 0);
                    return source == 0 ? real(computed)
                                       : real(source == 1 ? engine.cached_tokens : 0);
                  }));
    page.counters("vllm:prompt_tokens_cached",
                  "Number of cached prompt tokens.",
                  samples([&](std::size_t i) { return real(engines_[i].cached_tokens); }));
  }
  add_sources(page, now);
  page.counters("vllm:generation_tokens",
                "Number of generation tokens processed.",
                samples([&](std::size_t i) { return real(engines_[i].generation_tokens); }));
  constexpr std::array<std::string_view, kNumFinished> kReasons = {
      "stop", "length", "abort", "error"};
  page.counters("vllm:request_success",
                "Count of successfully processed requests.",
                samples("finished_reason", kReasons, [&](std::size_t i, std::size_t reason) {
                  return real(engines_[i].finished[reason]);
                }));
}

/// Where cached tokens came from, and what a queue limit has turned away: there is none.
void ServerMetrics::add_sources(Exposition& page, const Now& now) const {
  if (facts_.version < kAdmissionRejections) {
    return;
  }
  constexpr std::array<std::string_view, 5> kSources = {
      "device", "host", "p2p", "disk", "external_unspecified"};
  page.counters("vllm:prompt_tokens_cached_by_source",
                "Prefix-cache hit tokens by the cache tier that supplied them.",
                samples("source", kSources, [&](std::size_t i, std::size_t source) {
                  return source == 0 ? real(now.engines[i].totals.prefix_hits.value()) : 0.0;
                }));
  Samples rejections;
  for (const std::string_view reason : {"max_num_queued_reqs", "max_num_queued_tokens"}) {
    rejections.emplace_back(
        LabelList{{"model_name", facts_.model_name}, {"reason", std::string(reason)}}, 0.0);
  }
  page.counters("vllm:admission_rejections",
                "Number of admission attempts rejected by a queue limit, by reason.",
                rejections);
}

auto ServerMetrics::adder(Exposition& page) const {
  return [this, &page](
             std::string_view name, std::string_view help, Histogram EngineMetrics::* histogram) {
    std::vector<std::pair<LabelList, const Histogram*>> all;
    for (std::size_t i = 0; i < engines_.size(); ++i) {
      all.emplace_back(labels_of(i), &(engines_[i].*histogram));
    }
    page.histograms(name, help, all);
  };
}

void ServerMetrics::add_histograms(Exposition& page) const {
  const ApiVersion version = facts_.version;
  const auto add = adder(page);
  add("vllm:request_prompt_tokens",
      "Number of prefill tokens processed.",
      &EngineMetrics::prompt_lengths);
  add("vllm:request_generation_tokens",
      "Number of generation tokens processed.",
      &EngineMetrics::generation_lengths);
  add("vllm:iteration_tokens_total",
      "Histogram of number of tokens per engine_step.",
      &EngineMetrics::iteration_tokens);
  add("vllm:request_max_num_generation_tokens",
      "Histogram of maximum number of requested generation tokens.",
      &EngineMetrics::most_generation);
  add("vllm:request_params_n", "Histogram of the n request parameter.", &EngineMetrics::params_n);
  add("vllm:request_params_max_tokens",
      "Histogram of the max_tokens request parameter.",
      &EngineMetrics::params_max_tokens);
  add("vllm:time_to_first_token_seconds",
      "Histogram of time to first token in seconds.",
      &EngineMetrics::ttft);
  if (version < kOldTpotGone) {
    add("vllm:time_per_output_token_seconds",
        "Histogram of time per output token in seconds.",
        &EngineMetrics::inter_token);
  }
  if (version >= kInterTokenName) {
    add("vllm:inter_token_latency_seconds",
        "Histogram of inter-token latency in seconds.",
        &EngineMetrics::inter_token);
    add("vllm:request_time_per_output_token_seconds",
        "Histogram of time_per_output_token_seconds per request.",
        &EngineMetrics::per_output_token);
  }
  add_phases(page);
  if (version >= kSleepState) {
    add("vllm:request_prefill_kv_computed_tokens",
        "Histogram of new KV tokens computed during prefill (excluding cached tokens).",
        &EngineMetrics::computed);
  }
  if (version >= kPreemptionsOfRequest) {
    add("vllm:request_num_preemptions",
        "Histogram of the number of times a request was preempted.",
        &EngineMetrics::preemptions);
  }
}

/// What the time of a request was spent on.
void ServerMetrics::add_phases(Exposition& page) const {
  const auto add = adder(page);
  add("vllm:e2e_request_latency_seconds",
      "Histogram of e2e request latency in seconds.",
      &EngineMetrics::e2e);
  add("vllm:request_queue_time_seconds",
      "Histogram of time spent in WAITING phase for request.",
      &EngineMetrics::queue);
  add("vllm:request_inference_time_seconds",
      "Histogram of time spent in RUNNING phase for request.",
      &EngineMetrics::inference);
  add("vllm:request_prefill_time_seconds",
      "Histogram of time spent in PREFILL phase for request.",
      &EngineMetrics::prefill);
  add("vllm:request_decode_time_seconds",
      "Histogram of time spent in DECODE phase for request.",
      &EngineMetrics::decode);
}

void ServerMetrics::add_own(Exposition& page, const Now& now) const {
  page.histogram("ridgeline:emission_lateness_seconds",
                 "How long after they were due the tokens of a step were written.",
                 {},
                 lateness_);
  page.histogram("ridgeline:injection_lag_seconds",
                 "From the reading of a request to its time of arrival in the simulation.",
                 {},
                 injection_lag_);
  page.counter(
      "ridgeline:simulated_seconds", "Simulated time since the start.", {}, now.simulated_seconds);
  page.gauge("ridgeline:speed", "Simulated seconds in a second.", {}, facts_.speed);
  page.gauge("ridgeline:open_connections", "Open connections.", {}, real(now.open_connections));
  page.gauge("ridgeline:open_streams", "Answers under way.", {}, real(now.open_streams));
  if (now.is_log_whole) {
    page.gauge("ridgeline:arrival_log_whole",
               "1 while every request is in the arrival log, 0 once it could not be written.",
               {},
               *now.is_log_whole ? 1.0 : 0.0);
  }
  page.counter("ridgeline:merged_events",
               "Events that hold the tokens of several steps, as their reader was slow.",
               {},
               real(merged_events_));
  std::vector<std::pair<LabelList, double>> by_code;
  for (const auto& [code, count] : responses_) {
    by_code.push_back({{{"code", fmt::format("{}", code)}}, real(count)});
  }
  page.counters("ridgeline:responses", "Answers by status.", by_code);
  std::vector<std::pair<LabelList, double>> by_kind;
  for (const auto& [kind, count] : faults_) {
    by_kind.push_back({{{"kind", kind}}, real(count)});
  }
  page.counters("ridgeline:faults", "Faults that were injected.", by_kind);
  page.counter("ridgeline:estimated_prompts",
               "Requests whose prompts had text of which the tokens were estimated.",
               {},
               real(estimated_prompts_));
}

}  // namespace ridgeline::serve
