#include "metrics/latency_table.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>

#include "core/check.hpp"
#include "core/packed_integers.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/samples.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {
namespace {

/// Of times and counts, which are never negative.
class Reader {
 public:
  explicit Reader(const core::PackedIntegers& list) : reader_(list) {}

  std::int64_t next() { return static_cast<std::int64_t>(reader_.next_natural()); }

 private:
  core::PackedIntegers::Reader reader_;
};

std::optional<core::Duration> per_gap(std::int64_t span, std::int64_t gaps) {
  return gaps > 0 ? std::optional(mean_of_gaps(core::Duration::ticks(span), gaps)) : std::nullopt;
}

void add_time(core::PackedIntegers& to, core::Duration time) {
  to.add_natural(static_cast<std::uint64_t>(time.count()));
}

}  // namespace

void LatencyTable::add(const domain::RequestRecord& record, const RequestLatency& latency) {
  check_latency(latency);
  ++rows_;
  add_time(queue_time_, record.first_scheduled - record.queued);
  add_time(ttft_, latency.client_ttft);
  add_time(decode_, latency.client_e2e - latency.client_ttft);
  gaps_.add_natural(static_cast<std::uint64_t>(record.output_tokens.value() - 1));
  ttft_lead_.add((latency.client_ttft - latency.server_ttft).count());
  e2e_lead_.add((latency.client_e2e - latency.server_e2e).count());
}

/// What `next` gives for each row, where it gives something.
template <typename Value>
RequestSamples LatencyTable::collect(Value next) const {
  RequestSamples samples(Percentiles::kExact);
  samples.reserve(static_cast<std::size_t>(rows_));
  for (std::int64_t i = 0; i < rows_; ++i) {
    if (const std::optional<core::Duration> value = next()) {
      samples.add(*value);
    }
  }
  return samples;
}

std::optional<Distribution> LatencyTable::queue_time_ms() const {
  Reader times(queue_time_);
  return collect([&] { return std::optional(core::Duration::ticks(times.next())); })
      .distribution_ms();
}

LatencyTable::Clocks LatencyTable::clocks_ms() const {
  // Where the way between both clocks is the same for all requests, what is found of one gives the
  // other.
  const auto ttft_lead = ttft_lead_.only();
  const auto e2e_lead = e2e_lead_.only();
  const bool constant = ttft_lead && e2e_lead;
  Clocks clocks;
  const auto describe = [&](RequestSamples samples,
                            std::int64_t lead,
                            std::optional<Distribution>& client,
                            std::optional<Distribution>& server) {
    if (constant) {
      std::tie(client, server) = samples.distributions_ms(core::Duration::ticks(lead));
    } else {
      client = samples.distribution_ms();
    }
  };
  Clock& client = clocks.client;
  Clock& server = clocks.server;
  Reader ttft(ttft_);
  describe(collect([&] { return std::optional(core::Duration::ticks(ttft.next())); }),
           ttft_lead.value_or(0),
           client.ttft,
           server.ttft);
  Reader first(ttft_);
  Reader rest(decode_);
  describe(collect([&] {
             const std::int64_t until_first = first.next();
             return std::optional(core::Duration::ticks(until_first + rest.next()));
           }),
           e2e_lead.value_or(0),
           client.e2e,
           server.e2e);
  Reader decode(decode_);
  Reader gaps(gaps_);
  client.tpot = collect([&] { return per_gap(decode.next(), gaps.next()); }).distribution_ms();
  if (!constant) {
    server = server_ms();
  } else if (*ttft_lead == *e2e_lead) {
    server.tpot = client.tpot;
  } else {
    Reader spans(decode_);
    Reader counts(gaps_);
    const std::int64_t longer = *ttft_lead - *e2e_lead;
    server.tpot =
        collect([&] { return per_gap(spans.next() + longer, counts.next()); }).distribution_ms();
  }
  return clocks;
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
  clock.ttft = collect([row = rows()]() mutable {
                 const std::int64_t client = row.ttft.next();
                 return std::optional(core::Duration::ticks(client - row.ttft_lead.next()));
               }).distribution_ms();
  clock.tpot = collect([row = rows()]() mutable {
                 const std::int64_t client = row.decode.next() + row.ttft_lead.next();
                 const std::int64_t span = client - row.e2e_lead.next();
                 return per_gap(span, row.gaps.next());
               }).distribution_ms();
  clock.e2e = collect([row = rows()]() mutable {
                const std::int64_t client = row.ttft.next() + row.decode.next();
                return std::optional(core::Duration::ticks(client - row.e2e_lead.next()));
              }).distribution_ms();
  return clock;
}

}  // namespace ridgeline::metrics
