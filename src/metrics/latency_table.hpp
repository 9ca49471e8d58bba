#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/moments.hpp"
#include "core/packed_integers.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {

/// What exact percentiles over requests are made of, in some twenty bytes per request: the client's
/// times, and how far the server's are from them, which seldom changes from one request to the
/// next. The rest follows when it is asked for, and so do the percentiles, without a copy.
class LatencyTable {
 public:
  /// A completed request. The latencies are as measure() requires them (checked).
  void add(const domain::RequestRecord& record, const RequestLatency& latency);

  /// In milliseconds; nothing where no request has such a number.
  struct Clock {
    std::optional<Distribution> ttft;
    std::optional<Distribution> tpot;
    std::optional<Distribution> e2e;
  };
  struct Distributions {
    std::optional<Distribution> queue_time;
    Clock client;
    Clock server;
  };
  [[nodiscard]] Distributions distributions_ms() const;

 private:
  /// A request's times in ticks. Those per gap stand last: a single token has none.
  enum Time : std::size_t {
    kQueueTime,
    kClientTtft,
    kClientE2e,
    kServerTtft,
    kServerE2e,
    kClientTpot,
    kServerTpot,
    kNumTimes,
  };
  static constexpr std::size_t kNumWithoutGaps = kClientTpot;
  struct Row {
    std::array<std::int64_t, kNumTimes> times{};
    std::int64_t gaps = 0;

    /// How many of the times it has.
    [[nodiscard]] std::size_t size() const { return gaps > 0 ? kNumTimes : kNumWithoutGaps; }
    void derive_tpot();
  };
  template <typename Visitor>
  void for_each_row(Visitor&& visit) const;

  std::int64_t rows_ = 0;
  /// Four a row: the queue time, the client's ttft, its e2e less that, and output tokens less one.
  core::PackedIntegers packed_;
  core::RunLengths ttft_lead_;  ///< Client's ttft less the server's.
  core::RunLengths e2e_lead_;   ///< The same of e2e.
  std::array<core::Moments, kNumTimes> moments_;
};

}  // namespace ridgeline::metrics
