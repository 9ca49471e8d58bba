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

void LatencyTable::add(const domain::RequestRecord& record, const RequestLatency& latency) {
  check_latency(latency);
  const std::size_t i = pending_.size++;
  pending_.times[kQueueTime][i] = (record.first_scheduled - record.queued).count();
  pending_.times[kClientTtft][i] = latency.client_ttft.count();
  pending_.times[kClientE2e][i] = latency.client_e2e.count();
  pending_.times[kServerTtft][i] = latency.server_ttft.count();
  pending_.times[kServerE2e][i] = latency.server_e2e.count();
  pending_.gaps[i] = record.output_tokens.value() - 1;
  if (pending_.size == Block::kMost) {
    pack_pending();
  }
}

void LatencyTable::Block::derive_leads() {
  for (std::size_t i = 0; i < size; ++i) {
    const std::int64_t first = times[kClientTtft][i];
    const std::int64_t all = times[kClientE2e][i];
    after_ttft[i] = all - first;
    ttft_lead[i] = first - times[kServerTtft][i];
    e2e_lead[i] = all - times[kServerE2e][i];
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
    of[time].add(block.of(static_cast<Time>(time)));
  }
  ttft_lead.add({block.ttft_lead.data(), block.size});
  e2e_lead.add({block.e2e_lead.data(), block.size});
}

template <typename Visitor>
void LatencyTable::for_each_block(const Block& last, Visitor&& visit) const {
  core::PackedBlocks::Reader packed(packed_);
  Block block;
  block.size = Block::kMost;
  for (std::size_t n = 0; n < num_packed_; ++n) {
    for (Block::Column* column : block.packed_columns()) {
      packed.next(*column);
    }
    for (std::size_t i = 0; i < block.size; ++i) {
      const std::int64_t first = block.times[kClientTtft][i];
      const std::int64_t all = first + block.after_ttft[i];
      block.times[kClientE2e][i] = all;
      block.times[kServerTtft][i] = first - block.ttft_lead[i];
      block.times[kServerE2e][i] = all - block.e2e_lead[i];
    }
    block.derive_tpots();
    visit(block);
  }
  visit(last);
}

LatencyTable::Distributions LatencyTable::distributions_ms() const {
  Block last = pending_;
  last.derive_tpots();
  last.derive_leads();
  AllMoments moments = moments_;
  moments.add(last);
  if (moments.ttft_lead.count() == 0) {
    return {};
  }
  // Where the server's times are the client's but for one difference, so are their quantiles.
  const bool alike = moments.ttft_lead.min() == moments.ttft_lead.max() &&
                     moments.e2e_lead.min() == moments.e2e_lead.max();
  const auto probabilities = quantile_probabilities();
  std::array<std::optional<core::QuantileSearch>, kNumTimes> searches;
  for (std::size_t time = 0; time < kNumTimes; ++time) {
    const bool follows = alike && (time == kServerTtft || time == kServerE2e);
    if (!follows && moments.of[time].count() > 0) {
      searches[time].emplace(moments.of[time], probabilities);
    }
  }
  const auto show = [&](const auto& look) {
    for_each_block(last, [&](const Block& block) {
      for (std::size_t time = 0; time < kNumTimes; ++time) {
        if (searches[time]) {
          look(*searches[time], block.of(static_cast<Time>(time)));
        }
      }
    });
  };
  show([](core::QuantileSearch& search, std::span<const std::int64_t> values) {
    search.count(values);
  });
  for (auto& search : searches) {
    if (search) {
      search->choose();
    }
  }
  show([](core::QuantileSearch& search, std::span<const std::int64_t> values) {
    search.keep(values);
  });
  const auto of = [&](Time time, Time other, std::int64_t lead) -> std::optional<Distribution> {
    const Time searched = searches[time] ? time : other;
    if (!searches[searched]) {
      return std::nullopt;
    }
    const std::int64_t less = searched == time ? 0 : lead;
    return describe(moments.of[time], searches[searched]->quantiles(-less));
  };
  const auto own = [&](Time time) { return of(time, time, 0); };
  return {.queue_time = own(kQueueTime),
          .client = {.ttft = own(kClientTtft), .tpot = own(kClientTpot), .e2e = own(kClientE2e)},
          .server = {.ttft = of(kServerTtft, kClientTtft, moments.ttft_lead.min()),
                     .tpot = own(kServerTpot),
                     .e2e = of(kServerE2e, kClientE2e, moments.e2e_lead.min())}};
}

}  // namespace ridgeline::metrics
