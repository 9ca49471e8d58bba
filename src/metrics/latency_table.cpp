#include "metrics/latency_table.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "core/time.hpp"
#include "metrics/fine_counts.hpp"
#include "metrics/integer_table.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/samples.hpp"
#include "metrics/series.hpp"

namespace ridgeline::metrics {
namespace {

/// The lists of LatencyTable::show().
enum List : std::uint8_t {
  kQueueTimes,
  kClientTtft,
  kClientTpot,
  kClientE2e,
  kServerTtft,
  kServerE2e,
  kServerTpot,  ///< Where it is not the client's.
  kNumLists,
};

/// Mean gaps of the requests that have any, where `spans` are from the first token to the end.
/// Returns their number.
std::size_t mean_gaps(std::span<const std::int64_t> spans,
                      std::span<const std::int64_t> gaps,
                      ColumnValues& means) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    means[size] =
        mean_of_gaps(core::Duration::ticks(spans[i]), std::max(gaps[i], std::int64_t{1})).count();
    size += gaps[i] > 0 ? 1U : 0U;
  }
  return size;
}

}  // namespace

void LatencyTable::show(const std::function<void(ListBlocks)>& visit) const {
  constexpr std::array<std::size_t, kNumColumns> kAll = {
      kQueueTime, kTtft, kRest, kGaps, kTtftLead, kRestLead};
  std::array<ColumnValues, kNumLists> made;
  std::array<std::span<const std::int64_t>, kNumLists> lists;
  ColumnValues server_rest;
  table_.for_each_block(kAll, [&](const auto& columns) {
    const std::size_t size = columns[kTtft].size();
    for (std::size_t i = 0; i < size; ++i) {
      server_rest[i] = columns[kRest][i] - columns[kRestLead][i];
      made[kClientE2e][i] = columns[kTtft][i] + columns[kRest][i];
      made[kServerTtft][i] = columns[kTtft][i] - columns[kTtftLead][i];
      made[kServerE2e][i] = made[kServerTtft][i] + server_rest[i];
    }
    for (const List list : {kClientE2e, kServerTtft, kServerE2e}) {
      lists[list] = {made[list].data(), size};
    }
    const std::span<const std::int64_t> gaps = columns[kGaps];
    const std::size_t with_gaps = mean_gaps(columns[kRest], gaps, made[kClientTpot]);
    lists[kClientTpot] = {made[kClientTpot].data(), with_gaps};
    if (has_rest_leads_) {
      mean_gaps({server_rest.data(), size}, gaps, made[kServerTpot]);
    }
    lists[kServerTpot] = {made[kServerTpot].data(), with_gaps};
    lists[kQueueTimes] = columns[kQueueTime];
    lists[kClientTtft] = columns[kTtft];
    visit(lists);
  });
}

LatencyTable::Distributions LatencyTable::distributions_ms(QuantileCurves* curves) const {
  constexpr std::array<List, kNumLatencies> kCurves = {
      kClientTtft, kClientTpot, kClientE2e, kQueueTimes};
  std::array<FineCounts, kNumLatencies> counts;
  bool counted = curves == nullptr;
  const std::size_t num_lists = has_rest_leads_ ? kNumLists : kServerTpot;
  const auto all = metrics::distributions_ms(
      num_lists, static_cast<std::int64_t>(table_.size()), [&](const auto& visit) {
        show([&](ListBlocks blocks) {
          for (std::size_t i = 0; !counted && i < kCurves.size(); ++i) {
            counts[i].add(blocks[kCurves[i]]);
          }
          visit(blocks);
        });
        counted = true;
      });
  for (std::size_t i = 0; curves != nullptr && i < kCurves.size(); ++i) {
    if (const auto& exact = all[kCurves[i]]) {
      curves->latencies_ms[i] = counts[i].quantiles_ms(*exact);
    }
  }
  return {.queue_time = all[kQueueTimes],
          .client = {.ttft = all[kClientTtft], .tpot = all[kClientTpot], .e2e = all[kClientE2e]},
          .server = {.ttft = all[kServerTtft],
                     .tpot = all[has_rest_leads_ ? kServerTpot : kClientTpot],
                     .e2e = all[kServerE2e]}};
}

}  // namespace ridgeline::metrics
