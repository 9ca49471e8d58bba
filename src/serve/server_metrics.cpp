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

ServerMetrics::ServerMetrics(MetricsFacts facts)
    : facts_(std::move(facts)),
      labels_({{"engine", "0"}, {"model_name", facts_.model_name}}),
      ttft_(first_token_bounds()),
      inter_token_(token_bounds()),
      per_output_token_(token_bounds()),
      e2e_(request_bounds()),
      queue_(request_bounds()),
      inference_(request_bounds()),
      prefill_(request_bounds()),
      decode_(request_bounds()),
      prompt_lengths_(length_bounds(facts_.max_model_len)),
      generation_lengths_(length_bounds(facts_.max_model_len)),
      most_generation_(length_bounds(facts_.max_model_len)),
      params_n_({1, 2, 5, 10, 20}),
      params_max_tokens_(length_bounds(facts_.max_model_len)),
      computed_(length_bounds(facts_.max_model_len)),
      iteration_tokens_(iteration_bounds()),
      lateness_(lateness_bounds()),
      injection_lag_(lateness_bounds()) {}

void ServerMetrics::on_first_token(double ttft, std::int64_t prompt_tokens) {
  ttft_.observe(ttft);
  prompt_tokens_ += prompt_tokens;
}

void ServerMetrics::on_end(Finished how,
                           const RequestTimes* times,
                           std::int64_t prompt_tokens,
                           std::int64_t generation_tokens,
                           std::int64_t cached_tokens,
                           std::int64_t max_tokens,
                           std::int64_t n) {
  ++finished_[static_cast<std::size_t>(how)];
  cached_tokens_ += cached_tokens;
  prompt_lengths_.observe(real(prompt_tokens));
  generation_lengths_.observe(real(generation_tokens));
  most_generation_.observe(real(generation_tokens));
  params_n_.observe(real(n));
  params_max_tokens_.observe(real(max_tokens));
  computed_.observe(real(prompt_tokens - cached_tokens));
  if (times == nullptr) {
    return;
  }
  e2e_.observe(times->e2e);
  queue_.observe(times->queue);
  prefill_.observe(times->prefill);
  decode_.observe(times->decode);
  inference_.observe(times->inference);
  per_output_token_.observe(generation_tokens > 1 ? times->decode / real(generation_tokens - 1)
                                                  : 0.0);
}

std::string ServerMetrics::page(const Now& now) const {
  Exposition page(facts_.created);
  add_gauges(page, now);
  add_counters(page, now);
  add_histograms(page);
  add_own(page, now);
  return page.text();
}

LabelList ServerMetrics::with(std::string_view label, std::string_view value) const {
  LabelList labels = labels_;
  labels.emplace_back(label, value);
  std::ranges::sort(labels);
  return labels;
}

void ServerMetrics::add_gauges(Exposition& page, const Now& now) const {
  const ApiVersion version = facts_.version;
  page.gauge("vllm:num_requests_running",
             "Number of requests in model execution batches.",
             labels_,
             real(now.state.running));
  page.gauge("vllm:num_requests_waiting",
             "Number of requests waiting to be processed.",
             labels_,
             real(now.state.waiting));
  if (version >= kWaitingByReason) {
    page.gauges(
        "vllm:num_requests_waiting_by_reason",
        "Number of requests waiting to be processed, by reason.",
        {{with("reason", "capacity"), real(now.state.waiting)}, {with("reason", "deferred"), 0.0}});
  }
  if (version >= kSleepState) {
    page.gauges("vllm:engine_sleep_state",
                "Engine sleep state; awake = 0 means engine is sleeping; awake = 1 means engine "
                "is awake; weights_offloaded = 1 means sleep level 1; discard_all = 1 means sleep "
                "level 2.",
                {{with("sleep_state", "awake"), now.sleep_level == 0 ? 1.0 : 0.0},
                 {with("sleep_state", "weights_offloaded"), now.sleep_level == 1 ? 1.0 : 0.0},
                 {with("sleep_state", "discard_all"), now.sleep_level == 2 ? 1.0 : 0.0}});
  }
  if (version < kNewCacheNames) {
    page.gauge("vllm:num_requests_swapped", "Number of requests swapped to CPU.", labels_, 0.0);
  }
  add_cache_gauges(page, now);
}

void ServerMetrics::add_cache_gauges(Exposition& page, const Now& now) const {
  const ApiVersion version = facts_.version;
  const double usage =
      facts_.kv_blocks > 0 ? real(now.state.used_blocks.value()) / real(facts_.kv_blocks) : 0.0;
  if (version < kOldNamesHidden) {
    page.gauge("vllm:gpu_cache_usage_perc",
               "GPU KV-cache usage. 1 means 100 percent usage.",
               labels_,
               usage);
  }
  if (version >= kNewCacheNames) {
    page.gauge(
        "vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", labels_, usage);
  }
  page.gauge("vllm:cache_config_info",
             "Information of the LLMEngine CacheConfig",
             facts_.cache_config,
             1.0);
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
    page.counter(fmt::format("vllm:{}prefix_cache_queries", prefix),
                 fmt::format("{}, in terms of number of queried tokens.", what),
                 labels_,
                 real(now.totals.prefix_queries.value()));
    page.counter(fmt::format("vllm:{}prefix_cache_hits", prefix),
                 fmt::format("{}, in terms of number of cached tokens.", what),
                 labels_,
                 real(now.totals.prefix_hits.value()));
  };
  if (version < kOldNamesHidden) {
    cache("gpu_", "GPU prefix cache");
  }
  if (version >= kNewCacheNames) {
    cache("", "Prefix cache");
  }
  if (version >= kSleepState) {
    for (const std::string_view name : {"external_prefix_cache", "mm_cache"}) {
      page.counter(fmt::format("vllm:{}_queries", name), "Queries of that cache.", labels_, 0.0);
      page.counter(fmt::format("vllm:{}_hits", name), "Hits of that cache.", labels_, 0.0);
    }
  }
  page.counter("vllm:num_preemptions",
               "Cumulative number of preemption from the engine.",
               labels_,
               real(now.totals.preemptions));
  page.counter(
      "vllm:prompt_tokens", "Number of prefill tokens processed.", labels_, real(prompt_tokens_));
  if (version >= kTokensBySource) {
    page.counters(
        "vllm:prompt_tokens_by_source",
        "Number of prompt tokens by source.",
        {{with("source", "local_compute"), std::max(real(prompt_tokens_ - cached_tokens_), 0.0)},
         {with("source", "local_cache_hit"), real(cached_tokens_)},
         {with("source", "external_kv_transfer"), 0.0}});
    page.counter("vllm:prompt_tokens_cached",
                 "Number of cached prompt tokens.",
                 labels_,
                 real(cached_tokens_));
  }
  page.counter("vllm:generation_tokens",
               "Number of generation tokens processed.",
               labels_,
               real(generation_tokens_));
  std::vector<std::pair<LabelList, double>> by_reason;
  constexpr std::array<std::string_view, kNumFinished> kReasons = {
      "stop", "length", "abort", "error"};
  for (std::size_t i = 0; i < kNumFinished; ++i) {
    by_reason.emplace_back(with("finished_reason", kReasons[i]), real(finished_[i]));
  }
  page.counters("vllm:request_success", "Count of successfully processed requests.", by_reason);
}

void ServerMetrics::add_histograms(Exposition& page) const {
  const ApiVersion version = facts_.version;
  const auto add = [&](std::string_view name, std::string_view help, const Histogram& histogram) {
    page.histogram(name, help, labels_, histogram);
  };
  add("vllm:request_prompt_tokens", "Number of prefill tokens processed.", prompt_lengths_);
  add("vllm:request_generation_tokens",
      "Number of generation tokens processed.",
      generation_lengths_);
  add("vllm:iteration_tokens_total",
      "Histogram of number of tokens per engine_step.",
      iteration_tokens_);
  add("vllm:request_max_num_generation_tokens",
      "Histogram of maximum number of requested generation tokens.",
      most_generation_);
  add("vllm:request_params_n", "Histogram of the n request parameter.", params_n_);
  add("vllm:request_params_max_tokens",
      "Histogram of the max_tokens request parameter.",
      params_max_tokens_);
  add("vllm:time_to_first_token_seconds", "Histogram of time to first token in seconds.", ttft_);
  if (version < kOldTpotGone) {
    add("vllm:time_per_output_token_seconds",
        "Histogram of time per output token in seconds.",
        inter_token_);
  }
  if (version >= kInterTokenName) {
    add("vllm:inter_token_latency_seconds",
        "Histogram of inter-token latency in seconds.",
        inter_token_);
    add("vllm:request_time_per_output_token_seconds",
        "Histogram of time_per_output_token_seconds per request.",
        per_output_token_);
  }
  add("vllm:e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", e2e_);
  add("vllm:request_queue_time_seconds",
      "Histogram of time spent in WAITING phase for request.",
      queue_);
  add("vllm:request_inference_time_seconds",
      "Histogram of time spent in RUNNING phase for request.",
      inference_);
  add("vllm:request_prefill_time_seconds",
      "Histogram of time spent in PREFILL phase for request.",
      prefill_);
  add("vllm:request_decode_time_seconds",
      "Histogram of time spent in DECODE phase for request.",
      decode_);
  if (version >= kSleepState) {
    add("vllm:request_prefill_kv_computed_tokens",
        "Histogram of new KV tokens computed during prefill (excluding cached tokens).",
        computed_);
  }
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
