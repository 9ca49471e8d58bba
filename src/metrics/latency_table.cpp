#include "metrics/latency_table.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>

#include "core/time.hpp"
#include "metrics/integer_table.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/samples.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {
namespace {

using Ticks = std::int64_t;

/// Of a request that has no such time.
constexpr Ticks kNone = -1;

Ticks mean_gap(Ticks span, std::int64_t gaps) {
  return gaps > 0 ? mean_of_gaps(core::Duration::ticks(span), gaps).count() : kNone;
}

}  // namespace

template <class Time, class... Columns>
std::optional<Distribution> LatencyTable::distribution(const Time& time, Columns... columns) const {
  const std::array<std::size_t, sizeof...(Columns)> wanted = {columns...};
  return distribution_ms(static_cast<std::int64_t>(table_.size()), [&](const auto& visit) {
    ColumnValues times;
    table_.for_each_block(wanted, [&](const auto& values) {
      std::size_t size = 0;
      for (std::size_t i = 0; i < values[0].size(); ++i) {
        times[size] = std::apply([&](const auto&... of) { return time(of[i]...); }, values);
        size += times[size] != kNone ? 1U : 0U;
      }
      visit(std::span<const Ticks>(times.data(), size));
    });
  });
}

LatencyTable::Distributions LatencyTable::distributions_ms() const {
  const auto of = [this](const auto& time, auto... columns) {
    return distribution(time, columns...);
  };
  const auto ttft = [](Ticks client, Ticks lead) { return client - lead; };
  const auto tpot = [](Ticks rest, Ticks lead, Ticks gaps) { return mean_gap(rest - lead, gaps); };
  const auto e2e = [](Ticks client, Ticks lead, Ticks rest, Ticks rest_lead) {
    return client - lead + rest - rest_lead;
  };
  return {
      .queue_time = of([](Ticks queue) { return queue; }, kQueueTime),
      .client = {.ttft = of([](Ticks client) { return client; }, kTtft),
                 .tpot =
                     of([](Ticks rest, Ticks gaps) { return mean_gap(rest, gaps); }, kRest, kGaps),
                 .e2e = of([](Ticks client, Ticks rest) { return client + rest; }, kTtft, kRest)},
      .server = {.ttft = of(ttft, kTtft, kTtftLead),
                 .tpot = of(tpot, kRest, kRestLead, kGaps),
                 .e2e = of(e2e, kTtft, kTtftLead, kRest, kRestLead)}};
}

}  // namespace ridgeline::metrics
