#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/ids.hpp"
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
  std::int64_t kv_blocks = 0;   ///< For tokens, of one engine.
  std::int64_t engines = 1;     ///< Data-parallel ranks with lines of their own.
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

/// What one engine counts: vLLM's label `engine`.
class EngineMetrics {
 public:
  explicit EngineMetrics(std::int64_t max_model_len);

  void on_first_token(double ttft, std::int64_t prompt_tokens);
  void on_token_gap(double gap) { inter_token.observe(gap); }
  void on_tokens(std::int64_t count) { generation_tokens += count; }
  void on_steps(std::int64_t tokens, std::int64_t steps) {
    iteration_tokens.observe(static_cast<double>(tokens), steps);
  }
  /// `times` counts where the request had its first token.
  void on_end(Finished how,
              const RequestTimes* times,
              std::int64_t prompt_length,
              std::int64_t generation_length,
              std::int64_t cached_length,
              std::int64_t max_tokens,
              std::int64_t n,
              std::int64_t num_preemptions);

  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t generation_tokens = 0;
  std::array<std::int64_t, kNumFinished> finished{};
  Histogram ttft;
  Histogram inter_token;
  Histogram per_output_token;
  Histogram e2e;
  Histogram queue;
  Histogram inference;
  Histogram prefill;
  Histogram decode;
  Histogram prompt_lengths;
  Histogram generation_lengths;
  Histogram most_generation;
  Histogram params_n;
  Histogram params_max_tokens;
  Histogram computed;
  Histogram iteration_tokens;
  Histogram preemptions;  ///< How often each request was preempted.
};

/// vLLM's metrics, and this program's own beside them, by the names of its version.
class ServerMetrics {
 public:
  explicit ServerMetrics(MetricsFacts facts);

  /// Metrics of an instance: its own where each has lines of its own, else the one for all.
  [[nodiscard]] EngineMetrics& engine(core::InstanceId instance) {
    return engines_[engines_.size() > 1 ? instance.value() : 0];
  }
  /// `period`: wall seconds of each.
  void on_steps(std::int64_t steps, double period) {
    steps_ += steps;
    short_steps_ += period < kShortStep ? steps : 0;
  }
  void on_response(int status) { ++responses_[status]; }
  void on_fault(std::string_view kind) { ++faults_[std::string(kind)]; }
  void on_estimate() { ++estimated_prompts_; }
  void on_merged_event() { ++merged_events_; }
  void on_emission(double lateness) { lateness_.observe(lateness); }
  void on_injection(double lag) { injection_lag_.observe(lag); }

  [[nodiscard]] std::size_t num_engines() const { return engines_.size(); }
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
    struct Engine {
      engine::InstanceState state = {};
      engine::EngineTotals totals = {};
    };
    std::vector<Engine> engines = {};  ///< As many as there are; fewer: the others do nothing.
    double simulated_seconds = 0.0;
    std::int64_t open_connections = 0;
    std::int64_t open_streams = 0;
    int sleep_level = 0;
    std::optional<bool> is_log_whole = {};  ///< For a server with an arrival log.
    AdapterGauges adapters = {};
    double unix_seconds = 0.0;
  };
  [[nodiscard]] std::string page(Now now) const;

 private:
  using Samples = std::vector<std::pair<LabelList, double>>;
  /// A sample of each engine: `value` gets its number.
  template <class Value>
  [[nodiscard]] Samples samples(const Value& value) const;
  /// Several of each engine: by the values of one more label.
  template <class Value>
  [[nodiscard]] Samples samples(std::string_view label,
                                std::span<const std::string_view> values,
                                const Value& value) const;
  [[nodiscard]] LabelList labels_of(std::size_t engine) const;
  void add_gauges(Exposition& page, const Now& now) const;
  void add_cache_gauges(Exposition& page, const Now& now) const;
  void add_sources(Exposition& page, const Now& now) const;
  void add_counters(Exposition& page, const Now& now) const;
  /// Adds a histogram of each engine to the page.
  [[nodiscard]] auto adder(Exposition& page) const;
  void add_histograms(Exposition& page) const;
  void add_phases(Exposition& page) const;
  void add_own(Exposition& page, const Now& now) const;

  MetricsFacts facts_;
  std::vector<EngineMetrics> engines_;
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
