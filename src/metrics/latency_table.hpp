#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/moments.hpp"
#include "core/packed_blocks.hpp"
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
  /// Of a request, in ticks. Those per gap stand last: a single token has none.
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
  /// Some requests' times side by side: what is done with one of them is done with all in turn.
  struct Block {
    static constexpr std::size_t kMost = core::PackedBlocks::kMostValues;
    using Column = std::array<std::int64_t, kMost>;

    std::size_t size = 0;
    std::array<Column, kNumTimes> times{};
    Column gaps{};                ///< Output tokens less one.
    Column ttft_lead{};           ///< Client's ttft less the server's.
    Column e2e_lead{};            ///< The same of e2e.
    Column after_ttft{};          ///< Client's e2e less its ttft.
    std::size_t num_several = 0;  ///< Requests of several tokens: those per gap are of these alone.

    [[nodiscard]] std::span<const std::int64_t> of(Time time) const {
      return {times[time].data(), time < kClientTpot ? size : num_several};
    }
    /// From which the others follow.
    [[nodiscard]] std::array<Column*, 6> packed_columns() {
      return {&times[kQueueTime], &times[kClientTtft], &after_ttft, &gaps, &ttft_lead, &e2e_lead};
    }
    void derive_tpots();
    void derive_leads();  ///< And after_ttft.
  };
  struct AllMoments {
    std::array<core::Moments, kNumTimes> of;
    core::Moments ttft_lead;
    core::Moments e2e_lead;

    /// Requires its derived columns.
    void add(const Block& block);
  };
  /// Calls visit(block) for all that are packed, and for `last`, as far as Block::of() needs.
  template <typename Visitor>
  void for_each_block(const Block& last, Visitor&& visit) const;
  void pack_pending();

  Block pending_;              ///< The last requests, not yet among what follows.
  core::PackedBlocks packed_;  ///< Block::packed_columns() of each full block.
  std::size_t num_packed_ = 0;
  AllMoments moments_;
};

}  // namespace ridgeline::metrics
