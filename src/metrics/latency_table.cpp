#include "metrics/latency_table.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/moments.hpp"
#include "core/packed_integers.hpp"
#include "core/quantile_search.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/samples.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {
namespace {

std::uint64_t natural(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}

}  // namespace

void LatencyTable::Row::derive_tpot() {
  if (gaps > 0) {
    const auto per_gap = [this](Time first, Time all) {
      return mean_of_gaps(core::Duration::ticks(times[all] - times[first]), gaps).count();
    };
    times[kClientTpot] = per_gap(kClientTtft, kClientE2e);
    times[kServerTpot] = per_gap(kServerTtft, kServerE2e);
  }
}

void LatencyTable::add(const domain::RequestRecord& record, const RequestLatency& latency) {
  check_latency(latency);
  Row row;
  row.times[kQueueTime] = (record.first_scheduled - record.queued).count();
  row.times[kClientTtft] = latency.client_ttft.count();
  row.times[kClientE2e] = latency.client_e2e.count();
  row.times[kServerTtft] = latency.server_ttft.count();
  row.times[kServerE2e] = latency.server_e2e.count();
  row.gaps = record.output_tokens.value() - 1;
  row.derive_tpot();
  for (std::size_t i = 0; i < row.size(); ++i) {
    moments_[i].add(row.times[i]);
  }
  ++rows_;
  packed_.add_natural(natural(row.times[kQueueTime]));
  packed_.add_natural(natural(row.times[kClientTtft]));
  packed_.add_natural(natural(row.times[kClientE2e] - row.times[kClientTtft]));
  packed_.add_natural(natural(row.gaps));
  ttft_lead_.add(row.times[kClientTtft] - row.times[kServerTtft]);
  e2e_lead_.add(row.times[kClientE2e] - row.times[kServerE2e]);
}

template <typename Visitor>
void LatencyTable::for_each_row(Visitor&& visit) const {
  core::PackedIntegers::Reader packed(packed_);
  core::RunLengths::Reader ttft_lead(ttft_lead_);
  core::RunLengths::Reader e2e_lead(e2e_lead_);
  Row row;
  for (std::int64_t i = 0; i < rows_; ++i) {
    row.times[kQueueTime] = static_cast<std::int64_t>(packed.next_natural());
    const auto first = static_cast<std::int64_t>(packed.next_natural());
    const auto all = first + static_cast<std::int64_t>(packed.next_natural());
    row.times[kClientTtft] = first;
    row.times[kClientE2e] = all;
    row.times[kServerTtft] = first - ttft_lead.next();
    row.times[kServerE2e] = all - e2e_lead.next();
    row.gaps = static_cast<std::int64_t>(packed.next_natural());
    row.derive_tpot();
    visit(row);
  }
}

LatencyTable::Distributions LatencyTable::distributions_ms() const {
  if (rows_ == 0) {
    return {};
  }
  const auto probabilities = quantile_probabilities();
  std::vector<core::QuantileSearch> searches;
  searches.reserve(kNumTimes);
  for (const core::Moments& moments : moments_) {
    if (moments.count() > 0) {  // All but those per gap have some.
      searches.emplace_back(moments, probabilities);
    }
  }
  for_each_row([&](const Row& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      searches[i].count(row.times[i]);
    }
  });
  for (core::QuantileSearch& search : searches) {
    search.choose();
  }
  for_each_row([&](const Row& row) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      searches[i].keep(row.times[i]);
    }
  });
  const auto of = [&](Time time) -> std::optional<Distribution> {
    if (time >= searches.size()) {
      return std::nullopt;
    }
    return describe(moments_[time], searches[time].quantiles());
  };
  return {.queue_time = of(kQueueTime),
          .client = {.ttft = of(kClientTtft), .tpot = of(kClientTpot), .e2e = of(kClientE2e)},
          .server = {.ttft = of(kServerTtft), .tpot = of(kServerTpot), .e2e = of(kServerE2e)}};
}

}  // namespace ridgeline::metrics
