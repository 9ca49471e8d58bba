#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cluster/admission/settings.hpp"
#include "cluster/admission_part.hpp"
#include "cluster/cluster.hpp"
#include "cluster/part.hpp"
#include "core/ids.hpp"
#include "core/math.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/tenants.hpp"
#include "engine/instance.hpp"
#include "engine/options.hpp"
#include "engine/server.hpp"
#include "routing/parameters.hpp"
#include "routing/router.hpp"
#include "support/linear_model.hpp"

namespace ridgeline::test {

/// Queues with closed forms: instances with one seat, one output token and no cache, whose step
/// time is linear in the prompt; Poisson arrivals; a mean service time of one second.
struct Queueing {
  enum class Service : std::uint8_t { kDeterministic, kExponential };

  std::unique_ptr<routing::Router> (*router)(const routing::RouterSetup&) = nullptr;
  std::int64_t servers = 1;
  double load = 0.5;  ///< Load of each server.
  Service service = Service::kExponential;
  std::int64_t requests = 100'000;
  std::uint64_t seed = 1;
  cluster::GatewayTimes times = {};
  bool eager = false;
  std::optional<admission::Settings> admission = {};
};

/// A mean with its standard deviation, from the means of batches.
struct Estimate {
  double mean = 0.0;
  double deviation = 0.0;
};

struct QueueingResult {
  Estimate wait;      ///< Seconds from arrival to service.
  Estimate response;  ///< Seconds from arrival to the first token.
  Estimate sojourn;   ///< Seconds from arrival to the last.
};

/// Sums of a run's requests, batch by batch; the first batch is left out, because it starts empty.
class BatchMeans final : public domain::RecordSink {
 public:
  explicit BatchMeans(std::int64_t requests)
      : waits_(kBatches), responses_(kBatches), sojourns_(kBatches) {
    per_batch_ = requests / static_cast<std::int64_t>(kBatches);
  }
  void on_request(const domain::RequestRecord& record) override {
    const auto batch = static_cast<std::size_t>(std::int64_t{record.id.value()} / per_batch_);
    if (batch < kBatches) {
      waits_[batch] += (record.first_scheduled - record.arrival).to_seconds();
      responses_[batch] += (record.first_token - record.arrival).to_seconds();
      sojourns_[batch] += (record.last_token - record.arrival).to_seconds();
    }
  }
  void on_steps(const domain::StepRecord& /*record*/) override {}
  void on_token_gaps(const domain::TokenGaps& /*gaps*/) override {}

  [[nodiscard]] QueueingResult result() const {
    return {
        .wait = estimate(waits_), .response = estimate(responses_), .sojourn = estimate(sojourns_)};
  }

 private:
  static constexpr std::size_t kBatches = 50;

  [[nodiscard]] Estimate estimate(const std::vector<double>& sums) const {
    double sum = 0.0;
    double squares = 0.0;
    for (std::size_t i = 1; i < kBatches; ++i) {
      const double mean = sums[i] / static_cast<double>(per_batch_);
      sum += mean;
      squares += mean * mean;
    }
    constexpr double kUsed = kBatches - 1;
    const double mean = sum / kUsed;
    return {.mean = mean, .deviation = std::sqrt((squares / kUsed - mean * mean) / (kUsed - 1))};
  }

  std::int64_t per_batch_ = 1;
  std::vector<double> waits_;
  std::vector<double> responses_;
  std::vector<double> sojourns_;
};

inline QueueingResult run_queueing(const Queueing& setup) {
  constexpr double kMeanTokens = 10'000.0;
  constexpr std::int64_t kMostTokens = 1 << 18;
  engine::EngineOptions options;
  options.max_num_seqs = 1;
  options.max_num_batched_tokens = core::Tokens(kMostTokens);
  options.max_model_len = core::Tokens(kMostTokens);
  options.block_size = core::Tokens(kMostTokens);
  options.num_gpu_blocks = core::Blocks(4);
  options.enable_prefix_caching = false;
  options.async_scheduling = false;
  const LinearModel model(
      {.step = core::Duration(), .per_token = core::Duration::microseconds(100)});
  const engine::HostTime host;
  const engine::RequestPath path;
  BatchMeans sink(setup.requests);
  domain::Tenants tenants;
  std::vector<cluster::PartMaker> parts;
  if (setup.admission) {
    parts.push_back({.kind = cluster::PartKind::kAdmission, .make = [&](cluster::Fleet& fleet) {
                       return std::make_unique<cluster::AdmissionPart>(
                           fleet, *setup.admission, tenants, setup.seed);
                     }});
  }
  cluster::Cluster cluster(
      {.instance = {.engine = {.options = options, .model = model, .host = host, .sink = sink},
                    .path = path,
                    .id = {}},
       .num_instances = setup.servers,
       .router = setup.router({}),
       .times = setup.times,
       .seed = setup.seed,
       .eager = setup.eager,
       .parts = std::move(parts)});
  core::RngStream gaps(setup.seed, 0, "gaps");
  core::RngStream lengths(setup.seed, 0, "lengths");
  const double rate = setup.load * static_cast<double>(setup.servers);
  core::SimTime now;
  for (std::int64_t i = 0; i < setup.requests; ++i) {
    now += core::Duration::saturating(core::Seconds(-core::log(gaps.uniform()) / rate));
    domain::Request request;
    request.id = core::RequestId(static_cast<std::uint32_t>(i));
    request.arrival = now;
    const double length = setup.service == Queueing::Service::kDeterministic
                              ? kMeanTokens
                              : -core::log(lengths.uniform()) * kMeanTokens;
    request.prompt_tokens = core::Tokens(1 + static_cast<std::int64_t>(length - 0.5));
    request.output_tokens = core::Tokens(1);
    request.max_tokens = core::Tokens(1);
    cluster.submit(request);
    if (i % 64 == 0) {
      cluster.advance(now, false, 1 << 30);
    }
  }
  cluster.advance(core::SimTime::never(), false, 1 << 30);
  return sink.result();
}

}  // namespace ridgeline::test
