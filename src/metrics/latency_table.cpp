#include "metrics/latency_table.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/check.hpp"
#include "core/packed_integers.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/samples.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {
namespace {

using Reader = core::PackedIntegers::Reader;

std::optional<core::Duration> per_gap(std::int64_t span, std::int64_t gaps) {
  return gaps > 0 ? std::optional(mean_of_gaps(core::Duration::ticks(span), gaps)) : std::nullopt;
}

}  // namespace

void LatencyTable::add(const domain::RequestRecord& record, const RequestLatency& latency) {
  check_latency(latency);
  ++rows_;
  queue_time_.add((record.first_scheduled - record.queued).count());
  ttft_.add(latency.client_ttft.count());
  decode_.add((latency.client_e2e - latency.client_ttft).count());
  gaps_.add(record.output_tokens.value() - 1);
  ttft_lead_.add((latency.client_ttft - latency.server_ttft).count());
  e2e_lead_.add((latency.client_e2e - latency.server_e2e).count());
}

/// Of what `next` gives for each row, where it gives something.
template <typename Value>
std::optional<Distribution> LatencyTable::describe(Value next) const {
  RequestSamples samples(Percentiles::kExact);
  samples.reserve(static_cast<std::size_t>(rows_));
  for (std::int64_t i = 0; i < rows_; ++i) {
    if (const std::optional<core::Duration> value = next()) {
      samples.add(*value);
    }
  }
  return samples.distribution_ms();
}

std::optional<Distribution> LatencyTable::queue_time_ms() const {
  Reader times(queue_time_);
  return describe([&] { return std::optional(core::Duration::ticks(times.next())); });
}

LatencyTable::Clock LatencyTable::client_ms() const {
  Clock clock;
  Reader ttft(ttft_);
  clock.ttft = describe([&] { return std::optional(core::Duration::ticks(ttft.next())); });
  Reader decode(decode_);
  Reader gaps(gaps_);
  clock.tpot = describe([&] {
    const std::int64_t span = decode.next();
    return per_gap(span, gaps.next());
  });
  Reader again(ttft_);
  Reader rest(decode_);
  clock.e2e = describe([&] {
    const std::int64_t first = again.next();
    return std::optional(core::Duration::ticks(first + rest.next()));
  });
  return clock;
}

LatencyTable::Clock LatencyTable::server_ms() const {
  struct Row {
    Reader ttft;
    Reader decode;
    Reader gaps;
    core::RunLengths::Reader ttft_lead;
    core::RunLengths::Reader e2e_lead;
  };
  const auto rows = [this] {
    return Row{.ttft = Reader(ttft_),
               .decode = Reader(decode_),
               .gaps = Reader(gaps_),
               .ttft_lead = core::RunLengths::Reader(ttft_lead_),
               .e2e_lead = core::RunLengths::Reader(e2e_lead_)};
  };
  Clock clock;
  clock.ttft = describe([row = rows()]() mutable {
    const std::int64_t client = row.ttft.next();
    return std::optional(core::Duration::ticks(client - row.ttft_lead.next()));
  });
  clock.tpot = describe([row = rows()]() mutable {
    const std::int64_t client = row.decode.next() + row.ttft_lead.next();
    const std::int64_t span = client - row.e2e_lead.next();
    return per_gap(span, row.gaps.next());
  });
  clock.e2e = describe([row = rows()]() mutable {
    const std::int64_t client = row.ttft.next() + row.decode.next();
    return std::optional(core::Duration::ticks(client - row.e2e_lead.next()));
  });
  return clock;
}

}  // namespace ridgeline::metrics
