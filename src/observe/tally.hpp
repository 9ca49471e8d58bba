#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/time.hpp"
#include "observe/record.hpp"
#include "observe/stop_rules.hpp"

namespace ridgeline::observe {

/// Statistics of some numbers of requests.
struct Spread {
  std::int64_t count = 0;
  double mean = 0.0;
  double p50 = 0.0;
  double p90 = 0.0;
  double p99 = 0.0;
  double max = 0.0;
};

/// Counts and latencies of the requests that have ended; of warm-up requests the counts alone.
/// Memory: some 60 bytes a request, and 8 a gap up to kMostGaps.
class Tally {
 public:
  void on_row(const Row& row);

  [[nodiscard]] std::int64_t done() const { return done_; }
  [[nodiscard]] std::int64_t failed() const { return failed_; }
  [[nodiscard]] std::int64_t warm_up() const { return warm_up_; }
  /// Answers of which the server counts other tokens than were asked for: of prompts, of outputs.
  [[nodiscard]] std::int64_t other_prompts() const { return other_prompts_; }
  [[nodiscard]] std::int64_t other_outputs() const { return other_outputs_; }
  /// Tokens of prompts as the server counts them over those of the workload; nothing where it
  /// counts none.
  [[nodiscard]] std::optional<double> prompt_ratio() const;
  [[nodiscard]] std::int64_t input_tokens() const { return input_tokens_; }
  [[nodiscard]] std::int64_t output_tokens() const { return output_tokens_; }
  [[nodiscard]] std::int64_t cached_tokens() const { return cached_tokens_; }
  /// The first kMostErrors different errors, each with its number.
  [[nodiscard]] const std::vector<std::pair<std::string, std::int64_t>>& errors() const {
    return errors_;
  }

  /// Milliseconds. The ..._from_due count from the time at which the workload sends.
  enum class Figure : std::uint8_t {
    kTtft,
    kTtftFromDue,
    kTpot,
    kItl,
    kE2e,
    kE2eFromDue,
    kLag,
    kConnect
  };
  static constexpr std::size_t kNumFigures = 8;
  [[nodiscard]] std::optional<Spread> spread(Figure figure) const;
  /// A quantile of the TTFTs or the lags, in ms, of answers that ended in the last ten seconds.
  [[nodiscard]] std::optional<double> recent(Figure figure,
                                             double quantile,
                                             core::SimTime now) const;

  /// The first of the rules that the measurement has met, as it was given; empty: none.
  [[nodiscard]] std::string why_stop(std::span<const StopRule> rules,
                                     std::int64_t in_flight,
                                     core::SimTime now) const;
  /// Why the server seems to be gone; empty: it does not.
  [[nodiscard]] std::string why_gone() const;

 private:
  void note_error(const std::string& error);
  void count_tokens(const Row& row, std::int64_t outputs);

  std::int64_t done_ = 0;
  std::int64_t failed_ = 0;
  std::int64_t warm_up_ = 0;
  std::int64_t other_prompts_ = 0;
  std::int64_t other_outputs_ = 0;
  std::int64_t asked_tokens_ = 0;    ///< Tokens asked for in prompts that the server counted.
  std::int64_t counted_tokens_ = 0;  ///< Its count of them.
  std::int64_t input_tokens_ = 0;
  std::int64_t output_tokens_ = 0;
  std::int64_t cached_tokens_ = 0;
  std::int64_t connection_failures_ = 0;  ///< In a row.
  std::deque<bool> last_failed_;
  std::int64_t num_last_failed_ = 0;
  std::vector<std::vector<float>> figures_ = std::vector<std::vector<float>>(kNumFigures);
  struct Recent {
    core::SimTime ended;
    double ttft_ms = 0.0;
    double lag_ms = 0.0;
  };
  std::deque<Recent> recent_;
  std::vector<std::pair<std::string, std::int64_t>> errors_;
};

}  // namespace ridgeline::observe
