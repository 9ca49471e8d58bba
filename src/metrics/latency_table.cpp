#include "metrics/latency_table.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/moments.hpp"
#include "core/packed_blocks.hpp"
#include "core/quantile_search.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/samples.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {

void LatencyTable::Block::derive_tpots() {
  num_several = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const auto per_gap = [&](Time first, Time all) {
      const auto span = core::Duration::ticks(times[all][i] - times[first][i]);
      return mean_of_gaps(span, gaps[i]).count();
    };
    if (gaps[i] > 0) {
      times[kClientTpot][num_several] = per_gap(kClientTtft, kClientE2e);
      times[kServerTpot][num_several] = per_gap(kServerTtft, kServerE2e);
      ++num_several;
    }
  }
}

void LatencyTable::Block::derive_leads() {
  for (std::size_t i = 0; i < size; ++i) {
    const std::int64_t first = times[kClientTtft][i];
    const std::int64_t all = times[kClientE2e][i];
    times[kAfterTtft][i] = all - first;
    ttft_lead[i] = first - times[kServerTtft][i];
    end_lead[i] = all - times[kServerE2e][i] - ttft_lead[i];
  }
}

void LatencyTable::pack_pending() {
  pending_.derive_tpots();
  pending_.derive_leads();
  moments_.add(pending_);
  for (const Block::Column* column : pending_.packed_columns()) {
    packed_.add(*column);
  }
  ++num_packed_;
  pending_.size = 0;
}

void LatencyTable::AllMoments::add(const Block& block) {
  for (std::size_t time = 0; time < kNumTimes; ++time) {
    if (time != kAfterTtft) {
      of[time].add(block.of(static_cast<Time>(time)));
    }
  }
  gaps.add({block.gaps.data(), block.size});
  ttft_lead.add({block.ttft_lead.data(), block.size});
  end_lead.add({block.end_lead.data(), block.size});
}

template <typename Visitor>
void LatencyTable::for_each_block(const Look& look, const Block& last, Visitor&& visit) const {
  core::PackedBlocks::Reader packed(packed_);
  Block block;
  block.size = Block::kMost / look.stride;
  const auto columns = block.packed_columns();
  const bool server = look.server || look.tpots;
  const std::size_t num_read = server ? columns.size() : kClientColumns;
  for (std::size_t n = 0; n < num_packed_; ++n) {
    for (std::size_t c = 0; c < num_read; ++c) {
      packed.next({columns[c]->data(), block.size}, look.stride);
    }
    for (std::size_t c = num_read; c < columns.size(); ++c) {
      packed.skip(Block::kMost);
    }
    for (std::size_t i = 0; i < block.size; ++i) {
      block.times[kClientE2e][i] = block.times[kClientTtft][i] + block.times[kAfterTtft][i];
    }
    if (server) {
      for (std::size_t i = 0; i < block.size; ++i) {
        const std::int64_t lead = block.ttft_lead[i];
        block.times[kServerTtft][i] = block.times[kClientTtft][i] - lead;
        block.times[kServerE2e][i] = block.times[kClientE2e][i] - lead - block.end_lead[i];
      }
    }
    if (look.tpots) {
      block.derive_tpots();
    }
    visit(block);
  }
  visit(last);
}

/// Where the server's times are the client's but for one difference, so are their quantiles. Where
/// all requests have as many gaps, the time per gap ascends with the time that all of them take,
/// and so do the quantiles of one with those of the other.
class LatencyTable::Searches {
 public:
  explicit Searches(const AllMoments& moments)
      : moments_(moments),
        ttft_lead_(moments.ttft_lead.value()),
        end_lead_(moments.end_lead.value()),
        gaps_(moments.gaps.value()),
        one_lead_(moments.ttft_lead.holds() && moments.end_lead.holds()),
        one_length_(moments.gaps.holds() && moments.end_lead.holds()) {
    for (std::size_t time = 0; time < kNumTimes; ++time) {
      const core::Moments& of = moments.of[time];
      if (of.count() > 0 && is_searched(static_cast<Time>(time))) {
        search(static_cast<Time>(time), of.min(), of.max());
      }
    }
    if (const core::Moments& tpot = moments.of[kClientTpot]; one_length_ && tpot.count() > 0) {
      // A mean that was rounded is that of a sum less than a gap more or less.
      search(kAfterTtft,
             std::max<std::int64_t>((tpot.min() - 1) * gaps_, 0),
             (tpot.max() + 1) * gaps_);
    }
  }

  void look_at(const LatencyTable& table, const Block& last) {
    constexpr std::size_t kStride = 8;
    const Look all{.stride = 1, .server = !one_lead_, .tpots = !one_length_};
    Look some = all;
    some.stride = kStride;
    show(table, some, last, [](auto& search, auto of) { search.sample(of); });
    for_each([](core::QuantileSearch& search) { search.choose(); });
    show(table, all, last, [](auto& search, auto of) { search.take(of); });
    bool found = true;
    for_each([&](const core::QuantileSearch& search) { found = found && search.found(); });
    if (!found) {
      for_each([](core::QuantileSearch& search) { search.choose_counted(); });
      show(table, all, last, [](auto& search, auto of) { search.keep(of); });
    }
  }

  [[nodiscard]] std::optional<Distribution> distribution(Time time) const {
    if (moments_.of[time].count() == 0) {
      return std::nullopt;
    }
    if (searches_[time]) {
      return describe(moments_.of[time], searches_[time]->quantiles());
    }
    switch (time) {
      case kServerTtft:
        return following(
            time, kClientTtft, [this](std::int64_t value) { return value - ttft_lead_; });
      case kServerE2e:
        return following(time, kClientE2e, [this](std::int64_t value) {
          return value - ttft_lead_ - end_lead_;
        });
      case kClientTpot:
        return following(time, kAfterTtft, [this](std::int64_t value) { return per_gap(value); });
      default:
        return following(
            time, kAfterTtft, [this](std::int64_t value) { return per_gap(value - end_lead_); });
    }
  }

 private:
  [[nodiscard]] bool is_searched(Time time) const {
    switch (time) {
      case kAfterTtft:
        return false;
      case kServerTtft:
      case kServerE2e:
        return !one_lead_;
      case kClientTpot:
      case kServerTpot:
        return !one_length_;
      default:
        return true;
    }
  }
  void search(Time time, std::int64_t least, std::int64_t greatest) {
    // Of those that have any gaps where it is about the time per gap.
    const bool per_gap = time == kClientTpot || time == kServerTpot || time == kAfterTtft;
    const std::int64_t count = moments_.of[per_gap ? kClientTpot : kQueueTime].count();
    searches_[time].emplace(count, least, greatest, quantile_probabilities());
  }
  template <typename Visitor>
  void for_each(Visitor&& visit) {
    for (auto& search : searches_) {
      if (search) {
        visit(*search);
      }
    }
  }
  template <typename Visitor>
  void show(const LatencyTable& table, const Look& look, const Block& last, Visitor&& visit) {
    table.for_each_block(look, last, [&](const Block& block) {
      for (std::size_t time = 0; time < kNumTimes; ++time) {
        if (searches_[time]) {
          visit(*searches_[time], block.of(static_cast<Time>(time)));
        }
      }
    });
  }
  template <typename Map>
  [[nodiscard]] std::optional<Distribution> following(Time time, Time other, const Map& map) const {
    return describe(moments_.of[time], searches_[other]->quantiles(map));
  }
  [[nodiscard]] std::int64_t per_gap(std::int64_t all) const {
    return mean_of_gaps(core::Duration::ticks(all), gaps_).count();
  }

  const AllMoments& moments_;
  std::int64_t ttft_lead_;
  std::int64_t end_lead_;
  std::int64_t gaps_;
  bool one_lead_;
  bool one_length_;
  std::array<std::optional<core::QuantileSearch>, kNumTimes> searches_;
};

LatencyTable::Distributions LatencyTable::distributions_ms() const {
  Block last = pending_;
  last.derive_tpots();
  last.derive_leads();
  AllMoments moments = moments_;
  moments.add(last);
  if (moments.of[kQueueTime].count() == 0) {
    return {};
  }
  Searches searches(moments);
  searches.look_at(*this, last);
  return {.queue_time = searches.distribution(kQueueTime),
          .client = {.ttft = searches.distribution(kClientTtft),
                     .tpot = searches.distribution(kClientTpot),
                     .e2e = searches.distribution(kClientE2e)},
          .server = {.ttft = searches.distribution(kServerTtft),
                     .tpot = searches.distribution(kServerTpot),
                     .e2e = searches.distribution(kServerE2e)}};
}

}  // namespace ridgeline::metrics
