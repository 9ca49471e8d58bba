#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/moments.hpp"
#include "core/packed_blocks.hpp"
#include "core/piece_arena.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {

/// What exact percentiles over requests are made of, in some twenty bytes per request: the client's
/// times, and how far the server's are from them, which seldom changes from one request to the
/// next. The rest follows when it is asked for, and so do the percentiles, without a copy.
class LatencyTable {
 public:
  explicit LatencyTable(
      std::shared_ptr<core::PieceArena> arena = std::make_shared<core::PieceArena>())
      : packed_(std::move(arena)) {}

  /// A completed request. The latencies are as measure() requires them (checked).
  void add(const domain::RequestRecord& record, const RequestLatency& latency) {
    check_latency(latency);
    const std::size_t i = pending_.size++;
    pending_.times[kQueueTime][i] = (record.first_scheduled - record.queued).count();
    pending_.times[kClientTtft][i] = latency.client_ttft.count();
    pending_.times[kClientE2e][i] = latency.client_e2e.count();
    pending_.times[kServerTtft][i] = latency.server_ttft.count();
    pending_.times[kServerE2e][i] = latency.server_e2e.count();
    pending_.gaps[i] = record.output_tokens.value() - 1;
    if (pending_.size == Block::kMost) [[unlikely]] {
      pack_pending();
    }
  }

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
    kAfterTtft,  ///< Client's e2e less its ttft.
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
    Column end_lead{};            ///< The same of what comes after it.
    std::size_t num_several = 0;  ///< Requests of several tokens: those per gap are of these alone.

    [[nodiscard]] std::span<const std::int64_t> of(Time time) const {
      return {times[time].data(), time < kClientTpot ? size : num_several};
    }
    /// From which the others follow; the client's times first.
    [[nodiscard]] std::array<Column*, 6> packed_columns() {
      return {&times[kQueueTime],
              &times[kClientTtft],
              &times[kAfterTtft],
              &gaps,
              &ttft_lead,
              &end_lead};
    }
    void derive_tpots();
    void derive_leads();  ///< And kAfterTtft.
  };
  /// Whether values are all the same.
  class Sameness {
   public:
    void add(std::span<const std::int64_t> values) {
      if (values.empty()) {
        return;
      }
      value_ = value_.value_or(values[0]);
      const auto expected = static_cast<std::uint64_t>(*value_);
      for (const std::int64_t value : values) {
        differences_ |= static_cast<std::uint64_t>(value) ^ expected;
      }
    }
    [[nodiscard]] bool holds() const { return differences_ == 0; }
    /// The first of them, if any.
    [[nodiscard]] std::int64_t value() const { return value_.value_or(0); }

   private:
    std::optional<std::int64_t> value_;
    std::uint64_t differences_ = 0;
  };
  struct AllMoments {
    std::array<core::Moments, kNumTimes> of;  ///< Not of kAfterTtft.
    Sameness gaps;
    Sameness ttft_lead;
    Sameness end_lead;

    /// Requires its derived columns.
    void add(const Block& block);
  };
  /// What is searched for quantiles; the rest follows from those.
  class Searches;
  /// How much of the table is looked at.
  struct Look {
    std::size_t stride = 1;  ///< Of so many packed requests one.
    bool server = true;      ///< The server's times too ...
    bool tpots = true;       ///< ... and those per gap.
  };
  /// Calls visit(block) for all that are packed, and for `last`, as far as Block::of() needs.
  template <typename Visitor>
  void for_each_block(const Look& look, const Block& last, Visitor&& visit) const;
  void pack_pending();

  static constexpr std::size_t kClientColumns = 3;  ///< Of Block::packed_columns().

  Block pending_;              ///< The last requests, not yet among what follows.
  core::PackedBlocks packed_;  ///< Block::packed_columns() of each full block.
  std::size_t num_packed_ = 0;
  AllMoments moments_;
};

}  // namespace ridgeline::metrics
