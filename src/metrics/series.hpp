#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "core/int128.hpp"
#include "core/statistics/quantile_buckets.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "domain/step.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/slo.hpp"

namespace ridgeline::metrics {

/// What happened in one window of simulated time, in exact sums: two windows together are their
/// sums, least and greatest values.
struct Window {
  /// Sums over the steps that ran, times how long, in ticks: the requests of their batches, and the
  /// tokens whose KV these hold, each shared block once.
  core::Int128 running = 0;
  core::Int128 kv_tokens = 0;
  core::Int128 waiting = 0;  ///< Requests from the engine's queue to their first step, times ticks.
  /// Least and greatest of a step that ran here; of a window without one, nothing is smaller.
  std::int64_t running_min = std::numeric_limits<std::int64_t>::max();
  std::int64_t running_max = 0;
  std::int64_t kv_tokens_min = std::numeric_limits<std::int64_t>::max();
  std::int64_t kv_tokens_max = 0;
  /// Ticks of steps, a step's time in proportion to the part of it that lies here.
  std::array<core::Int128, domain::kNumBottlenecks> busy{};
  std::int64_t arrivals = 0;
  std::int64_t completions = 0;  ///< Requests whose last token came here.
  std::int64_t preemptions = 0;  ///< Preemptions of the requests that ended here.
  std::int64_t steps = 0;        ///< That ended here, as the next two.
  std::int64_t prefill_tokens = 0;
  std::int64_t decode_tokens = 0;
  /// Requests that arrived here and have ended, with or without an answer; among these the ones
  /// that met every target, and each.
  std::int64_t judged = 0;
  std::int64_t good = 0;
  std::array<std::int64_t, kNumMetrics> within{};

  void add(const Window& other);
  friend bool operator==(const Window&, const Window&) = default;
};

/// A latency whose distribution over time is kept.
enum class Latency : std::uint8_t { kTtft, kTpot, kE2e, kQueue };
inline constexpr std::size_t kNumLatencies = 4;
inline constexpr std::array<std::string_view, kNumLatencies> kLatencyNames = {
    "ttft", "tpot", "e2e", "queue_time"};

/// Requests per bin of statistics::LogBuckets, 16 to every power of two, less the bins before that
/// of a microsecond, whose requests are in the first one kept. Without zeros at the end.
struct LatencyHistogram {
  using Bins = statistics::LogBuckets<4>;
  static constexpr std::size_t kFirstBin = Bins::of(1'000'000);  ///< Ticks.

  std::vector<std::uint32_t> counts;

  /// One request, of so many ticks.
  void add(std::int64_t ticks) {
    const auto at_least = std::max(static_cast<std::uint64_t>(ticks), Bins::first(kFirstBin));
    const std::size_t bin = Bins::of(at_least) - kFirstBin;
    if (bin >= counts.size()) [[unlikely]] {
      make_room(bin);
    }
    ++counts[bin];
  }
  void add(const LatencyHistogram& other);
  [[gnu::noinline]] void make_room(std::size_t bin) { counts.resize(bin + 1); }
  /// The least value of a bin, in ticks; 0 of the first.
  [[nodiscard]] static std::int64_t first_of(std::size_t bin);
  friend bool operator==(const LatencyHistogram&, const LatencyHistogram&) = default;
};

/// One request, for a picture of its life.
struct RequestStory {
  domain::RequestRecord record;
  RequestMetrics metrics;

  friend bool operator==(const RequestStory&, const RequestStory&) = default;
};

/// A run over simulated time, bounded whatever its length. Sums are exact: equal between the engine
/// twins, with and without jumps, on any number of threads.
struct Series {
  /// The shortest window; each longer one is a power of two times as long.
  static constexpr std::int64_t kShortest = 1'000'000'000;  ///< Ticks: a millisecond.
  /// Windows of one histogram of latencies.
  static constexpr std::size_t kWindowsPerHistogram = 8;

  std::int64_t instances = 1;
  core::Duration window;  ///< Length of each window; the first begins with the run.
  core::SimTime end;      ///< The last arrival, end of a step or end of a request.
  std::vector<Window> windows;
  std::array<std::vector<LatencyHistogram>, kNumLatencies> latencies;  ///< By time of arrival.
  std::vector<double> probabilities;
  /// Quantiles in milliseconds at these probabilities, ascending; empty where no request has such a
  /// number.
  std::array<std::vector<double>, kNumLatencies> quantiles_ms;
  std::vector<double> itl_ms;  ///< Gaps between tokens, as quantiles_ms.
  SloTargets slo;
  /// Tokens that the KV blocks of one instance hold, of several that differ the mean; nothing where
  /// a token has no fixed number of blocks.
  std::optional<std::int64_t> kv_capacity;
  /// The requests with the longest TTFT, TPOT and E2E, longest first.
  std::array<std::vector<RequestStory>, 3> worst;
  std::vector<RequestStory> sample;  ///< By id.

  friend bool operator==(const Series&, const Series&) = default;
};

}  // namespace ridgeline::metrics
