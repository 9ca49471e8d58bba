#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/server.hpp"
#include "openai/api_version.hpp"
#include "serve/exposition.hpp"

namespace ridgeline::serve {

/// How a request ended, as vLLM counts it.
enum class Finished : std::uint8_t { kStop, kLength, kAbort, kError };
inline constexpr std::size_t kNumFinished = 4;

/// What the page says of the deployment besides its counts.
struct MetricsFacts {
  std::string model_name;
  openai::ApiVersion version;
  double created = 0.0;  ///< Seconds since 1970.
  std::int64_t max_model_len = 0;
  std::int64_t kv_blocks = 0;   ///< For tokens, of all instances together.
  LabelList cache_config = {};  ///< Sorted.
  double speed = 1.0;
};

/// The adapters of a server.
struct AdapterGauges {
  std::int64_t max_loras = 0;  ///< 0: adapters are not served.
  std::string waiting = {};
  std::string running = {};
};

/// What one request adds when it has ended. Times in simulated seconds.
struct RequestTimes {
  double e2e = 0.0;
  double queue = 0.0;
  double prefill = 0.0;
  double decode = 0.0;
  double inference = 0.0;
};

/// vLLM's metrics, and this program's own beside them, by the names of its version.
class ServerMetrics {
 public:
  explicit ServerMetrics(MetricsFacts facts);

  void on_first_token(double ttft, std::int64_t prompt_tokens);
  void on_token_gap(double gap) { inter_token_.observe(gap); }
  void on_tokens(std::int64_t tokens) { generation_tokens_ += tokens; }
  /// `period`: wall seconds of each.
  void on_steps(std::int64_t tokens, std::int64_t steps, double period) {
    iteration_tokens_.observe(static_cast<double>(tokens), steps);
    steps_ += steps;
    short_steps_ += period < kShortStep ? steps : 0;
  }
  /// `times` counts where the request had its first token.
  void on_end(Finished how,
              const RequestTimes* times,
              std::int64_t prompt_tokens,
              std::int64_t generation_tokens,
              std::int64_t cached_tokens,
              std::int64_t max_tokens,
              std::int64_t n);
  void on_response(int status) { ++responses_[status]; }
  void on_fault(std::string_view kind) { ++faults_[std::string(kind)]; }
  void on_estimate() { ++estimated_prompts_; }
  void on_merged_event() { ++merged_events_; }
  void on_emission(double lateness) { lateness_.observe(lateness); }
  void on_injection(double lag) { injection_lag_.observe(lag); }

  [[nodiscard]] std::int64_t generation_tokens() const { return generation_tokens_; }
  [[nodiscard]] std::int64_t estimated_prompts() const { return estimated_prompts_; }
  [[nodiscard]] std::int64_t merged_events() const { return merged_events_; }
  /// Whether more than half of the steps lasted less than kShortStep.
  [[nodiscard]] bool are_steps_short() const { return 2 * short_steps_ > steps_; }
  /// Below it, the wake-ups of the machine are no longer small beside a step. Seconds.
  static constexpr double kShortStep = 1e-3;
  [[nodiscard]] const Histogram& lateness() const { return lateness_; }
  [[nodiscard]] const std::map<int, std::int64_t>& responses() const { return responses_; }
  [[nodiscard]] const std::map<std::string, std::int64_t>& faults() const { return faults_; }

  /// What else the page shows at an instant.
  struct Now {
    engine::InstanceState state = {};
    engine::EngineTotals totals = {};
    double simulated_seconds = 0.0;
    std::int64_t open_connections = 0;
    std::int64_t open_streams = 0;
    int sleep_level = 0;
    AdapterGauges adapters = {};
    double unix_seconds = 0.0;
  };
  [[nodiscard]] std::string page(const Now& now) const;

 private:
  [[nodiscard]] LabelList with(std::string_view label, std::string_view value) const;
  void add_gauges(Exposition& page, const Now& now) const;
  void add_cache_gauges(Exposition& page, const Now& now) const;
  void add_counters(Exposition& page, const Now& now) const;
  void add_histograms(Exposition& page) const;
  void add_own(Exposition& page, const Now& now) const;

  MetricsFacts facts_;
  LabelList labels_;
  std::int64_t prompt_tokens_ = 0;
  std::int64_t cached_tokens_ = 0;
  std::int64_t generation_tokens_ = 0;
  std::array<std::int64_t, kNumFinished> finished_{};
  Histogram ttft_;
  Histogram inter_token_;
  Histogram per_output_token_;
  Histogram e2e_;
  Histogram queue_;
  Histogram inference_;
  Histogram prefill_;
  Histogram decode_;
  Histogram prompt_lengths_;
  Histogram generation_lengths_;
  Histogram most_generation_;
  Histogram params_n_;
  Histogram params_max_tokens_;
  Histogram computed_;
  Histogram iteration_tokens_;
  Histogram lateness_;
  Histogram injection_lag_;
  std::map<int, std::int64_t> responses_;
  std::map<std::string, std::int64_t> faults_;
  std::int64_t estimated_prompts_ = 0;
  std::int64_t merged_events_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t short_steps_ = 0;
};

}  // namespace ridgeline::serve
